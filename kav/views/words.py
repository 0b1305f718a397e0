"""The words and numbers of KAV: one formatter, one way to build a sentence with marks.

A reading line is a tuple of `Piece`; a token on screen is a `Label`. Both are plain data, so that the window, the
exports and the tests say exactly the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, overload

Role = Literal["", "query", "key", "target", "direct", "muted", "error"]
Mark = Literal["", "query", "key", "target", "direct", "rerun", "response", "weight", "curve", "kernel"]

_GLYPHS = {"query": "▼", "key": "●", "target": "◆"}
SUPERSCRIPTS = str.maketrans("-.0123456789", "⁻·⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNDEFINED = "undefined"
_APART = 3
_CONSTANT = 0.15  # slopes below are overhead and noise


@dataclass(frozen=True)
class Piece:
    """A run of text in one colour role and weight, with a mark painted before it if there is one."""

    text: str
    role: Role = ""
    strong: bool = False
    mark: Mark = ""


Reading = tuple[Piece, ...]


@dataclass(frozen=True)
class Label:
    """A token as it is shown: position in small figures, then its text.

    `text` has no leading space; `joined` says it continues the word before; `exact` is the quoted exact string of the
    token, for tooltips and exports. position None = a vocabulary entry, not a place in the prompt.
    """

    text: str
    position: int | None = None
    joined: bool = False
    exact: str = ""

    @property
    def shown(self) -> str:
        """The text as labels print it: a piece that continues a word gets an ellipsis before it."""
        return f"…{self.text}" if self.joined else self.text

    def __str__(self) -> str:
        """Return position and text on one line: `7 music`."""
        return self.shown if self.position is None else f"{self.position} {self.shown}"


class MadeLabels(Sequence[Label]):
    """Labels that are made when they are asked for: of hundreds at every step of a drag a few are read.

    Parameters
    ----------
    n : int
    make : callable
        From an index below n to its label; always the same one.
    """

    def __init__(self, n: int, make: Callable[[int], Label]) -> None:
        self._places, self._make = range(n), make

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Label: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Label, ...]: ...

    def __getitem__(self, at: int | slice) -> Label | tuple[Label, ...]:
        if isinstance(at, slice):
            return tuple(self._make(place) for place in self._places[at])
        return self._make(self._places[at])


def token_pieces(label: Label, mark: Mark = "", role: Role = "") -> Reading:
    """Return a token inside a reading line: its mark, its position in muted figures, its text in weight 600."""
    if label.position is None:
        return (Piece(label.shown, role, strong=True, mark=mark),)
    return (Piece(f"{label.position} ", "muted", mark=mark), Piece(label.shown, role, strong=True))


def plain(reading: Reading) -> str:
    """Return the reading line as plain text with its marks, for tooltips, accessibility and exports."""
    return "".join(f"{_GLYPHS[piece.mark]} {piece.text}" if piece.mark in _GLYPHS else piece.text for piece in reading)


def fixed(value: float, decimals: int = 2) -> str:
    """Return a number with that many decimals and a real minus sign: a dose is `1.00`, a place `t = 0.00`."""
    text = f"{value:.{decimals}f}"
    if "0" <= text[0] <= "9":  # hundreds of labels at every step of a drag
        return text
    if math.isnan(value):
        return _UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return (text[1:] if float(text) == 0 and value <= 0 and text[0] == "-" else text).replace("-", "−")


def number(value: float, decimals: int = 0) -> str:
    """Return a number with three significant digits and a real minus sign.

    Powers of ten are written out below 0.001 and from 100,000 (`8·10⁻¹⁵`); between 0.1 and 1 a third digit that is
    zero is left out (`0.28`); NaN is "undefined".

    Parameters
    ----------
    value : float
    decimals : int
        How many there are at least, where numbers that differ by little lie far from 0: `1003.25`.
    """
    size = abs(value)
    if math.isnan(value) or math.isinf(value):
        return fixed(value)
    if size == 0:
        return "0"
    if size < 0.001 or size >= 99_950:
        return _power(value)
    needed = _decimals(size)
    if decimals > needed:
        return fixed(value, decimals)
    text = fixed(value, needed)
    return text[:-1] if needed > max(2, decimals) and text.endswith("0") else text


def _decimals(size: float) -> int:
    """How many decimals give three significant digits."""
    return max(0, 2 - math.floor(math.log10(float(f"{size:.2e}"))))


def _power(value: float) -> str:
    mantissa, _, exponent = (f"{value:.1e}" if abs(value) < 1 else f"{value:.2e}").partition("e")
    mantissa = mantissa.rstrip("0").removesuffix(".").replace("-", "−")
    return f"{mantissa}·10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def numbers(values: Sequence[float], decimals: int = 0, *, sign: bool = False) -> tuple[str, ...]:
    """Return numbers to be compared in one sentence, all with the decimals that suit the largest: 16.7, 5.0, −0.1.

    The first two look different if they are: up to `_APART` decimals are added for that, 25.312 and 25.309. All have
    at least so many `decimals`, and with `sign` always a sign.
    """
    sizes = [abs(value) for value in values if math.isfinite(value)]
    largest = max(sizes, default=0.0)
    if largest < 0.001 or largest >= 99_950:
        return tuple((signed if sign else number)(value, decimals) for value in values)
    least = max(min(_decimals(largest), 3), decimals)
    rounded = [tuple(fixed(value, places) for value in values) for places in range(least, least + _APART + 1)]
    n_apart = len(set(rounded[-1][:2]))
    texts = next(texts for texts in rounded if len(set(texts[:2])) == n_apart)
    return tuple(_with_sign(text) for text in texts) if sign else texts


def _with_sign(text: str) -> str:
    return text if text[0] in "−∞u" or not text.strip("0.") else f"+{text}"


def signed(value: float, decimals: int = 0) -> str:
    """Return a number as `number` does, always with a sign: `+13.9`, `−0.56`.

    What is smaller than 0.001, or than a tenth of the last of so many decimals, is `0.00`.
    """
    if abs(value) < 10.0 ** -(max(decimals, 2) + 1):
        return "0.00"
    return _with_sign(number(value, decimals))


def growth(slope: float) -> str:
    """Return how something grows with n, by its slope on log-log axes: `n²·⁸`, or "about constant" near 0."""
    if math.isnan(slope) or abs(slope) < _CONSTANT:
        return _UNDEFINED if math.isnan(slope) else "about constant"
    return "n" + f"{slope:.1f}".translate(SUPERSCRIPTS)


def share(value: float) -> str:
    """Return a weight or probability with three decimals, `<0.001` below that."""
    return "<0.001" if 0 < value < 0.001 else fixed(value, 3)


def was(text: str, now: str, *, within: bool = False) -> Reading:
    """Return what a number was before the edits, `, was +13.9`; nothing where it reads the same now.

    `within` puts it into brackets, `(was +13.9)`, beside the first of two numbers.
    """
    return () if text == now else (Piece(f" (was {text})" if within else f", was {text}", "muted"),)
