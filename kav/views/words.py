"""The words and numbers of KAV: one formatter, one way to build a sentence with marks.

A reading line is a tuple of `Piece`; a token on screen is a `Label`. Both are plain data, so that the window, the
exports and the tests say exactly the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["", "query", "key", "target", "direct", "muted", "error"]
Mark = Literal["", "query", "key", "target", "direct", "rerun", "response", "weight", "curve", "kernel"]


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


def plain(reading: Reading) -> str:
    """Return the reading line as plain text, for tooltips, accessibility and exports."""
    return "".join(piece.text for piece in reading)


def number(value: float) -> str:
    """Return a number with three significant digits and a real minus sign."""
    raise NotImplementedError


def signed(value: float) -> str:
    """Return a number with three significant digits (at most two decimals) and always a sign: `+13.89`, `−0.56`."""
    raise NotImplementedError


def share(value: float) -> str:
    """Return a weight or probability with three decimals, `<0.001` below that."""
    raise NotImplementedError
