"""One row of a formula card: what a panel computes, with shapes and the numbers on screen."""

from __future__ import annotations

from dataclasses import dataclass

from kav.views.words import Reading


@dataclass(frozen=True)
class FormulaRow:
    """A formula at the left, its shape and value at the right.

    `shape` names the sizes in the order of the factors, "(14, 32) · (32,)"; rows convention, as everywhere.
    """

    formula: Reading
    shape: str = ""
    value: str = ""
    rule_above: bool = False


def shape(*sizes: int) -> str:
    """Return a shape as Python writes it: "(14,)", "(14, 32)"."""
    return str(tuple(sizes))
