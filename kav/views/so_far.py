"""What is there of a run, or of a model being read, that takes a while: the heads of its first layers, and how long the
rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kav.errors import KavError
from kav.model.model import Model
from kav.model.trace import Trace, run
from kav.views.attention import Thumb
from kav.views.head.attention import layer_thumbs

SLOW = 4.0
"""Seconds from which a run, or the reading of a model, is told about: the heads of its layers take a tenth of a run's
time."""


@dataclass(frozen=True)
class SoFar:
    """The first layers of a run that goes on.

    Parameters
    ----------
    n_tokens, n_layers : int
        Of the whole run.
    thumbs : tuple of tuple of Thumb
        ``[layer][head]`` of the layers that are done.
    seconds_left : float
        If every layer takes as long as the last one.
    """

    n_tokens: int
    n_layers: int
    thumbs: tuple[tuple[Thumb, ...], ...]
    seconds_left: float

    @property
    def fraction(self) -> float:
        """How much of the run is done."""
        return len(self.thumbs) / self.n_layers

    def text(self) -> str:
        """Return what there is, in one line."""
        layers = "layer 0" if len(self.thumbs) == 1 else f"layers 0–{len(self.thumbs) - 1}"
        return f"{self.n_tokens:,} tokens: {layers} of {self.n_layers} so far, {time_left(self.seconds_left)}"


def time_left(seconds: float) -> str:
    """Return a time to wait in words that do not change with every layer."""
    if seconds < 8:
        return "a few seconds left"
    if seconds < 90:
        return f"about {5 * round(seconds / 5)} s left"
    return f"about {round(seconds / 60)} min left"


def teller(show: Callable[[SoFar], None], *, clock: Callable[[], float] = time.perf_counter) -> Callable[[Trace], None]:
    """Return what to give to `kav.run` as `so_far`: it shows the layers of a run that takes long.

    Parameters
    ----------
    show : callable
    clock : callable
        Seconds, from any beginning.
    """
    began = clock()
    thumbs: list[tuple[Thumb, ...]] = []

    def tell(trace: Trace) -> None:
        nonlocal began
        took, n_layers, n_done = clock() - began, trace.model.config.n_layers, len(trace.layers)
        if took * n_layers > SLOW or thumbs:
            thumbs.extend(layer_thumbs(trace, layer) for layer in range(len(thumbs), n_done))
            show(SoFar(trace.n_tokens, n_layers, tuple(thumbs), took * (n_layers - n_done)))
        began = clock()

    return tell


class FirstLayers:
    """Runs a prompt through the layers of a model that is being read, as they come; `open_model` takes it as `so_far`.

    Models that are read soon are not told about, and a prompt that would hold up the reading is left alone: so is one
    that the model refuses, which is said when the whole model runs it.

    Parameters
    ----------
    show : callable
    prompt : str
    bos : bool or None
        Whether a start token stands first, where the model has one.
    clock : callable
        Seconds, from any beginning.
    """

    def __init__(
        self,
        show: Callable[[SoFar], None],
        prompt: str,
        bos: bool | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.trace: Trace | None = None
        self.seconds = 0.0  # that its run has taken
        self._show, self._prompt, self._bos, self._clock = show, prompt, bos, clock
        self._thumbs: list[tuple[Thumb, ...]] = []
        self._given_up = False
        self._n_read = 0
        self._read_at = clock()

    def __call__(self, model: Model, n_layers: int) -> None:
        """Show the heads of the layers so far."""
        n_read, now = model.config.n_layers, self._clock()
        took = now - self._read_at
        each = took / (n_read - self._n_read)
        whole = each * n_layers if self._n_read else took  # before the first layers other things were read as well
        if not self._given_up and (self._thumbs or whole > SLOW):
            try:
                self.trace = self._run(model)
            except KavError:
                self._given_up = True
            else:
                self._show(SoFar(self.trace.n_tokens, n_layers, tuple(self._thumbs), each * (n_layers - n_read)))
                spent = self._clock() - now
                self.seconds += spent
                self._given_up = spent > took
        self._n_read, self._read_at = n_read, self._clock()

    def _run(self, model: Model) -> Trace:
        """One more step of the run: what is there of it is not run again."""
        tokens = model.encode(self._prompt, self._bos if model.has_start_token else None)
        trace = run(model, tokens, base=self.trace)
        self._thumbs.extend(layer_thumbs(trace, layer) for layer in range(len(self._thumbs), model.config.n_layers))
        return trace
