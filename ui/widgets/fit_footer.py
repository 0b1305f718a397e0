"""The controls under the hero: one row for the head scene, one for the regression scene."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from kav.errors import KavError
from kav.regression.baselines import BASELINES
from kav.regression.fit import checked_bandwidth
from kav.views.fit import Result
from kav.views.words import number

from .button import Button
from .card import Caption
from .combo import Combo
from .slider import Slider
from .value_field import ValueField

BETA_LOW, BETA_HIGH = 0.05, 50.0


def _row(owner: QWidget) -> QHBoxLayout:
    row = QHBoxLayout(owner)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(8)
    return row


class HeadFitFooter(QWidget):
    """Where the query moves, how far, and how sharp the head is.

    Signals
    -------
    towardsChosen(position), queryMoved(t), sharpnessMoved(beta), dragEnded().
    """

    towardsChosen = Signal(object)
    queryMoved = Signal(float)
    sharpnessMoved = Signal(float)
    dragEnded = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._towards_caption = Caption("query towards", self)
        self.towards = Combo(
            parent=self, name="fit.towards", label="query towards", tip="The token whose question the query moves to"
        )
        self.query = Slider(
            -0.25,
            1.25,
            self,
            default=0.0,
            name="fit.query",
            label="place of the query",
            tip="t: 0 = this token's query, 1 = the other's",
        )
        self.t = ValueField(self, name="fit.t", label="t", tip="How far the query has moved, no unit")
        self._beta_caption = Caption("sharpness β", self)
        self.sharpness = Slider(
            BETA_LOW,
            BETA_HIGH,
            self,
            default=1.0,
            log=True,
            neutral=True,
            name="fit.sharpness",
            label="sharpness β",
            tip="β multiplies the scores: 0 averages all keys, large values take the nearest",
        )
        self.beta = ValueField(
            self,
            name="fit.beta",
            label="sharpness β",
            tip="Inverse temperature, no unit",
            rule=_broken_beta,
            written=number,
        )
        self._arrange()

    def _arrange(self) -> None:
        row = _row(self)
        for widget in (self._towards_caption, self.towards, self.query, self.t):
            row.addWidget(widget)
        row.addSpacing(8)
        for widget in (self._beta_caption, self.sharpness, self.beta):
            row.addWidget(widget)
        row.addStretch(1)
        self.towards.changed.connect(self.towardsChosen)
        self.query.valueChanged.connect(self.queryMoved)
        self.query.released.connect(self.dragEnded)
        self.t.valueEntered.connect(self._on_t_entered)
        self.sharpness.valueChanged.connect(self._on_sharpness_changed)
        self.sharpness.released.connect(self.dragEnded)
        self.beta.valueEntered.connect(self._on_beta_entered)

    def set_compact(self, compact: bool) -> None:
        """Shorten the captions."""
        self._towards_caption.set_text("towards" if compact else "query towards")
        self._beta_caption.set_text("β" if compact else "sharpness β")

    def show_result(self, result: Result, query: int) -> None:
        """Show where the query is; a slider under the mouse keeps its own value."""
        others = [label for i, label in enumerate(result.labels) if i != query and label.position is not None]
        self.towards.set_options([(label.position, str(label)) for label in others])
        self.towards.set_current(result.towards)
        alone = "" if result.towards is not None else "The prompt has no other token to move towards"
        for control in (self.towards, self.query, self.t):
            control.set_available(alone)
        if not self.query.pressed:
            self.query.set_range(*result.query_range)
            self.query.set_value(result.query_at)
        if not self.t.hasFocus():
            self.t.set_value(result.query_at)
        if not self.sharpness.pressed:
            self.sharpness.set_value(result.beta)
        if not self.beta.hasFocus():
            self.beta.set_value(result.beta)

    def _on_sharpness_changed(self, beta: float) -> None:
        # The left end of a logarithmic slider stands for the limit: every key counts the same.
        beta = 0.0 if beta <= BETA_LOW * 1.001 else 1.0 if abs(beta - 1.0) < 0.03 else beta
        self.sharpnessMoved.emit(beta)

    def _on_t_entered(self, t: float) -> None:
        self.queryMoved.emit(t)
        self.dragEnded.emit()

    def _on_beta_entered(self, beta: float) -> None:
        self.sharpnessMoved.emit(beta)
        self.dragEnded.emit()


class RegressionFitFooter(QWidget):
    """The bandwidth, its best value, and what the fit is compared with.

    Signals
    -------
    bandwidthMoved(h), bandwidthRefused(message), dragEnded(), baselineChosen(name), weightsChosen(name).
    """

    bandwidthMoved = Signal(float)
    bandwidthRefused = Signal(str)
    dragEnded = Signal()
    baselineChosen = Signal(object)
    weightsChosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._loo_h: float | None = None
        self._compact = False
        self.slider = Slider(
            0.05,
            5.0,
            self,
            default=0.45,
            log=True,
            name="fit.bandwidth_slider",
            label="bandwidth h",
            tip="h, in units of x",
        )
        self.h = ValueField(
            self,
            name="fit.bandwidth",
            label="bandwidth h",
            tip="h, in units of x",
            rule=_broken_bandwidth,
            written=number,
        )
        self.loo = Button(
            "use LOO minimum", self, name="fit.loo", tip="The bandwidth with the smallest leave-one-out error"
        )
        self._weights_caption = Caption("weights", self)
        self.weights = Combo(
            [("normalised", "normalised"), ("raw", "raw")],
            self,
            width=104,
            name="fit.weights",
            label="weights",
            tip="Normalised weights sum to 1; raw ones are the kernel itself",
        )
        self._baseline_caption = Caption("baseline", self)
        names = [("none", "none"), *((name, words) for name, (words, _) in BASELINES.items())]
        self.baseline = Combo(
            names, self, width=96, name="fit.baseline", label="baseline", tip="Another estimate on the same data"
        )
        self._arrange()

    def _arrange(self) -> None:
        row = _row(self)
        for widget in (Caption("bandwidth h", self), self.slider, self.h, self.loo):
            row.addWidget(widget)
        row.addStretch(1)
        for widget in (self._weights_caption, self.weights, self._baseline_caption, self.baseline):
            row.addWidget(widget)
        self.slider.valueChanged.connect(self.bandwidthMoved)
        self.slider.released.connect(self.dragEnded)
        self.h.valueEntered.connect(self._on_h_entered)
        self.h.refused.connect(self.bandwidthRefused)
        self.loo.clicked.connect(self._on_loo_clicked)
        self.baseline.changed.connect(self.baselineChosen)
        self.weights.changed.connect(self.weightsChosen)

    def set_compact(self, compact: bool) -> None:
        """Keep the bandwidth and the baseline only."""
        for widget in (self._weights_caption, self.weights):
            widget.setVisible(not compact)
        self._compact = compact
        self.loo.setText(self._loo_text())

    def show_result(self, result: Result) -> None:
        """Show the bandwidth; a slider under the mouse keeps its own value, and so does a text that was refused."""
        low, high = result.query_range
        if result.h is not None and not self.slider.pressed:
            self.slider.set_range(0.005 * (high - low), 0.5 * (high - low), default=result.loo_h)
            self.slider.set_value(result.h)
        if result.h is not None and not self.h.hasFocus() and not self.h.property("wrong"):
            self.h.set_value(result.h)
        self._loo_h = result.loo_h
        self.loo.setText(self._loo_text())
        self.loo.set_available("" if result.loo_h is not None else "Leave-one-out needs at least two samples")

    def forgive(self) -> None:
        """Show the last good bandwidth again after a refusal."""
        self.h.set_value(self.h.value())

    def _loo_text(self) -> str:
        value = "" if self._loo_h is None else f" {number(self._loo_h)}"
        return f"LOO{value}" if self._compact else f"use LOO minimum{value}"

    def _on_h_entered(self, h: float) -> None:
        self.bandwidthMoved.emit(h)
        self.dragEnded.emit()

    def _on_loo_clicked(self) -> None:
        if self._loo_h is not None:
            self.forgive()
            self.bandwidthMoved.emit(self._loo_h)
            self.dragEnded.emit()


def _broken_bandwidth(h: float) -> str:
    try:
        checked_bandwidth(h)
    except KavError:
        return f"bandwidth h must be > 0, got {_typed(h)}"
    return ""


def _broken_beta(beta: float) -> str:
    return "" if beta >= 0 else f"sharpness β must be >= 0, got {_typed(beta)}"


def _typed(value: float) -> str:
    """A number as it was typed, without zeros that nobody wrote."""
    return f"{value:g}".replace("-", "−")
