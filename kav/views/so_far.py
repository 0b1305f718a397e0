"""What is there of a run that takes a while: the heads of its first layers, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kav.model.trace import Trace
from kav.views.attention import Thumb
from kav.views.head.attention import layer_thumbs

SLOW = 4.0
"""Seconds from which a run is told about layer by layer: the heads of its layers take a tenth of its time."""


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
