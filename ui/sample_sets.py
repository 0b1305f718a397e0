"""The sets of samples that can be chosen: those that come with the program, and those that were imported."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QObject, Signal

from kav.regression.rules import rule_of_thumb
from kav.regression.samples import BUILT_IN, Samples

from .session import Session

FINE, COARSE = 0.002, 0.25  # a bandwidth between these shares of the range of x still says something about it
MOST_KEPT = 8  # imported sets


class SampleSets(QObject):
    """Remembers imported sets and shows any of them with a query and a bandwidth that suit it.

    Signals
    -------
    changed() : a set was added.
    """

    changed = Signal()

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._imported: list[Samples] = []

    def options(self) -> list[tuple[object, str]]:
        """Return names and titles: imported sets first; the one on screen as it is now, called edited if it was."""
        current = self._session.document.samples
        sets = [*reversed(self._imported), *BUILT_IN]
        if current.name not in {samples.name for samples in sets}:
            sets.insert(0, current)
        edited = current.titled(f"{current.name}, edited")
        return [(one.name, edited if one.name == current.name and one is not current else one.title) for one in sets]

    def add(self, samples: Samples) -> None:
        """Keep an imported set and show it; one of the same name is replaced."""
        kept = [one for one in self._imported if one.name != samples.name]
        self._imported = [*kept[1 - MOST_KEPT :], samples]
        self.show(samples, "import samples")
        self.changed.emit()

    def choose(self, name: str) -> None:
        """Show a set by its name, as it was before anybody dragged in it."""
        chosen = next((one for one in (*self._imported, *BUILT_IN) if one.name == name), None)
        if chosen is not None:
            self.show(chosen, "choose samples")

    def show(self, samples: Samples, text: str) -> None:
        """Show samples in one undo step; the query stays if it lies among them, the bandwidth if it suits them."""
        document = self._session.document
        low, high = float(np.min(samples.x)), float(np.max(samples.x))
        x_query = None if low <= document.x_query <= high else float(np.median(samples.x))
        suits = FINE * (high - low) <= document.h <= COARSE * (high - low)
        h = None if suits else rule_of_thumb(samples.x, document.kernel)
        self._session.set_samples(samples, text=text, h=h, x_query=x_query)
        self._session.select_sample(None)
