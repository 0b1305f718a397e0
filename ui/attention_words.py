"""What stands beside the matrix of attention: the ends of its colour bar, and the rows of the inspector on a cell."""

from __future__ import annotations

import math

from kav.views import attention
from kav.views.shading import DECADES
from kav.views.words import Label, number, share, signed

from .widgets.color_bar import level_text

UNITS = {"logits": "logits", "|message|": "length", "score": "score"}  # at the upper end of the colour bar


def bar_ends(result: attention.Result) -> tuple[str, str, str]:
    """Return what stands at both ends of the colour bar, and what its tooltip adds.

    By rank colours are no values; a logarithmic scale ends, or turns white, some powers of ten below its top.
    """
    if result.shading == "rank":
        ends = ("−", "+ rank in row") if result.diverging else ("lowest", "highest in row")
        return *ends, "by their rank within the row"
    low, high = (level_text(value, result.diverging) for value in result.levels)
    high = f"{high} {UNITS.get(result.unit, '')}".strip()
    if result.shading != "log":
        return low, high, ""
    least = number(result.levels[1] / 10**DECADES)
    white = f"logarithmic, white up to {least}"
    return low if result.diverging else f"≤ {least}", f"{high}, log", white


def cell_rows(result: attention.Result, row: int, column: int) -> tuple[tuple[str, str, str], ...]:
    """Return what the inspector says about a cell: query, key, score, weight, and the value that is shown."""
    place = result.place(row, column)
    score, weight = float(result.scores[place]), float(result.weights[place])
    masked = math.isinf(score) and score < 0
    rows = [
        ("query", _exact(result.query_labels[row]), ""),
        ("key", _exact(result.key_labels[column]), ""),
        ("", "score", "masked" if masked else number(score)),
        ("", "weight", "none" if masked else share(weight)),
    ]
    value = float(result.values[place])
    if not masked and not math.isclose(value, weight) and result.unit != "score":
        rows.append(("", result.unit or "weight × response", signed(value) if result.diverging else number(value)))
    if result.n_pooled > 1:
        word = "strongest" if result.diverging else "largest"
        rows.append(("", f"the {word} of {result.n_pooled} × {result.n_pooled} cells here", ""))
    return tuple(rows)


def _exact(label: Label) -> str:
    return f"{label}  {label.exact}" if label.exact else str(label)
