"""The runs of the model that the window shows: one without edits, one with them. Pure; done by the engine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from kav.model.edits import Edit
from kav.model.trace import Trace, run
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
    if last is not None and last.base.model is not model:
        last = None
    known = last is not None and last.prompt == prompt
    tokens = last.base.tokens if known else model.encode(prompt)
    task.report(0.1)
    start = time.perf_counter()
    base = last.base if known else run(model, tokens, base=last.base if last is not None else None, task=task)
    task.report(0.5)
    fitting = tuple(edit for edit in edits if fits(edit, len(tokens.ids)))
    if known and last.edits == fitting:
        return Runs(prompt, fitting, base, last.edited, last.seconds)
    edited = run(model, tokens, edits=fitting, base=base, task=task) if fitting else None
    return Runs(prompt, fitting, base, edited, time.perf_counter() - start)
