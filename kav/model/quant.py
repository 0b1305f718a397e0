"""What the numbers of a GGUF file mean: block layouts, and from blocks of bytes to float32.

A quantised row is cut into blocks of equal length; a block holds a scale ``d`` (float16), perhaps a minimum ``m``,
and small whole numbers ``q``: the values are ``d (q - q_0)`` or ``d q + m``. The plain and the 32-number formats are
decoded here; the rarer ones with blocks of 256 by the ``gguf`` package, which is imported when one is met.

References
----------
The GGUF format description, github.com/ggml-org/ggml, docs/gguf.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from kav.errors import ModelError


@dataclass(frozen=True)
class Layout:
    """One storage type: its name, numbers per block and bytes per block."""

    name: str
    n_numbers: int
    n_bytes: int


LAYOUTS: Mapping[int, Layout] = MappingProxyType(
    {
        0: Layout("F32", 1, 4),
        1: Layout("F16", 1, 2),
        2: Layout("Q4_0", 32, 18),
        3: Layout("Q4_1", 32, 20),
        6: Layout("Q5_0", 32, 22),
        7: Layout("Q5_1", 32, 24),
        8: Layout("Q8_0", 32, 34),
        10: Layout("Q2_K", 256, 84),
        11: Layout("Q3_K", 256, 110),
        12: Layout("Q4_K", 256, 144),
        13: Layout("Q5_K", 256, 176),
        14: Layout("Q6_K", 256, 210),
        16: Layout("IQ2_XXS", 256, 66),
        17: Layout("IQ2_XS", 256, 74),
        18: Layout("IQ3_XXS", 256, 98),
        19: Layout("IQ1_S", 256, 50),
        20: Layout("IQ4_NL", 32, 18),
        21: Layout("IQ3_S", 256, 110),
        22: Layout("IQ2_S", 256, 82),
        23: Layout("IQ4_XS", 256, 136),
        29: Layout("IQ1_M", 256, 56),
        30: Layout("BF16", 1, 2),
        34: Layout("TQ1_0", 256, 54),
        35: Layout("TQ2_0", 256, 66),
    }
)
"""Storage types by the number that a GGUF file gives them."""

SLICE = 1 << 17
"""Numbers that are decoded at a time: few enough for the cache, and what is needed besides the result stays small."""


def layout_of(number: int, what: str) -> Layout:
    """Return the layout of a storage type.

    Raises
    ------
    ModelError
        If the type is not known.
    """
    if number not in LAYOUTS:
        known = ", ".join(layout.name for layout in LAYOUTS.values())
        raise ModelError(f"{what} must be stored as one of {known}, got type {number}")
    return LAYOUTS[number]


def decode(raw: bytearray | np.ndarray, layout: Layout, out: np.ndarray) -> None:
    """Write stored numbers as float32.

    Parameters
    ----------
    raw : bytearray or ndarray of bytes
        Whole blocks.
    layout : Layout
    out : ndarray
        C-ordered float32, as many numbers as are stored.
    """
    if layout.name == "F32":
        out.reshape(-1)[:] = np.frombuffer(raw, "<f4")
        return
    blocks = np.frombuffer(raw, np.uint8).reshape(-1, layout.n_bytes)
    numbers = out.reshape(-1, layout.n_numbers)
    turn = DECODERS.get(layout.name) or _by_package(layout.name)
    step = max(1, SLICE // layout.n_numbers)
    # Scales are any 16 bits: infinite or no numbers at all in a broken file, which are counted later, not warned about.
    with np.errstate(all="ignore"):
        for start in range(0, len(blocks), step):
            turn(blocks[start : start + step], numbers[start : start + step])


def _halves(blocks: np.ndarray, n: int) -> list[np.ndarray]:
    """The n float16 with which each block begins, as columns."""
    found: np.ndarray = blocks.view("<f2")[:, :n].astype(np.float32)
    return [found[:, at : at + 1] for at in range(n)]  # (n_blocks, 1) each


_ITEM = np.dtype("V16")  # sixteen bytes are moved as one: twice as fast as a slice of each block
_LOW = np.uint64(0x0F0F0F0F0F0F0F0F)


def _nibbles(blocks: np.ndarray, start: int) -> np.ndarray:
    """32 numbers of 4 bits: the low halves of 16 bytes, then the high ones."""
    high = blocks[:, start : start + 16].view(_ITEM)[:, 0].copy().view(np.uint64)
    low = high & _LOW
    high >>= np.uint64(4)
    high &= _LOW
    numbers = np.empty((len(blocks), 2), _ITEM)
    numbers[:, 0], numbers[:, 1] = low.view(_ITEM), high.view(_ITEM)
    return numbers.view(np.uint8)  # (n_blocks, 32)


def _fifths(blocks: np.ndarray, start: int) -> np.ndarray:
    """32 numbers of 5 bits: the highest bits stand together in 4 bytes, before the others."""
    bits = np.unpackbits(blocks[:, start : start + 4], axis=1, bitorder="little")  # (n_blocks, 32)
    numbers: np.ndarray = _nibbles(blocks, start + 4) | (bits << 4)
    return numbers


def _f16(blocks: np.ndarray, out: np.ndarray) -> None:
    out[...] = _halves(blocks, 1)[0]


def _bf16(blocks: np.ndarray, out: np.ndarray) -> None:
    upper = np.ascontiguousarray(blocks).view("<u2").astype(np.uint32)  # the upper half of a float32
    out[...] = (upper << 16).view(np.float32)


def _q4_0(blocks: np.ndarray, out: np.ndarray) -> None:
    _scaled(out, _nibbles(blocks, 2).view(np.int8) - np.int8(8), *_halves(blocks, 1))


def _q4_1(blocks: np.ndarray, out: np.ndarray) -> None:
    _scaled(out, _nibbles(blocks, 4), *_halves(blocks, 2))


def _q5_0(blocks: np.ndarray, out: np.ndarray) -> None:
    _scaled(out, _fifths(blocks, 2).view(np.int8) - np.int8(16), *_halves(blocks, 1))


def _q5_1(blocks: np.ndarray, out: np.ndarray) -> None:
    _scaled(out, _fifths(blocks, 4), *_halves(blocks, 2))


def _q8_0(blocks: np.ndarray, out: np.ndarray) -> None:
    _scaled(out, blocks[:, 2:].view(np.int8), *_halves(blocks, 1))


def _scaled(out: np.ndarray, numbers: np.ndarray, scale: np.ndarray, least: np.ndarray | None = None) -> None:
    """Write ``numbers * scale + least``."""
    out[...] = numbers  # float32 first: a product of two kinds of numbers is slower
    out *= scale
    if least is not None:
        out += least


DECODERS: Mapping[str, Callable[[np.ndarray, np.ndarray], None]] = MappingProxyType(
    {
        "F16": _f16,
        "BF16": _bf16,
        "Q4_0": _q4_0,
        "Q4_1": _q4_1,
        "Q5_0": _q5_0,
        "Q5_1": _q5_1,
        "Q8_0": _q8_0,
    }
)
"""Storage types that are decoded here: blocks (n_blocks, n_bytes) into out (n_blocks, n_numbers)."""


def _by_package(name: str) -> Callable[[np.ndarray, np.ndarray], None]:
    from gguf import GGMLQuantizationType, quants

    kind = GGMLQuantizationType[name]

    def turn(blocks: np.ndarray, out: np.ndarray) -> None:
        out[...] = quants.dequantize(blocks.reshape(-1), kind).reshape(out.shape)

    return turn
