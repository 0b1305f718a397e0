"""safetensors files: what is read, and every way of lying that is refused before anything is allocated."""

import json
import os

import numpy as np
import pytest

from kav.errors import ModelError
from kav.model import tensors
from kav.model.tensors import Folder, SafeFile


def write(path, header, body=b"", n_header=None):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(raw) if n_header is None else n_header).to_bytes(8, "little") + raw + body)
    return path


def entry(dtype="F32", shape=(1,), span=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(span)}


def test_bfloat16_bytes_are_read_as_what_they_mean(tmp_path):
    # NumPy does not know bfloat16 (safetensors#598); these bytes are 1, 6 and -123.5.
    body = bytes.fromhex("803f c040 f7c2")
    file = SafeFile(write(tmp_path / "a.safetensors", {"x": entry("BF16", (3,), (0, 6))}, body))
    assert file.read("x").tolist() == [1.0, 6.0, -123.5]


@pytest.mark.parametrize(("dtype", "numpy"), [("F32", "<f4"), ("F16", "<f2")])
def test_numbers_come_out_as_float32_in_their_shape(tmp_path, dtype, numpy):
    values = np.array([[1.5, -2.0, 0.25]], numpy)
    header = {"x": entry(dtype, (1, 3), (0, values.nbytes)), "__metadata__": {"format": "pt"}}
    found = SafeFile(write(tmp_path / "a.safetensors", header, values.tobytes())).read("x")
    assert found.dtype == np.float32
    assert found.tolist() == values.tolist()


def test_header_longer_than_the_limit_is_refused_before_it_is_read(tmp_path):
    # A header length of 132 MB in a file of 1 KB (safetensors#668).
    path = write(tmp_path / "a.safetensors", b"{}" + bytes(1014), n_header=132_000_000)
    with pytest.raises(ModelError, match=r"header of a\.safetensors must have at most 1,016 bytes, got 132,000,000"):
        SafeFile(path)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"[1]", "must begin with"),
        (b"{nonsense", "must be JSON"),
        (b'{"x": 1, "x": 2}', "a key appears twice"),
        ({"x": [1]}, "must be described by an object"),
        ({"x": entry("F8_E4M3", (4,))}, "dtype of tensor 'x' of .* must be one of F32, F16, BF16, got 'F8_E4M3'"),
        ({"x": entry(dtype=["F32"])}, "dtype of tensor"),
        ({"x": entry(shape=(-1,))}, "shape of tensor"),
        ({"x": entry(shape=(1.0,))}, "shape of tensor"),
        ({"x": entry(shape=(True,))}, "shape of tensor"),
        ({"x": entry(shape=(1,) * 9)}, "at most 8 whole numbers"),
        ({"x": entry(shape=(2**40, 2**40))}, r"must have 4,835,703,278,458,516,698,824,704 bytes for its shape, got 4"),
        ({"x": entry(span=(0,))}, "data_offsets of tensor"),
        ({"x": entry(span=(4, 0))}, "must have 4 bytes for its shape, got -4"),
        ({"x": entry(span=(2, 6))}, "gap or overlap at byte"),
        ({"x": entry(), "y": entry()}, "gap or overlap at byte"),
        ({"x": entry(shape=(2,), span=(0, 8))}, "must fill its"),
        ({"x" * 600: entry()}, "name must have at most 512 bytes"),
        ({}, "must fill its"),
    ],
)
def test_header_that_lies_is_refused(tmp_path, header, said):
    with pytest.raises(ModelError, match=said):
        SafeFile(write(tmp_path / "a.safetensors", header, bytes(4)))


@pytest.mark.parametrize("n_bytes", [0, 7, 9])
def test_file_too_short_for_a_header_is_refused(tmp_path, n_bytes):
    (tmp_path / "a.safetensors").write_bytes(bytes(n_bytes))
    with pytest.raises(ModelError, match="must be a safetensors file"):
        SafeFile(tmp_path / "a.safetensors")


@pytest.mark.parametrize("happening", ["truncated", "deleted", "replaced"])
def test_file_that_changes_after_opening_is_an_error_not_a_crash(tmp_path, happening):
    # A mapped file that is shortened under its reader kills the process with a bus error (cpython#84897).
    path = write(tmp_path / "a.safetensors", {"x": entry()}, bytes(4))
    file = SafeFile(path)
    if happening == "truncated":
        os.truncate(path, 0)
    elif happening == "deleted":
        path.unlink()
    else:
        write(path, {"x": entry("F16", (2,))}, bytes(4))
    with pytest.raises(ModelError, match="must stay"):
        file.read("x")


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
@pytest.mark.parametrize("kept", [True, False])
def test_a_tensor_of_several_pieces_is_that_of_all_its_bytes(tmp_path, monkeypatch, dtype, kept):
    values = np.random.default_rng(0).standard_normal((7, 300)).astype(np.float16).astype(np.float32)
    bits = values.view(np.uint32) >> 16
    stored = {"F32": values, "F16": values.astype("<f2"), "BF16": bits.astype("<u2")}[dtype]
    expected = values if dtype != "BF16" else (bits << 16).view(np.float32)
    header = {"x": entry(dtype, (7, 300), (0, stored.nbytes))}
    path = write(tmp_path / "a.safetensors", header, stored.tobytes())
    monkeypatch.setattr(tensors, "PIECE", 64)
    np.testing.assert_array_equal(Folder([path]).read("x", kept=kept), expected)


def test_what_is_only_copied_from_stands_alone(tmp_path):
    # It would hold up the memory of its neighbours for as long as they live.
    header = {"x": entry(span=(0, 4)), "y": entry(span=(4, 8))}
    folder = Folder([write(tmp_path / "a.safetensors", header, bytes(8))])
    assert folder.read("x").base is not None
    assert folder.read("y", kept=False).base is None
