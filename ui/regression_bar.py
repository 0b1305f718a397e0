"""The rows above the cards in the regression scene: samples, kernel, bandwidth, query, the rug and the prediction."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from kav.errors import KavError
from kav.regression.kernels import KERNELS
from kav.regression.rules import bandwidth_limits, typed_bandwidth
from kav.views.prompt import Result
from kav.views.words import number, plain

from .head_bar import LEAST
from .sample_sets import SampleSets
from .session import Session
from .widgets.combo import Combo
from .widgets.pill import Pill
from .widgets.reading_line import PredictsLine
from .widgets.rug import Rug
from .widgets.value_field import parse_number


class RegressionBar(QObject):
    """Owns the widgets; the prompt bar gives them their places."""

    def __init__(self, session: Session, sets: SampleSets, bar: QWidget) -> None:
        super().__init__(bar)
        self._session, self._sets = session, sets
        self._result: Result | None = None
        self.samples = Combo(
            sets.options(), bar, name="prompt.samples", label="samples", tip="built-in and imported samples", most=340
        )
        self.kernel = Pill("Kernel", bar, name="prompt.kernel", tip="the kernel of the fit", plain=True)
        self.bandwidth = Pill(
            "Bandwidth", bar, name="prompt.bandwidth", tip="bandwidth h, in units of x; type a number", plain=True
        )
        self.x_query = Pill(
            "Query", bar, role="query", name="prompt.xquery", tip="where the fit is asked; type a number"
        )
        self.sample = Pill("Key", bar, role="key", name="prompt.sample", tip="the selected sample", least=LEAST)
        self.rug = Rug(bar)
        self.predicts = PredictsLine(bar)
        self.pills = (self.kernel, self.bandwidth, self.x_query, self.sample)
        self._wire()

    def _wire(self) -> None:
        session = self._session
        self.samples.changed.connect(self._sets.choose)
        self.kernel.activated.connect(session.set_kernel)
        self.bandwidth.typed.connect(self._on_bandwidth_typed)
        self.x_query.typed.connect(self._on_x_query_typed)
        self.sample.opening.connect(self._offer_samples)
        self.sample.activated.connect(session.select_sample)
        self.rug.queryMoved.connect(self._on_rug_query_moved)
        self.rug.queryReleased.connect(session.end_drag)
        self.rug.keyRequested.connect(self._on_rug_key_requested)
        self.rug.placeRequested.connect(self._on_rug_place_requested)
        session.undo_stack.indexChanged.connect(self._update_sets)
        self._sets.changed.connect(self._update_sets)
        self._update_sets()

    def set_visible(self, visible: bool) -> None:
        """Show the widgets of the first row, or hide them; the second row is a stack."""
        for widget in (self.samples, *self.pills):
            widget.setVisible(visible)

    def show_result(self, result: Result) -> None:
        """Show the samples and what the fit predicts at the query."""
        self._result = result
        document = self._session.document
        if result.x is None:
            return
        self.rug.set_samples(
            result.x, result.weights, before=result.weights_before, x_range=result.x_range, columns=result.columns
        )
        self.rug.set_selection(result.x_query, result.key)
        self.predicts.set_reading(result.predicts)
        self.predicts.setToolTip("\n".join(filter(None, (plain(result.predicts), result.approximate))))
        self.kernel.set_options([(name, kernel.title) for name, kernel in KERNELS.items()])
        self.kernel.set_value(KERNELS[document.kernel].title, document.kernel)
        self.bandwidth.set_value(f"h = {number(document.h)}")
        self.x_query.set_value(result.query_text)
        self.sample.set_value(result.labels[result.key], result.labels[result.key].position)

    def _update_sets(self) -> None:
        self.samples.set_options(self._sets.options())
        self.samples.set_current(self._session.document.samples.name)

    def _offer_samples(self) -> None:
        """Fill the list of samples: all of few, those near the query of many."""
        if self._result is not None:
            labels = self._result.labels
            self.sample.set_options([(label.position, f"{label.position}  {label.text}") for label in labels])

    def _on_bandwidth_typed(self, text: str) -> None:
        try:
            limits = bandwidth_limits(self._session.document.samples.x)
            self._session.set_h(typed_bandwidth(_typed(text, "bandwidth h"), limits))
        except KavError as error:
            self._session.problemRaised.emit(error)

    def _on_x_query_typed(self, text: str) -> None:
        try:
            self._session.set_x_query(_typed(text, "query x"))
        except KavError as error:
            self._session.problemRaised.emit(error)

    def _on_rug_query_moved(self, x: float) -> None:
        self._session.set_x_query(x, merge="query")

    def _on_rug_key_requested(self, entry: int) -> None:
        if self._result is not None and entry < len(self._result.labels):
            self._session.select_sample(self._result.labels[entry].position)

    def _on_rug_place_requested(self, x: float) -> None:
        self._session.select_sample(int(np.argmin(np.abs(self._session.document.samples.x - x))))


def _typed(text: str, what: str) -> float:
    value = parse_number(text.removeprefix("x =").removeprefix("h ="))
    if value is None:
        raise KavError(f"{what} must be a number, got {text!r}", "write it like 0.45")
    return value
