"""GGUF files: the numbers of an independent program, and every way of lying that is refused.

The references under tests/data/tiny/gguf were made with transformers, see the README there. The malformed kinds follow
the list that llama.cpp tests its own reader with; files are made here, byte by byte.
"""

import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import kav
from kav.errors import ModelError
from kav.model.gguf import GgufFile
from tests.kav.model import gguf_maker as made

TINY = Path(__file__).resolve().parents[2] / "data" / "tiny"
TYPES = ("f32", "f16", "q8_0", "q4_0", "q4_1", "q5_0")
HUGE = 2**64 - 1
ONE = made.place("x", [4], 0, 0)
BODY = bytes(32)


def write(path, *parts):
    path.write_bytes(b"".join(parts))
    return path


def whole(*places, body=BODY, keys=(), **lies):
    return made.padded(made.head(list(keys), list(places), **lies)) + body


@pytest.mark.parametrize("kind", TYPES)
def test_runs_agree_with_transformers(kind):
    model = kav.open_model(TINY / "gguf" / f"llama_gqa_{kind}.gguf", device="cpu")
    reference = np.load(TINY / "gguf" / f"llama_gqa_{kind}_ref.npz")
    trace = kav.run(model, model.tokens(reference["ids"]))
    np.testing.assert_allclose(trace.logits(list(reference["positions"])), reference["logits"], atol=1e-4)


def test_file_gives_the_same_patterns_as_the_folder_that_it_was_made_from():
    # Rows of queries and keys are stored in another order in GGUF; taken as they are, text turns to gibberish
    # (TinyLlama#24): patterns differ in every digit.
    folder = kav.open_model(TINY / "llama_gqa", device="cpu")
    file = kav.open_model(TINY / "gguf" / "llama_gqa_f32.gguf", device="cpu")
    for own, other in zip(file.weights.blocks, folder.weights.blocks, strict=True):
        assert (own.W_Q == other.W_Q).all()
        assert (own.W_K == other.W_K).all()
    ids = np.load(TINY / "llama_gqa" / "reference.npz")["ids"]
    patterns = np.load(TINY / "llama_gqa" / "reference.npz")["attentions"]
    trace = kav.run(file, file.tokens(ids))
    for layer in range(file.config.n_layers):
        for head in range(file.config.n_heads):
            np.testing.assert_allclose(trace.pattern(layer, head), patterns[layer, head], atol=1e-5)


def test_file_encodes_text_as_the_folder_does():
    folder = kav.open_model(TINY / "llama_gqa", device="cpu")
    file = kav.open_model(TINY / "gguf" / "llama_gqa_f32.gguf", device="cpu")
    for text in ("", " ", "The model's 3.14 words", "東京 naïve 🦊\n\n  x", "a" * 300):
        assert file.encode(text).ids == folder.encode(text).ids
        assert file.encode(text).labels == folder.encode(text).labels


def test_folder_that_holds_one_gguf_file_opens_as_that_file(tmp_path):
    raw = (TINY / "gguf" / "llama_gqa_f16.gguf").read_bytes()
    (tmp_path / "a.gguf").write_bytes(raw)
    assert kav.open_model(tmp_path, device="cpu").name == "a"
    (tmp_path / "b.gguf").write_bytes(raw)
    with pytest.raises(ModelError, match=r"must hold one GGUF file, got 2"):
        kav.open_model(tmp_path, device="cpu")


def test_all_kinds_of_values_are_read_as_what_they_are(tmp_path):
    nested = (made.ARRAY, struct.pack("<IQ", made.ARRAY, 2) + 2 * (struct.pack("<IQ", made.U8, 2) + b"\1\2"))
    values = {
        "a": (made.U8, b"\xff"), "b": (made.I8, b"\xff"), "c": (made.I16, b"\xfe\xff"), "d": (made.U64, b"\xff" * 8),
        "e": 1.5, "f": (made.F64, struct.pack("<d", 2.5)), "g": True, "h": "wörter", "i": ["x", "", "yz"], "j": nested,
        "k": [1, -2], "l": (made.ARRAY, struct.pack("<IQ", made.BOOL, 2) + b"\0\1"),
    }  # fmt: skip
    path = write(tmp_path / "a.gguf", made.file(values, {"x": np.float32([[1, 2, 3]])}))
    found = GgufFile(path)
    assert found.values["a"] == 255
    assert found.values["b"] == -1
    assert found.values["c"] == -2
    assert found.values["d"] == HUGE
    assert (found.values["e"], found.values["f"], found.values["g"]) == (1.5, 2.5, True)
    assert (found.values["h"], found.values["i"]) == ("wörter", ["x", "", "yz"])
    assert [item.tolist() for item in found.values["j"]] == [[1, 2], [1, 2]]
    assert found.values["k"].tolist() == [1, -2]
    assert found.values["l"].tolist() == [False, True]
    assert found.read("x").tolist() == [[1, 2, 3]]


