"""Edits as a person writes and reads them: ``head 0.0 × 0.00``, on the command line and in the window's chip.

One line per kind of edit; `format_edit` and `parse_edit` are inverses up to the two decimals that are shown::

    head 0.0 × 0.00                          scale a head
    head 0.0 × 0.00 from mean at 3, 4        with a baseline, at some positions
    mlp 1 × 0.50                             scale an MLP
    head 1.1 β × 2.00                        inverse temperature of a head ("beta 1.1 x 2" is read too)
    edge 1.1 key 3 × 0.00 at 13              message of one source token, for one query
    mask 1.1 key 0, 3 at 13                  keys removed before the softmax
    score 1.1 query 13 key 3 = 1.50          one score
    query 1.1 at 13 towards 12 by 0.50       a token's query moved towards another's
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from kav.errors import KavError
from kav.model.edits import (
    Baseline,
    Edit,
    MaskKeys,
    MoveQuery,
    ScaleEdge,
    ScaleHead,
    ScaleMlp,
    SetScore,
    SetTemperature,
)

EXAMPLES = '"head 0.0 x 0", "mlp 1 x 0.5" or "beta 1.1 x 2"'

_NUMBER = r"[+−-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_PLACES = r"-?\d+(?:\s*,\s*-?\d+)*"
_HEAD = r"(?P<layer>\d+)\.(?P<head>\d+)"
_SCALE = rf"\s*[x×]\s*(?P<scale>{_NUMBER})"
_WHERE = rf"(?:\s+from\s+(?P<baseline>zero|mean|resample))?(?:\s+at\s+(?P<positions>{_PLACES}))?"
_AT = r"(?:\s+at\s+(?P<query>-?\d+))?"

Groups = dict[str, str | None]


def _int(groups: Groups, name: str) -> int:
    return int(groups[name] or "")


def _float(groups: Groups, name: str) -> float:
    return float((groups[name] or "").replace("−", "-"))


def _places(text: str | None) -> tuple[int, ...] | None:
    return None if text is None else tuple(int(place) for place in text.split(","))


def _baseline(groups: Groups) -> Baseline:
    return cast(Baseline, groups["baseline"] or "zero")


def _scale_head(g: Groups) -> Edit:
    where = _places(g["positions"])
    return ScaleHead(_int(g, "layer"), _int(g, "head"), _float(g, "scale"), _baseline(g), where)


def _scale_mlp(g: Groups) -> Edit:
    return ScaleMlp(_int(g, "layer"), _float(g, "scale"), _baseline(g), _places(g["positions"]))


def _set_temperature(g: Groups) -> Edit:
    beta = _float(g, "scale")
    if beta < 0:
        raise KavError(f"inverse temperature beta must be >= 0, got {beta:g}", "0 averages all visible tokens")
    return SetTemperature(_int(g, "layer"), _int(g, "head"), beta)


def _scale_edge(g: Groups) -> Edit:
    query = None if g["query"] is None else _int(g, "query")
    return ScaleEdge(_int(g, "layer"), _int(g, "head"), _int(g, "key"), _float(g, "scale"), query)


def _mask_keys(g: Groups) -> Edit:
    return MaskKeys(_int(g, "layer"), _int(g, "head"), _places(g["keys"]) or (), _places(g["positions"]))


def _set_score(g: Groups) -> Edit:
    return SetScore(_int(g, "layer"), _int(g, "head"), _int(g, "query"), _int(g, "key"), _float(g, "scale"))


def _move_query(g: Groups) -> Edit:
    return MoveQuery(_int(g, "layer"), _int(g, "head"), _int(g, "query"), _int(g, "towards"), _float(g, "scale"))


_KINDS: tuple[tuple[str, Callable[[Groups], Edit]], ...] = (
    (rf"head\s+{_HEAD}{_SCALE}{_WHERE}", _scale_head),
    (rf"mlp\s+(?P<layer>\d+){_SCALE}{_WHERE}", _scale_mlp),
    (rf"head\s+{_HEAD}\s+(?:β|beta){_SCALE}", _set_temperature),
    (rf"beta\s+{_HEAD}{_SCALE}", _set_temperature),
    (rf"edge\s+{_HEAD}\s+key\s+(?P<key>-?\d+){_SCALE}{_AT}", _scale_edge),
    (rf"mask\s+{_HEAD}\s+key\s+(?P<keys>{_PLACES})(?:\s+at\s+(?P<positions>{_PLACES}))?", _mask_keys),
    (rf"score\s+{_HEAD}\s+query\s+(?P<query>-?\d+)\s+key\s+(?P<key>-?\d+)\s*=\s*(?P<scale>{_NUMBER})", _set_score),
    (
        rf"query\s+{_HEAD}\s+at\s+(?P<query>-?\d+)\s+towards\s+(?P<towards>-?\d+)\s+by\s+(?P<scale>{_NUMBER})",
        _move_query,
    ),
)


def parse_edit(text: str) -> Edit:
    """Return the edit that a text such as ``head 0.0 x 0`` describes.

    Parameters
    ----------
    text : str
        One of the forms in the module's table; "x" serves for "×", and case and extra spaces do not matter.

    Raises
    ------
    KavError
        If the text is none of them.
    """
    for pattern, build in _KINDS:
        found = re.fullmatch(pattern, text.strip(), re.IGNORECASE)
        if found:
            return build({name: value and value.lower() for name, value in found.groupdict().items()})
    raise KavError(f"edit must read like {EXAMPLES}, got {text!r}")


def _number(value: float) -> str:
    """Two decimals and a real minus sign, as every scale on screen; never a negative zero."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def _at(places: tuple[int, ...] | None) -> str:
    return "" if places is None else " at " + ", ".join(str(place) for place in places)


def _from(baseline: str) -> str:
    return "" if baseline == "zero" else f" from {baseline}"


def format_edit(edit: Edit) -> str:
    """Return the edit as the window writes it, ``head 0.0 × 0.00``; `parse_edit` reads it back.

    Raises
    ------
    KavError
        If the edit is of no kind that has a text.
    """
    match edit:
        case ScaleHead(layer, head, scale, baseline, positions):
            return f"head {layer}.{head} × {_number(scale)}{_from(baseline)}{_at(positions)}"
        case ScaleMlp(layer, scale, baseline, positions):
            return f"mlp {layer} × {_number(scale)}{_from(baseline)}{_at(positions)}"
        case SetTemperature(layer, head, beta):
            return f"head {layer}.{head} β × {_number(beta)}"
        case ScaleEdge(layer, head, key, scale, query):
            return f"edge {layer}.{head} key {key} × {_number(scale)}{_at(None if query is None else (query,))}"
        case MaskKeys(layer, head, keys, queries):
            return f"mask {layer}.{head} key {', '.join(str(key) for key in keys)}{_at(queries)}"
        case SetScore(layer, head, query, key, value):
            return f"score {layer}.{head} query {query} key {key} = {_number(value)}"
        case MoveQuery(layer, head, query, towards, t):
            return f"query {layer}.{head} at {query} towards {towards} by {_number(t)}"
    raise KavError(f"edit must be of a kind that has a text, got {type(edit).__name__}")
