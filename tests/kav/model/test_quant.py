"""Block formats of GGUF: the same bits as the gguf package gives, which shares no code with kav."""

import gguf
import numpy as np
import pytest

from kav.errors import ModelError
from kav.model.quant import DECODERS, LAYOUTS, SLICE, decode, layout_of


def random_blocks(layout, n_blocks, seed=0):
    """Bytes at random; scales may be infinite or no numbers at all."""
    return np.random.default_rng(seed).integers(0, 256, n_blocks * layout.n_bytes, dtype=np.uint8)


def decoded(raw, layout, shape):
    out = np.empty(shape, np.float32)
    decode(raw, layout, out)
    return out


@pytest.mark.parametrize("number", LAYOUTS, ids=lambda number: LAYOUTS[number].name)
def test_numbers_have_the_bits_that_the_gguf_package_gives(number):
    layout = LAYOUTS[number]
    raw = random_blocks(layout, 300)
    with np.errstate(all="ignore"):
        expected = gguf.quants.dequantize(raw, gguf.GGMLQuantizationType(number))
    found = decoded(bytearray(raw.tobytes()), layout, (3, 100 * layout.n_numbers))
    assert found.dtype == np.float32
    assert found.shape == (3, 100 * layout.n_numbers)
    nan = np.isnan(found)
    assert (nan == np.isnan(expected.reshape(found.shape))).all()
    assert (found.view(np.uint32)[~nan] == expected.astype(np.float32).reshape(found.shape).view(np.uint32)[~nan]).all()


@pytest.mark.parametrize("number", LAYOUTS, ids=lambda number: LAYOUTS[number].name)
def test_layouts_are_those_of_the_gguf_package(number):
    kind = gguf.GGMLQuantizationType(number)
    assert (LAYOUTS[number].n_numbers, LAYOUTS[number].n_bytes) == gguf.GGML_QUANT_SIZES[kind]
    assert LAYOUTS[number].name == kind.name


@pytest.mark.parametrize("name", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"])
def test_quantised_numbers_come_back_within_half_a_step(name):
    x = np.random.default_rng(1).normal(size=(7, 96)).astype(np.float32)
    raw = gguf.quants.quantize(x, gguf.GGMLQuantizationType[name])
    layout = next(layout for layout in LAYOUTS.values() if layout.name == name)
    found = decoded(bytearray(raw.tobytes()), layout, x.shape)
    blocks = x.reshape(-1, 32)
    step = np.abs(blocks).max(axis=1) / {"Q4_0": 8, "Q5_0": 16, "Q8_0": 127}.get(name, 8 if name == "Q4_1" else 16)
    assert (np.abs(found - x).reshape(-1, 32) <= 1.02 * step[:, None]).all()


@pytest.mark.parametrize("name", DECODERS)
def test_long_tensors_are_decoded_in_slices_without_a_seam(name):
    layout = next(layout for layout in LAYOUTS.values() if layout.name == name)
    n_blocks = SLICE // layout.n_numbers + 5
    raw = random_blocks(layout, n_blocks)
    whole = decoded(bytearray(raw.tobytes()), layout, (n_blocks * layout.n_numbers,))
    last = decoded(bytearray(raw[-7 * layout.n_bytes :].tobytes()), layout, (7 * layout.n_numbers,))
    assert whole[-7 * layout.n_numbers :].tobytes() == last.tobytes()


def test_unknown_storage_type_is_refused_by_its_number():
    for number in (4, 5, 9, 24, 41, 2**32 - 1):
        with pytest.raises(ModelError, match=rf"must be stored as one of F32, F16, .*, got type {number}"):
            layout_of(number, "x")