MALFORMED = {
    "empty": (b"", 'must begin with "GGUF"'),
    "shorter than a header": (b"GGUF\3\0\0\0", 'must begin with "GGUF"'),
    "magic": (whole(ONE, magic=b"GGML"), 'must begin with "GGUF"'),
    "version 0": (whole(ONE, version=0), "version of .* must be 2 or 3, got 0"),
    "version 1": (whole(ONE, version=1), "version of .* must be 2 or 3, got 1"),
    "version of the future": (whole(ONE, version=4), "version of .* must be 2 or 3, got 4"),
    "other byte order": (whole(ONE, version=3 << 24), "the other byte order"),
    "tensor count": (whole(ONE, n_tensors=HUGE), "at most 200,000 tensors, got 18,446,744,073,709,551,615"),
    "key count": (whole(ONE, n_keys=HUGE), "at most 65,536 keys, got 18,446,744,073,709,551,615"),
    "more tensors than there are": (whole(ONE, n_tensors=9), "must"),
    "more keys than there are": (whole(ONE, n_keys=9), "must"),
    "key size": (made.head([struct.pack("<Q", HUGE)], []), "a key of .* must have at most 65,535 bytes"),
    "key beyond the end": (made.head([struct.pack("<Q", 60_000)], []), "must end within the file"),
    "key without letters": (whole(ONE, keys=[made.key("", 1)]), "a key of .* must not be empty"),
    "key that is no text": (whole(ONE, keys=[made.key(b"\xff", 1)]), "must be UTF-8"),
    "value type": (
        whole(ONE, keys=[made.text("a") + struct.pack("<I", 13) + bytes(8)]),
        "must be one of 0..12, got 13",
    ),
    "key twice": (whole(ONE, keys=[made.key("a", 1), made.key("a", 2)]), "must appear once, got 'a' twice"),
    "bool of 2": (whole(ONE, keys=[made.key("a", (made.BOOL, b"\2"))]), "must be 0 or 1, got 2"),
    "string size": (whole(ONE, keys=[made.key("a", (made.STRING, b"\xff" * 8))]), "at most 67,108,864 bytes"),
    "array size": (
        whole(ONE, keys=[made.key("a", (made.ARRAY, struct.pack("<IQ", made.U8, HUGE)))]),
        "at most 1,048,576 entries",
    ),
    "array beyond the end": (
        whole(ONE, keys=[made.key("a", (made.ARRAY, struct.pack("<IQ", made.STRING, 1_000_000)))]),
        "must end within the file",
    ),
    "array type": (whole(ONE, keys=[made.key("a", (made.ARRAY, struct.pack("<IQ", 99, 0)))]), "got 99"),
    "array in array in array": (
        whole(ONE, keys=[made.key("a", (made.ARRAY, struct.pack("<IQ", made.ARRAY, 1) * 6))]),
        "nested at most 4 deep",
    ),
    "many arrays in an array": (
        whole(ONE, keys=[made.key("a", (made.ARRAY, struct.pack("<IQ", made.ARRAY, 4097) + bytes(12 * 4097)))]),
        "at most 4,096 entries, got 4,097",
    ),
    "alignment 13": (whole(ONE, keys=[made.key("general.alignment", 13)]), "power of two in 1..65536, got 13"),
    "alignment 0": (whole(ONE, keys=[made.key("general.alignment", 0)]), "power of two in 1..65536, got 0"),
    "alignment 2^31": (whole(ONE, keys=[made.key("general.alignment", 2**31)]), "power of two in 1..65536"),
    "alignment that is text": (whole(ONE, keys=[made.key("general.alignment", "32")]), "power of two"),
    "long name": (whole(made.place("x" * 64, [4], 0, 0)), "name of .* must have at most 63 bytes, got 64"),
    "name twice": (whole(ONE, ONE), "must appear once, got 'x' twice"),
    "no dimensions": (whole(made.place("x", [], 0, 0)), "must have 1..4 dimensions, got 0"),
    "five dimensions": (whole(made.place("x", [1] * 5, 0, 0)), "must have 1..4 dimensions, got 5"),
    "a million dimensions": (whole(made.text("x") + struct.pack("<I", 1_000_000)), "got 1,000,000"),
    "dimension 0": (whole(made.place("x", [4, 0], 0, 0)), "dimensions of .* must be > 0"),
    "dimensions that wrap at 2^64": (whole(made.place("x", [2**33, 2**31], 0, 0)), "must end within"),
    "exabytes": (whole(made.place("x", [2**62], 0, 0)), "must end within"),
    "bytes that wrap": (whole(made.place("x", [HUGE, HUGE, HUGE, HUGE], 0, 0)), "must end within"),
    "type": (whole(made.place("x", [32], 4, 0)), "must be stored as one of .* got type 4"),
    "type of the future": (whole(made.place("x", [32], 1000, 0)), "got type 1000"),
    "part of a block": (whole(made.place("x", [33], 2, 0)), "whole blocks of 32, got 33"),
    "offset": (whole(made.place("x", [4], 0, 5)), "must be a multiple of 32, got 5"),
    "offset beyond the end": (whole(made.place("x", [4], 0, 2**63)), "must end within"),
    "alignment that the offsets break": (
        whole(ONE, made.place("y", [4], 0, 32), keys=[made.key("general.alignment", 64)], body=bytes(96)),
        "multiple of 64, got 32",
    ),
    "overlap": (whole(made.place("x", [16], 0, 0), made.place("y", [4], 0, 32), body=bytes(64)), "must not overlap"),
    "short data": (whole(made.place("x", [9], 0, 0)), "must end within"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_file_is_refused_with_little_memory(tmp_path, kind):
    # Counts and sizes that were believed: llama.cpp#25378, CVE-2025-53630, CVE-2026-27940, CVE-2026-33298.
    raw, said = MALFORMED[kind]
    path = write(tmp_path / "a.gguf", raw)
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=said):
            GgufFile(path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("n_bytes", [0, 3, 4, 23, 24, 60, 100, 1000, 5000, 20_000, -1])
def test_file_cut_short_anywhere_is_refused(tmp_path, n_bytes):
    raw = (TINY / "gguf" / "llama_gqa_f16.gguf").read_bytes()
    with pytest.raises(ModelError, match="must"):
        kav.open_model(write(tmp_path / "a.gguf", raw[:n_bytes]), device="cpu")


STORY = """
import os, sys
from pathlib import Path
from kav.errors import ModelError
from kav.model.checkpoint import checkpoint
path, what = Path(sys.argv[1]), sys.argv[2]
tensors = checkpoint(path if path.suffix == ".gguf" else path.parent).tensors
name = sorted(tensors.names)[0]
tensors.read(name)
if what == "truncated":
    os.truncate(path, 0)
elif what == "deleted":
    path.unlink()
elif what == "replaced":
    path.rename(path.with_suffix(".old")); path.write_bytes(bytes(path.with_suffix(".old").stat().st_size))
else:
    path.unlink(); os.mkfifo(path)
try:
    tensors.read(name)
except ModelError as error:
    sys.stdout.write(str(error))
"""


@pytest.mark.parametrize("what", ["truncated", "deleted", "replaced", "replaced by a pipe"])
@pytest.mark.parametrize("format_", ["gguf", "safetensors"])
def test_file_that_changes_while_open_is_a_sentence_not_a_signal(tmp_path, format_, what):
    # A mapped file that is shortened under its reader kills the process with a bus error (cpython#84897).
    if format_ == "gguf":
        path = write(tmp_path / "a.gguf", (TINY / "gguf" / "llama_gqa_f16.gguf").read_bytes())
    else:
        for name in ("config.json", "model.safetensors"):
            (tmp_path / name).write_bytes((TINY / "llama_gqa" / name).read_bytes())
        path = tmp_path / "model.safetensors"
    found = subprocess.run(
        [sys.executable, "-c", STORY, str(path), what], capture_output=True, text=True, timeout=60, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert "must" in found.stdout
