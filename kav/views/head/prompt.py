"""Prompt bar, head scene: the tokens with the head's weights, what is selected, and the next tokens."""

from __future__ import annotations

import numpy as np

from kav.model.edit_text import format_edit
from kav.model.trace import Trace
from kav.task import Task
from kav.views.predictions import predictions, token_labels, vocabulary_label
from kav.views.prompt import Result, Spec
from kav.views.scene import Focus, as_head, resolve, towards_of
from kav.views.words import Label

NO_TARGET = Label("no predictions", None)
"""What stands for the target where a model has no output matrix."""


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the contents of the prompt bar."""
    scene = as_head(spec.scene)
    focus = resolve(scene)
    model = scene.base.model
    towards = towards_of(scene, focus)
    return Result(
        kind="head",
        labels=token_labels(scene.base),
        weights=_row(scene.trace, focus),
        weights_before=None if scene.before is None else _row(scene.before, focus),
        layer=focus.layer,
        head=focus.head,
        query=focus.query,
        key=focus.key,
        target=focus.target,
        foil=focus.foil,
        target_label=vocabulary_label(model, focus.target) if model.config.has_logits else NO_TARGET,
        foil_label=None if focus.foil is None else vocabulary_label(model, focus.foil),
        towards=focus.query if towards is None else towards,
        predictions=predictions(scene, focus, spec.n_predictions),
        edits_text=tuple(format_edit(edit) for edit in scene.edits),
    )


def _row(trace: Trace, focus: Focus) -> np.ndarray:
    return trace.pattern(focus.layer, focus.head, slice(focus.query, focus.query + 1))[0, :].astype(np.float64)
