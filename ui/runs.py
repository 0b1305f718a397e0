"""The runs of the model that the window shows: one without edits, one with them. Pure; done by the engine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import kav
from kav.model.edits import Edit
from kav.model.trace import Trace
from kav.task import Task

from .document import fits


@dataclass(frozen=True, eq=False)
class Runs:
    """The unedited run of one prompt, and the edited one while there are edits."""

    prompt: str
    edits: tuple[Edit, ...]
    base: Trace
    edited: Trace | None
    seconds: float = 0.0  # of the last model run

    @property
    def trace(self) -> Trace:
        """The run that the panels show."""
        return self.base if self.edited is None else self.edited


def run_prompt(model: Any, prompt: str, edits: tuple[Edit, ...], last: Runs | None, task: Task) -> Runs:
    """Return the runs of `prompt`; what `last` already holds of the same model is reused, never computed again.

    Edits that name a position which the prompt does not have are left out.
    """
    start = time.perf_counter()
    same_model = last is not None and last.base.model is model
    if last is not None and same_model and last.prompt == prompt:
        base = last.base
    else:
        tokens = model.encode(prompt)
        task.report(0.1)
        base = kav.run(model, tokens, base=last.base if last is not None and same_model else None, task=task)
    task.report(0.5)
    fitting = tuple(edit for edit in edits if fits(edit, len(base.tokens.ids)))
    if last is not None and last.base is base and last.edits == fitting:
        return Runs(prompt, fitting, base, last.edited, last.seconds)
    edited = kav.run(model, base.tokens, edits=fitting, base=base, task=task) if fitting else None
    return Runs(prompt, fitting, base, edited, time.perf_counter() - start)
