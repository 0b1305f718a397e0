"""Vocabularies of GGUF files: rebuilt tokenizers against independent ones and against the rule itself."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from tokenizers import pre_tokenizers

import kav
from kav.errors import ModelError
from kav.model.gguf import GgufFile
from kav.model.gguf_patterns import PATTERNS
from kav.model.gguf_words import start_token, tokenizer_json
from kav.model.tokenizer import Tokenizer
from tests.kav.model import gguf_maker as made

TINY = Path(__file__).resolve().parents[2] / "data" / "tiny"
TEXTS = (
    "",
    " ",
    "Hello, world!",
    "it's WE'LL  3.14159 x2",
    " ½ ① ٣ 1234567",
    "a\n\n\tb  \r\n c   ",
    "東京タワー 🦊 naïve café",
    "def f(x):\n    return x**2",
)


def opened(tmp_path, **words):
    """A file with nothing but a vocabulary."""
    path = tmp_path / "a.gguf"
    values = {f"tokenizer.ggml.{key}": value for key, value in words.items() if value is not None}
    path.write_bytes(made.file(values, {"x": np.zeros(1, np.float32)}))
    return GgufFile(path)


def tiny(**changes):
    """The words of a small byte-level vocabulary."""
    values = GgufFile(TINY / "gguf" / "llama_gqa_f16.gguf").values
    keys = ("model", "pre", "tokens", "token_type", "merges")
    return {key: values[f"tokenizer.ggml.{key}"] for key in keys} | changes


def rebuilt(tmp_path, **words):
    file = opened(tmp_path, **words)
    return Tokenizer(tokenizer_json(file), *start_token(file))


def cut(tmp_path, pattern, text):
    """The pieces that merging starts from."""
    engine = tokenizers.Tokenizer.from_str(tokenizer_json(opened(tmp_path, **tiny(pre=pattern))))
    return [piece for piece, _ in engine.pre_tokenizer.pre_tokenize_str(text)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_known_pattern_keeps_all_bytes(tmp_path, pattern):
    tokenizer = rebuilt(tmp_path, **tiny(pre=pattern))
    for text in TEXTS:
        ids = tokenizer.encode(text, bos=False).ids
        assert b"".join(tokenizer.spelled(number) for number in ids) == text.encode()


@pytest.mark.parametrize("pattern", ["gpt-2", "phi-2", "olmo"])
def test_gpt2_pattern_cuts_as_the_tokenizers_library_does(tmp_path, pattern):
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    for text in TEXTS:
        assert cut(tmp_path, pattern, text) == [piece for piece, _ in byte_level.pre_tokenize_str(text)]


@pytest.mark.parametrize("pattern", ["smollm", "starcoder"])
def test_smollm_pattern_cuts_digits_first(tmp_path, pattern):
    steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    for text in TEXTS:
        assert cut(tmp_path, pattern, text) == [
            piece for piece, _ in pre_tokenizers.Sequence(steps).pre_tokenize_str(text)
        ]


def test_patterns_differ_in_how_they_cut_numbers(tmp_path):
    found = {name: cut(tmp_path, name, "x1234567") for name in ("gpt-2", "llama-bpe", "qwen2", "smollm", "falcon")}
    assert found["gpt-2"] == ["x", "1234567"]
    assert found["llama-bpe"] == ["x", "123", "456", "7"]
    assert found["qwen2"] == found["smollm"] == ["x", *"1234567"]
    assert found["falcon"] == ["x", "123", "456", "7"]


def test_unknown_pattern_or_kind_leaves_ids_and_says_so(tmp_path):
    config = json.loads((TINY / "llama_gqa" / "config.json").read_text())
    from safetensors.numpy import load_file

    tensors = made.rearranged(config, load_file(TINY / "llama_gqa" / "model.safetensors"))
    for changes, said in (
        ({"pre": "newcut9"}, "tokenizer.ggml.pre must be one of codeshell, .*, got 'newcut9'"),
        ({"model": "rwkv"}, "tokenizer.ggml.model must be one of gpt2, llama, bert, t5, got 'rwkv'"),
    ):
        words = {f"tokenizer.ggml.{key}": value for key, value in tiny(**changes).items()}
        (tmp_path / "a.gguf").write_bytes(made.file(made.settings(config) | words, tensors))
        model = kav.open_model(tmp_path / "a.gguf", device="cpu")
        assert model.encode("5 17").labels == ("#5", "#17")
        assert len(model.notes) == 1
        with pytest.raises(ModelError, match=said):
            tokenizer_json(GgufFile(tmp_path / "a.gguf"))


def test_file_without_vocabulary_has_no_tokenizer(tmp_path):
    assert tokenizer_json(opened(tmp_path)) is None
    assert tokenizer_json(opened(tmp_path, model="none")) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"merges": ["Ġ q q"]}, "a merge must join two vocabulary entries to a third"),
        ({"merges": ["zz zz"]}, "a merge must join two vocabulary entries to a third, got 'zz zz'"),
        ({"merges": None}, "tokenizer.ggml.merges must be a list of strings"),
        ({"merges": 3}, "tokenizer.ggml.merges must be a list of strings"),
        ({"tokens": [1, 2]}, "tokenizer.ggml.tokens must be a list of strings"),
        ({"tokens": None}, "tokenizer.ggml.tokens must be a list of strings"),
        ({"token_type": [1, 1]}, "tokenizer.ggml.token_type must be 320 finite numbers"),
        ({"scores": [float("nan")] * 320}, "tokenizer.ggml.scores must be 320 finite numbers"),
    ],
)
def test_broken_vocabulary_is_refused(tmp_path, changes, said):
    with pytest.raises(ModelError, match=said):
        tokenizer_json(opened(tmp_path, **tiny(**changes)))


def test_entries_named_twice_keep_their_ids(tmp_path):
    words = tiny(token_type=None)
    words["tokens"] = [*words["tokens"], words["tokens"][40]]
    tokenizer = rebuilt(tmp_path, **words)
    assert tokenizer.encode(words["tokens"][40], bos=False).ids == (40,)
    assert tokenizer.spelled(320)


SPECIALS = ["<unk>", "<s>", "</s>"]


def pieces(seed):
    """A SentencePiece vocabulary: specials, 256 bytes, letters, and joined pieces, the earlier the better."""
    rng = random.Random(seed)
    letters = ["▁", *"abcde"]
    tokens = SPECIALS + [f"<0x{byte:02X}>" for byte in range(256)]
    joined, known = [], list(letters)
    while len(joined) < 40:
        new = rng.choice(known) + rng.choice(known)
        if new not in known and len(new) <= 6:
            joined.append(new)
            known.append(new)
    tokens += joined + letters
    kinds = [2, 3, 3] + [6] * 256 + [1] * (len(joined) + len(letters))
    return {
        "model": "llama",
        "tokens": tokens,
        "token_type": kinds,
        "scores": [0.0] * 259 + [-float(i) for i in range(len(joined) + len(letters))],
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
    }


def merged(words, text):
    """SentencePiece's rule as it is published: always join the neighbours that give the best entry, leftmost first."""
    ids = {token: number for number, token in enumerate(words["tokens"])}
    parts = list("▁" + text.replace(" ", "▁"))
    while True:
        best = None
        for at in range(len(parts) - 1):
            number = ids.get(parts[at] + parts[at + 1])
            if number is not None and (best is None or words["scores"][number] > best[0]):
                best = (words["scores"][number], at)
        if best is None:
            break
        parts[best[1] : best[1] + 2] = [parts[best[1]] + parts[best[1] + 1]]
    return tuple(
        number
        for part in parts
        for number in ([ids[part]] if part in ids else [ids[f"<0x{byte:02X}>"] for byte in part.encode()])
    )


