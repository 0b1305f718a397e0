"""What a person can change in the regression scene, as the session's own methods; each step can be taken back."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from kav.errors import KavError
from kav.regression.samples import Samples

from .document import Document

if TYPE_CHECKING:
    from PySide6.QtCore import SignalInstance

    from .looking import Place


class RegressionChanges:
    """The part of `Session` about samples, kernel, bandwidth and query; it only builds new documents."""

    document: Document
    place: Place
    problemRaised: SignalInstance
    _scaled: tuple[object, Samples] | None = None

    def _change(self, document: Document, text: str, merge: Hashable = None) -> None:
        raise NotImplementedError  # the session's

    def select_sample(self, index: int | None) -> None:
        """Select a sample of the regression scene."""
        raise NotImplementedError  # the session's

    def set_samples(
        self, samples: Samples, *, text: str = "samples", merge: Hashable = None, **fresh: float | None
    ) -> None:
        """Show other samples, with a fresh `h` or `x_query` if given; scales of their weights are forgotten."""
        new = {name: value for name, value in fresh.items() if value is not None}
        self._change(replace(self.document, samples=samples, doses=(), responses=(), **new), text, merge)

    def move_sample(self, index: int, x: float, y: float, merge: Hashable = None) -> None:
        """Move one sample; where it is put is its response, whatever scaled it before."""
        moved = self.document.samples.moved(index, x, y)
        responses = _without(self.document.responses, index)
        self._change(replace(self.document, samples=moved, responses=responses), "move sample", merge)

    def add_sample(self, x: float, y: float) -> None:
        """Add a sample and select it."""
        samples = self.document.samples.added(x, y)
        self._change(replace(self.document, samples=samples), "add sample")
        self.select_sample(samples.n - 1)

    def remove_sample(self, index: int) -> None:
        """Remove a sample; the last one stays, a fit needs one.

        A refusal is announced through `problemRaised`.
        """
        if self.document.samples.n <= 1:
            self.problemRaised.emit(KavError("the last sample cannot be removed", "add another one first"))
            return
        self.place = replace(self.place, sample=None)
        doses, responses = (
            tuple((i - (i > index), scale) for i, scale in _without(scales, index))
            for scales in (self.document.doses, self.document.responses)
        )
        samples = self.document.samples.removed(index)
        self._change(replace(self.document, samples=samples, doses=doses, responses=responses), "delete sample")

    def set_kernel(self, kernel: str) -> None:
        """Swap the kernel of the regression scene."""
        self._change(replace(self.document, kernel=kernel), "kernel")

    def set_h(self, h: float, merge: Hashable = None) -> None:
        """Set the bandwidth; whoever types it has checked it with `kav.regression`."""
        self._change(replace(self.document, h=h), "bandwidth", merge)

    def set_x_query(self, x: float, merge: Hashable = None) -> None:
        """Move the query of the regression scene."""
        self._change(replace(self.document, x_query=x), "move query", merge)

    def set_sample_dose(self, index: int, dose: float, merge: Hashable = None) -> None:
        """Scale one sample's kernel weight; 1 = as it is."""
        self._change(replace(self.document, doses=_with(self.document.doses, index, dose)), "scale sample", merge)

    def set_sample_response(self, index: int, scale: float, merge: Hashable = None) -> None:
        """Scale one sample's response; 1 = as it is."""
        responses = _with(self.document.responses, index, scale)
        self._change(replace(self.document, responses=responses), "scale response", merge)

    def scaled(self) -> Samples:
        """Return the samples with their responses scaled; the same set as long as neither changes."""
        samples, responses = self.document.samples, self.document.responses
        key = (samples, responses)
        if self._scaled is None or self._scaled[0] != key:
            shown = samples
            for index, scale in responses:
                if index < samples.n:
                    x, y = samples.pair(index)
                    shown = shown.moved(index, x, scale * y)
            self._scaled = key, shown
        return self._scaled[1]


_Scales = tuple[tuple[int, float], ...]


def _without(scales: _Scales, index: int) -> _Scales:
    return tuple((i, scale) for i, scale in scales if i != index)


def _with(scales: _Scales, index: int, scale: float) -> _Scales:
    """The scales with that of one sample, the last; a scale of 1 is none."""
    kept = _without(scales, index)
    return kept if scale == 1.0 else (*kept, (index, scale))
