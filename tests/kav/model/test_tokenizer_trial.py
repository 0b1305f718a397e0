"""A tokenizer.json that hangs, crashes or aborts its reader does so in a child process."""

import json
from pathlib import Path

import pytest

import kav
from kav.errors import ModelError
from kav.model import tokenizer_trial
from kav.model.tokenizer_trial import Trial, check_plan, verdict

TINY = Path(__file__).resolve().parents[2] / "data" / "tiny"
WHOLE = json.loads((TINY / "llama_gqa" / "tokenizer.json").read_text())


def source(**changes):
    return json.dumps(WHOLE | changes).encode()


def test_good_file_passes():
    Trial(source()).finish()


def test_merge_that_joins_to_nothing_is_one_sentence():
    # tokenizers#2094: a Rust panic, which is no Exception in Python.
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}
    with pytest.raises(ModelError, match=r"tokenizer\.json must be one that can be opened and used, got: "):
        Trial(source(model=model, added_tokens=[])).finish()


def test_pattern_that_takes_for_ever_is_refused(monkeypatch):
    # tokenizers#2060: nested repeats try every way to cut a row of equal letters.
    monkeypatch.setattr(tokenizer_trial, "PATIENCE", 20)
    cut = {"type": "Split", "pattern": {"Regex": r"^(?:(a|aa)+)+$"}, "behavior": "Isolated", "invert": False}
    with pytest.raises(ModelError, match="must be one that can be opened and used"):
        Trial(source(pre_tokenizer=cut)).finish()


def test_reader_that_dies_is_a_sentence(monkeypatch):
    monkeypatch.setattr(tokenizer_trial, "_CHILD", "import os; os.abort()")
    assert verdict(b"1").startswith("got a reader that ended with -6")
    monkeypatch.setattr(tokenizer_trial, "_CHILD", "import time; time.sleep(60)")
    monkeypatch.setattr(tokenizer_trial, "PATIENCE", 0.2)
    assert verdict(b"2") == "got no answer within 0.2 seconds"


@pytest.mark.parametrize(
    "table", ["", "AAAA", "?", 3, None, "/////w" + "A" * 10 + "==", "BQAAAAAAAAAA", "CAAAAAAAAAAA"]
)
def test_table_of_characters_that_lies_about_its_length_is_refused(table):
    # A length of 4 GB in a table of a few bytes was allocated by the library, which aborts the process without it.
    normalizer = {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": table}]}
    with pytest.raises(ModelError, match="precompiled_charsmap must hold a table of the length it says"):
        check_plan(WHOLE | {"normalizer": normalizer})
    check_plan(WHOLE | {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAAA"}})


def test_chain_that_doubles_the_text_again_and_again_is_refused():
    # A hundred byte-level steps: each writes every letter beyond ASCII as two, until memory is gone.
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    with pytest.raises(ModelError, match="must have at most 64 steps, got 1"):
        check_plan(WHOLE | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [step] * 100}})
    double = {"type": "Replace", "pattern": {"String": "q"}, "content": "qq"}
    with pytest.raises(ModelError, match="text that grows without measure"):
        Trial(source(normalizer={"type": "Sequence", "normalizers": [double] * 12})).finish()


@pytest.mark.parametrize(
    "steps",
    [
        [("String", "a", "aa")] * 24,
        [("String", "ab", "abababab")] * 8,
        [("Regex", ".", "a" * 65)],
        [("String", "", "a")] * 7,
    ],
)
def test_replacements_that_multiply_the_text_are_refused_before_the_library_sees_them(steps):
    # Found by mutation: 20 doublings took 2.1 s and 438 MB for a prompt of 16 letters, 24 end the process.
    chain = [{"type": "Replace", "pattern": {kind: sought}, "content": content} for kind, sought, content in steps]
    with pytest.raises(ModelError, match="replacements must make at most 64 letters of one, got"):
        check_plan(WHOLE | {"normalizer": {"type": "Sequence", "normalizers": chain}})


def test_replacements_of_known_tokenizers_pass():
    usual = [(" ", "▁"), ("``", '"'), ("\t", " " * 8), ("...", "…"), ("▁", " ")]
    chain = [{"type": "Replace", "pattern": {"String": sought}, "content": content} for sought, content in usual]
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    check_plan(WHOLE | {"normalizer": {"type": "Sequence", "normalizers": [*chain, *[spaces] * 20]}})


def test_hostile_tokenizer_keeps_its_folder_closed(tmp_path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((TINY / "llama_gqa" / name).read_bytes())
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}
    for text in (
        source(model=model).decode(),
        "{",
        "[]",
        "[" * 100_000,
        '{"a": NaN}',
        '{"model": 1, "model": 1}',
        "{}",
    ):
        (tmp_path / "tokenizer.json").write_text(text)
        with pytest.raises(ModelError, match=r"tokenizer\.json must"):
            kav.open_model(tmp_path, device="cpu")
