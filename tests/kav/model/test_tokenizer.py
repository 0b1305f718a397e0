"""Labels a person can read, start tokens, and text that breaks tokenizers."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kav
from kav.errors import ModelError
from kav.model.tokenizer import Tokenizer, special_label, written
from tests.kav.model_factory import tiny_model

TINY = Path(__file__).resolve().parents[2] / "data" / "tiny"


@pytest.fixture(scope="module")
def model():
    return kav.open_model("bundled", device="cpu")


def blocks(**more):
    """A vocabulary that writes blanks as ▁ and bytes as <0x0A>."""
    vocab = {"<s>": 0, "▁red": 1, "▁fox": 2, "es": 3, "<0xF0>": 4, "<0x9F>": 5, "<0xA6>": 6, "<0x8A>": 7, "▁": 8}
    spec = {
        "version": "1.0",
        "added_tokens": [
            {"id": 0, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
            | {"special": True}
        ],
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": [], "byte_fallback": True, "ignore_merges": True},
    }
    return Tokenizer(json.dumps(spec), bos_id=0, **more)


def test_labels_have_no_leading_space_and_continued_words_are_joined(model):
    tokens = model.encode("The foxes")
    assert tokens.labels[:2] == ("‹bos›", "The")
    text = "".join(json.loads(exact) for exact in tokens.exact[1:])
    assert text == " The foxes"
    words = [label for label, joined in zip(tokens.labels, tokens.joined, strict=True) if not joined]
    assert len(words) == 3
    assert not any(label.startswith(" ") for label in tokens.labels)


def test_labels_show_letters_not_byte_codes(model):
    # Labels showed the letters with which byte-level vocabularies write bytes (tokenizers#1470).
    labels = "".join(model.encode("Ólafur sá", bos=False).labels)
    assert "Ã" not in labels
    assert "Ġ" not in labels
    assert "afur" in labels


def test_part_of_a_character_is_written_as_bytes(model):
    # One character that spans several tokens was shown as replacement characters (tokenizers#1162).
    tokens = model.encode("🦊", bos=False)
    assert all(label == "␣" or label.startswith("<") for label in tokens.labels)
    assert not any("�" in label for label in tokens.labels)
    assert tokens.exact[-1].endswith("part 4 of 4 of 🦊")


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=30))
def test_bytes_of_all_tokens_spell_the_prompt(model, text):
    tokens = model.encode(text, bos=False)
    spelled = b"".join(model.tokenizer.spelled(number) for number in tokens.ids)
    assert spelled.decode().removeprefix(" ") == text.removeprefix(" ")
    assert len(tokens.ids) == len(tokens.labels) == len(tokens.spans) == len(tokens.exact) == len(tokens.joined)
    assert all(label for label in tokens.labels)


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\0", "\ud83d", "a\udc00b", "אב\u202e", "é", "a" * 5000])
def test_any_text_can_be_encoded(model, text):
    tokens = model.encode(text)
    assert tokens.ids[0] == 0
    assert all(label and label.isprintable() for label in tokens.labels)


def test_trailing_blank_is_a_label_of_its_own(model):
    assert model.encode("A ", bos=False).labels[-1] == "␣"


def test_spans_cut_the_text(model):
    text = "The red fox"
    tokens = model.encode(text)
    assert tokens.spans[0] == (0, 0)
    assert [text[a:b].strip() for a, b in tokens.spans[1:]] == list(tokens.labels[1:])


def test_exactly_one_start_token(model):
    # A start token that both the tokenizer and the program add stands there twice (TransformerLens#369).
    for bos in (None, True):
        assert model.encode("red fox", bos=bos).ids.count(0) == 1
    assert model.encode("red fox", bos=False).ids.count(0) == 0
    assert model.encode("", bos=None).labels == ("‹bos›",)
    assert model.encode("", bos=False).ids == ()


@pytest.mark.parametrize(
    ("starts", "bos", "ids"), [(True, None, (0, 1, 2)), (False, None, (1, 2)), (False, True, (0, 1, 2))]
)
def test_start_token_where_the_tokenizer_adds_none(starts, bos, ids):
    assert blocks(starts_with_bos=starts).encode("red fox", bos).ids == ids


def test_blank_marks_and_bytes_of_other_vocabularies_are_translated():
    tokens = blocks().describe((0, 1, 2, 3, 8, 4, 5, 6, 7))
    assert tokens.labels == ("‹bos›", "red", "fox", "es", "␣", "<F0>", "<9F>", "<A6>", "<8A>")
    assert tokens.joined == (False, False, False, True, False, False, False, False, False)
    assert tokens.exact[5] == '"<F0>" part 1 of 4 of 🦊'
    assert blocks().find("fox") == 2
    assert blocks().find("es") == 3


def test_start_token_that_a_model_lacks_cannot_be_forced():
    with pytest.raises(ModelError, match="bos must be False or None"):
        Tokenizer(blocks().source).encode("red", True)


def test_tokens_are_found_by_their_text_with_the_leading_space_first(model):
    for token_id in (300, 1000, 4999):
        label, exact = model.label(token_id), json.loads(model.token(token_id).exact)
        assert model.find_token(exact) == token_id
        if exact.startswith(" "):
            assert model.find_token(label) == token_id
    assert model.find_token("#17") == 17
    assert model.find_token("‹bos›") == 0
    with pytest.raises(ModelError, match="one vocabulary entry, got 'antidisestablishmentarianism'"):
        model.find_token("antidisestablishmentarianism")


def test_tokens_of_ids_are_those_of_the_text(model):
    tokens = model.encode("The red foxes saw 東 and left.")
    again = model.tokens(tokens.ids)
    assert (again.ids, again.labels, again.exact, again.joined) == (
        tokens.ids,
        tokens.labels,
        tokens.exact,
        tokens.joined,
    )


def test_model_without_tokenizer_reads_and_shows_ids():
    model = tiny_model()
    tokens = model.encode("5 #17, 3")
    assert tokens.ids == (5, 17, 3)
    assert tokens.labels == ("#5", "#17", "#3")
    assert model.find_token("#4") == 4
    with pytest.raises(ModelError, match="made of token ids"):
        model.encode("red fox")
    with pytest.raises(ModelError, match='written "#id"'):
        model.find_token("fox")


@pytest.mark.parametrize("source", ["", "{}", "[1]", '{"model": {"type": "Magic"}}', "null"])
def test_broken_tokenizer_file_is_a_model_error(source):
    with pytest.raises(ModelError, match=r"tokenizer\.json must be one that can be opened"):
        Tokenizer(source).encode("red fox")


def test_bytes_that_are_no_text_are_written_in_hexadecimal():
    assert written(b"a\xf0\x9f") == "a<F0 9F>"
    assert written(b"\xff\xc3\xa1") == "<FF>á"


def pieces():
    """A WordPiece vocabulary as BERT has it."""
    names = ("[CLS]", "[SEP]", "[UNK]", "token", "##ization", "##s", "fox", ",")
    spec = {
        "version": "1.0",
        "added_tokens": [
            {"id": i, "content": names[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
            | {"special": True}
            for i in range(3)
        ],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 1], "cls": ["[CLS]", 0]},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {name: i for i, name in enumerate(names)},
        },
        "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 6}, "direction": "Right", "pad_id": 2, "pad_type_id": 0, "pad_token": "[UNK]"}
        | {"pad_to_multiple_of": None},
    }
    return Tokenizer(json.dumps(spec))


def test_pieces_of_a_word_are_joined_without_their_mark():
    tokens = pieces().encode("Tokenizations, fox")
    assert tokens.labels == ("‹CLS›", "token", "ization", "s", ",", "fox", "‹SEP›")
    assert tokens.joined == (False, False, True, True, False, False, False)
    assert [exact for exact in tokens.exact if "#" in exact] == []


def test_exact_text_of_pieces_is_the_prompts_own():
    tokens = pieces().encode("TOKENizations, 🦊 fox")
    assert tokens.labels == ("‹CLS›", "token", "ization", "s", ",", "‹UNK›", "fox", "‹SEP›")
    assert [json.loads(exact) for exact in tokens.exact[1:-1]] == ["TOKEN", "ization", "s", ",", "🦊", "fox"]


def test_padding_and_truncation_that_a_file_asks_for_are_off():
    assert len(pieces().encode("fox fox fox fox fox fox fox fox")) == 10
    assert len(pieces().encode("fox")) == 3


def test_special_tokens_are_marked_and_found_again():
    assert pieces().find("‹SEP›") == 1
    assert pieces().find("[SEP]") == 1
    assert [special_label(name) for name in ("<|im_start|>", "</s>", "[MASK]", "<pad>", "x")] == [
        "‹im_start›",
        "‹/s›",
        "‹MASK›",
        "‹pad›",
        "‹x›",
    ]


def test_added_tokens_are_their_own_text(model):
    # Beside a byte-level vocabulary a token called "éé" is two letters, not the bytes that these letters stand for.
    spec = json.loads(model.tokenizer.source)
    token = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    n = max(spec["model"]["vocab"].values()) + 1
    spec["added_tokens"] += [{"id": n, "content": "éé", **token}, {"id": n + 1, "content": "   ", **token}]
    tokenizer = Tokenizer(json.dumps(spec))
    assert tokenizer.spelled(n) == "éé".encode()
    assert tokenizer.spelled(n + 1) == b"   "
    assert tokenizer.token(n + 1).label == "␣␣␣"


def test_token_that_a_vocabulary_lacks_is_written_by_its_id(model):
    assert model.tokenizer.token(10**6).label == "#1000000"


def test_start_token_of_the_folders_own_tokenizer_class_is_put_first(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(TINY / "llama_gqa", folder)
    plain = kav.open_model(folder, device="cpu").encode("red fox")
    for adds in (True, False):
        (folder / "tokenizer_config.json").write_text(json.dumps({"add_bos_token": adds}))
        tokens = kav.open_model(folder, device="cpu").encode("red fox")
        assert tokens.ids == (((0,) if adds else ()) + plain.ids)


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]},
        {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]], "dropout": 7.0},
        {"type": "Unigram", "vocab": [], "unk_id": 3},
        {"type": "WordLevel", "vocab": {}, "unk_token": "x"},
    ],
    ids=str,
)
def test_crafted_vocabulary_is_one_sentence_and_the_program_lives(broken):
    # A merge whose result is not in the vocabulary aborted the loader (tokenizers#2094).
    with pytest.raises(ModelError, match=r"tokenizer\.json must be one that can be"):
        Tokenizer(json.dumps({"version": "1.0", "model": broken})).encode("ab")
