"""Tokenizers of folders without tokenizer.json, against the tokenizers library's own reading of the older files."""

import json
import shutil
from pathlib import Path

import pytest
import tokenizers
from tokenizers.implementations import BertWordPieceTokenizer

import kav
from kav.errors import ModelError
from kav.model.folder_words import folder_words
from kav.model.tokenizer import Tokenizer

TINY = Path(__file__).resolve().parents[2] / "data" / "tiny"
TEXTS = (
    "The quick brown fox, it's 12345 of 3.14!",
    "  blanks\tand\n\nlines  ",
    "Ólafur 東京 🦊 é",
    "<|endoftext|>after <|endoftext|>",
    "",
)
PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "fox",
    "red",
    "##es",
    "##s",
    ",",
    ".",
    "1",
    "2",
    "##3",
    "o",
    "##la",
    "##fur",
    "東",
    "京",
]


@pytest.fixture
def older(tmp_path):
    """GPT-2's folder as older programs wrote it: vocab.json and merges.txt."""
    folder = tmp_path / "older"
    shutil.copytree(TINY / "gpt2", folder)
    model = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]), "utf-8")
    merges = [" ".join(pair) for pair in model["merges"]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), "utf-8")
    return folder


@pytest.mark.parametrize("text", TEXTS)
def test_vocabulary_and_merges_read_text_as_the_folders_tokenizer_json_does(older, text):
    ids = tokenizers.Tokenizer.from_file(str(TINY / "gpt2" / "tokenizer.json")).encode(text).ids
    assert kav.open_model(older, device="cpu").encode(text).ids == tuple(ids)


def test_qwen_puts_characters_together_and_cuts_digits_one_by_one(older):
    words = Tokenizer(folder_words(older, {"model_type": "qwen2"}).source.decode(), None)
    gpt2 = Tokenizer(folder_words(older, {"model_type": "gpt2"}).source.decode(), None)
    assert words.encode("e\u0301").ids == gpt2.encode("é").ids != gpt2.encode("e\u0301").ids


def test_tokens_named_apart_are_found_in_text(older):
    (older / "added_tokens.json").write_text(json.dumps({"<extra>": 318}))
    listed = {"319": {"content": "<|im_start|>", "special": True}}
    (older / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": listed}))
    vocab = json.loads((older / "vocab.json").read_text())
    kept = {name: number for name, number in vocab.items() if number < 318}
    (older / "vocab.json").write_text(json.dumps(kept))
    merges = (older / "merges.txt").read_text().splitlines()
    (older / "merges.txt").write_text("\n".join(line for line in merges if line.replace(" ", "") in kept))
    tokens = kav.open_model(older, device="cpu").encode("a<extra><|im_start|>")
    assert tokens.ids[1:] == (318, 319)
    assert tokens.labels[1:] == ("<extra>", "‹im_start›")


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("text", ["The foxes, red.", "Ólafur 東京 123", "unknown", " ", "[MASK] fox"])
def test_wordpiece_list_reads_text_as_the_tokenizers_library_does(tmp_path, lowercase, text):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", "utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lowercase}))
    theirs = BertWordPieceTokenizer(str(tmp_path / "vocab.txt"), lowercase=lowercase)
    ours = tokenizers.Tokenizer.from_str(folder_words(tmp_path, {"model_type": "bert"}).source.decode())
    assert ours.encode(text).ids == theirs.encode(text).ids


def test_families_whose_older_files_say_too_little_keep_ids_as_labels(older):
    assert folder_words(older, {"model_type": "llama"}) is None
    assert folder_words(older, {"model_type": "bert"}) is None


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("vocab.json", "[]", "vocab.json must hold an object, got list"),
        ("vocab.json", '{"a": "b"}', "a vocabulary must map tokens to ids, got b for 'a'"),
        ("vocab.json", '{"a": 0}', "a merge must join two vocabulary entries to a third"),
        ("vocab.json", '{"a": 18446744073709551615}', "a vocabulary must map tokens to ids"),
        ("merges.txt", "h q", "a merge must join two vocabulary entries to a third, got 'h q'"),
        ("added_tokens.json", '{"x": -1}', "a vocabulary must map tokens to ids, got -1 for 'x'"),
        (
            "tokenizer_config.json",
            '{"added_tokens_decoder": {"x": {"content": "y"}}}',
            "must map ids to tokens, got 'x'",
        ),
        ("tokenizer_config.json", "7", "tokenizer_config.json must hold an object, got int"),
    ],
)
def test_broken_older_files_are_refused_by_name(older, name, content, said):
    (older / name).write_text(content)
    with pytest.raises(ModelError, match=said):
        kav.open_model(older, device="cpu")


def test_older_files_that_are_no_text_are_refused(older, tmp_path):
    (older / "merges.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ModelError, match=r"merges\.txt must hold UTF-8 text, got other bytes at 0"):
        kav.open_model(older, device="cpu")
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    with pytest.raises(ModelError, match=r"must hold its special tokens, got none called '\[CLS\]'"):
        folder_words(tmp_path, {"model_type": "bert"})
