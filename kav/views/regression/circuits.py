"""Circuits, regression scene: the fit written as an attention head, ``W_QK`` (3, 3) and ``W_OV`` (1, 1)."""

from __future__ import annotations

import numpy as np

from kav.regression.attention_form import FEATURES, attention_form, is_attention
from kav.regression.fit import fit
from kav.task import Task
from kav.views.circuits import Formula, Result, Spec
from kav.views.density import MOST_DOTS
from kav.views.regression.at_query import AtQuery, as_regression, at_query
from kav.views.words import Label, Piece, Reading, number

MOST_COMPARED = 300
"""Samples at which head and fit are compared; evenly spaced ones of more."""
MOST_SHOWN = 500
"""Samples of a large set on which they are."""


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the fit as a head, or why no head draws it; where the query is does not matter to it."""
    source = _source(spec)
    if last is not None and last.kind == "regression" and last.source == source:
        return last
    now = at_query(spec.scene)
    formula = _formula(now)
    shown = formula.W_OV if spec.circuit == "ov" else formula.W_QK
    known = bool(np.all(np.isfinite(shown)))
    query, key = FEATURES, ("1", "xᵢ", "xᵢ²")
    return Result(
        kind="regression",
        reading=_reading(now, formula),
        circuit=spec.circuit,
        space=spec.space,
        row_labels=(Label("y"),) if spec.circuit == "ov" else tuple(Label(name) for name in query),
        column_labels=(Label("out"),) if spec.circuit == "ov" else tuple(Label(name) for name in key),
        values=shown if known else None,
        level=float(np.max(np.abs(shown))) if known else 1.0,
        singular_values=np.linalg.svd(shown, compute_uv=False) if known else None,
        eigenvalues=np.linalg.eigvals(shown).astype(complex) if known else None,
        formula=formula,
        source=source,
    )


def _source(spec: Spec) -> tuple[object, ...]:
    """What the numbers are computed from: of many samples, the set before anything was dragged."""
    scene = as_regression(spec.scene)
    samples = scene.samples if scene.samples.n <= MOST_DOTS else scene.samples.root
    return samples, scene.kernel, scene.h, spec.circuit, spec.space


def _formula(now: AtQuery) -> Formula:
    kernel, h = now.kernel, now.scene.h
    if not is_attention(kernel.name):
        nothing = np.full((3, 3), np.nan)
        return Formula(False, _other_lines(now), nothing, np.ones((1, 1)), FEATURES, float("nan"))
    chosen = now.held
    if not now.whole:  # the identity holds for any samples: some hundreds evenly in rank show it
        chosen = now.prepared.ordered.samples(np.linspace(0, now.prepared.ordered.n - 1, MOST_SHOWN).astype(int))
    x, y = now.scene.samples.take(chosen)
    centre = float(np.mean(x)) if kernel.log_K is not None else 0.0
    form = attention_form(kernel.name, h, centre=centre)
    every = max(1, -(-x.size // MOST_COMPARED))
    places = np.sort(x)[::every]
    as_head = form.output(x, y, places)
    difference = np.abs(as_head - fit(x, y, places, h, kernel.name))
    lines = _gaussian_lines(now, centre) if kernel.log_K is not None else _DOT_LINES
    return Formula(True, lines, form.W_QK, form.W_OV, FEATURES, float(difference.max()))


def _gaussian_lines(now: AtQuery, centre: float) -> tuple[Reading, ...]:
    """Features and vectors; the score; what is moved; from where x is counted."""
    return (
        (
            Piece("features "),
            Piece("(1, x, x²)", strong=True),
            Piece("   "),
            Piece("q = (x/h, 1)", "query", strong=True),
            Piece("   "),
            Piece("k = (xᵢ/h, −xᵢ²/2h²)", "key", strong=True),
        ),
        (
            Piece("score "),
            Piece("q·k = x·xᵢ/h² − xᵢ²/2h²", strong=True),
            Piece("   exp of it is the Gaussian up to exp(x²/2h²)", "muted"),
        ),
        _MOVED,
        (Piece(f"x counted from the samples' mean {now.x_text(centre)}, which changes no weight", "muted"),),
    )


_MOVED: Reading = (Piece("the response: what is averaged is y itself", "muted"),)
_DOT_LINES: tuple[Reading, ...] = (
    (
        Piece("features "),
        Piece("(1, x, x²)", strong=True),
        Piece("   "),
        Piece("q = x/h", "query", strong=True),
        Piece("   "),
        Piece("k = xᵢ/h", "key", strong=True),
    ),
    (
        Piece("score "),
        Piece("q·k = x·xᵢ/h²", strong=True),
        Piece("   the Gaussian times exp(xᵢ²/2h²): far samples count more", "muted"),
    ),
    _MOVED,
)


def _other_lines(now: AtQuery) -> tuple[Reading, ...]:
    """Why this kernel is no head: its logarithm is not a product of query and key features."""
    where = " for |u| ≤ 1, else 0" if now.kernel.compact else ""
    return (
        (
            Piece("K(u) = "),
            Piece(now.kernel.formula, strong=True),
            Piece(f"{where}   u = (x − xᵢ)/h"),
        ),
        (Piece("log K(u) is no sum of products of 1, x, x² with 1, xᵢ, xᵢ²", "muted"),),
        _MOVED,
    )


def _reading(now: AtQuery, formula: Formula) -> Reading:
    name = now.kernel.in_words
    if not formula.exact:
        return (Piece(f"No attention head: the {name} kernel is not exp(bilinear)"),)
    article = "An" if name[0] in "aeiou" else "A"
    return (
        Piece(f"{article} {name} fit is an attention head: softmax over i, largest difference "),
        Piece(number(formula.difference), strong=True),
    )
