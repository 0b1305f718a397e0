"""The runs of the model that the window shows: one without edits, one with them. Pure; done by the engine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from kav.model.edits import Edit
from kav.model.prompt_size import check_prompt
from kav.model.trace import Trace, run
from kav.task import Task
from kav.views.so_far import FirstLayers, teller

from .document import fits


@dataclass(frozen=True, eq=False)
class Runs:
    """The unedited run of one prompt, and the edited one while there are edits."""

    prompt: str
    bos: bool | None
    edits: tuple[Edit, ...]
    base: Trace
    edited: Trace | None
    seconds: float = 0.0  # of the last model run

    def is_of(self, model: Any) -> bool:
        """Return whether these are runs of a model, on its own device or on the CPU after that failed."""
        return model is not None and any(self.base.model is one for one in (model, model.fallback.on_cpu))

    @property
    def trace(self) -> Trace:
        """The run that the panels show."""
        return self.base if self.edited is None else self.edited


@dataclass(frozen=True)
class Wanted:
    """What to run: a prompt and edits; `unasked` = it may take no more than half of the free memory.

    `first_layers` is a run of the model's first layers alone, to start from where there is no other.
    """

    model: Any
    prompt: str
    edits: tuple[Edit, ...]
    bos: bool | None
    unasked: bool = True
    first_layers: FirstLayers | None = None


def run_prompt(wanted: Wanted, last: Runs | None, task: Task) -> Runs:
    """Return the runs of a prompt; what `last` already holds of the same model is reused, never computed again.

    Edits that name a position which the prompt does not have are left out. A run that takes long shows its layers as
    they are done.
    """
    model, prompt, edits, bos = wanted.model, wanted.prompt, wanted.edits, wanted.bos
    if last is not None and not last.is_of(model):
        last = None
    known = last is not None and (last.prompt, last.bos) == (prompt, bos)
    tokens = last.base.tokens if known else model.encode(prompt, bos)
    if wanted.unasked:
        check_prompt(model, tokens)
    task.report(0.0, f"{len(tokens.ids):,} tokens through {model.config.n_layers} layers")
    start, first = time.perf_counter(), wanted.first_layers if last is None else None
    if first is not None:
        start -= first.seconds
    earlier = last.base if last is not None else None if first is None else first.trace
    base = last.base if known else run(model, tokens, base=earlier, task=task, so_far=teller(task.show))
    fitting = tuple(edit for edit in edits if fits(edit, len(tokens.ids)))
    if known and last.edits == fitting:
        return Runs(prompt, bos, fitting, base, last.edited, last.seconds)
    tell = teller(task.show)
    edited = run(model, tokens, edits=fitting, base=base, task=task, so_far=tell) if fitting else None
    seconds = last.seconds if known and edited is None else time.perf_counter() - start  # nothing ran
    return Runs(prompt, bos, fitting, base, edited, seconds)


def example_ids(d_vocab: int) -> str:
    """Return a prompt for a model without tokenizer: a few different ids, twice."""
    ids = [1 + (37 * i + 11) % max(d_vocab - 1, 1) for i in range(8)]
    return " ".join(str(min(i, d_vocab - 1)) for i in (*ids, *ids))


def is_ids(text: str, d_vocab: int) -> bool:
    """Return whether a text can be read as token ids."""
    words = [word.removeprefix("#") for word in text.replace(",", " ").split()]
    return bool(words) and all(word.isdecimal() and len(word) < 10 and int(word) < d_vocab for word in words)