@pytest.mark.parametrize("seed", range(5))
def test_sentencepiece_joins_the_best_pair_first_and_falls_back_to_bytes(tmp_path, seed):
    words = pieces(seed)
    tokenizer = rebuilt(tmp_path, **words)
    rng = random.Random(seed)
    texts = ["".join(rng.choice("abcde ") for _ in range(rng.randint(1, 30))) for _ in range(40)]
    for text in (*texts, "abc é", "東 a", "a  b", "\n"):
        tokens = tokenizer.encode(text)
        assert tokens.ids == (1, *merged(words, text)), text
        assert tokens.labels[0] == "‹bos›"
        spelled = b"".join(tokenizer.spelled(number) for number in tokens.ids[1:])
        assert spelled == b" " + text.encode()


def test_start_token_follows_the_file(tmp_path):
    assert rebuilt(tmp_path, **pieces(0)).encode("a").ids[0] == 1
    assert rebuilt(tmp_path, **pieces(0), add_bos_token=False).encode("a").ids[0] != 1
    assert start_token(opened(tmp_path, **tiny(bos_token_id=5))) == (5, False)
    assert start_token(opened(tmp_path, **tiny(bos_token_id=5, pre="llama-bpe"))) == (5, True)
    assert start_token(opened(tmp_path, **tiny(bos_token_id=5, add_bos_token=True))) == (5, True)
    assert start_token(opened(tmp_path, **tiny())) == (None, False)


def test_wordpiece_gives_the_ids_of_the_vocabulary_that_it_was_made_from(tmp_path):
    original = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
    for word in ("the", "cat", "##s", "sat", "un", "##able", "##believ", "!", ",", "é", "東", "a", "##a", "##b", "e"):
        original[word] = len(original)
    expected = tokenizers.BertWordPieceTokenizer(original, lowercase=True)
    kinds = [3 if word.startswith("[") else 1 for word in original]
    stored = [
        word if kind == 3 else word[2:] if word.startswith("##") else f"▁{word}"
        for word, kind in zip(original, kinds, strict=True)
    ]
    tokenizer = rebuilt(
        tmp_path,
        model="bert",
        tokens=stored,
        token_type=kinds,
        unknown_token_id=1,
        cls_token_id=2,
        seperator_token_id=3,
    )
    for text in ("The cats sat!", "unbelievable,", "", "xyz the", "Café 東a aab", "the\n\tcat"):
        assert tokenizer.encode(text).ids == tuple(expected.encode(text).ids), text


def test_unigram_takes_the_most_probable_cut(tmp_path):
    tokens = ["<unk>", "</s>", "▁", "a", "b", "▁ab", "ab", "▁a"]
    scores = [0.0, 0.0, -4.0, -3.0, -3.0, -2.0, -2.5, -3.5]
    tokenizer = rebuilt(
        tmp_path, model="t5", tokens=tokens, scores=scores, token_type=[2, 3, 1, 1, 1, 1, 1, 1], unknown_token_id=0
    )
    assert tokenizer.encode("abab").ids == (5, 6)
    assert tokenizer.encode("aab").ids == (7, 6)
