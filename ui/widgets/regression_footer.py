"""The controls under the hero in the regression scene: which of its three pictures, and what belongs to each."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from kav.errors import KavError
from kav.regression.baselines import BASELINES
from kav.regression.rules import typed_bandwidth
from kav.views.fit import Result
from kav.views.regression.exact import APPROXIMATE
from kav.views.words import number

from .button import Button, Check
from .caption import Caption
from .combo import Combo
from .fit_footer import row_of
from .overflow import Overflow
from .segmented import Segmented
from .slider import Slider
from .value_field import ValueField

PICTURES = (("fit", "fit"), ("h", "h"), ("cost", "cost"))
BASELINE_CHOICES = (("none", "none"), *((name, words) for name, (words, _) in BASELINES.items()), ("all", "all six"))
LOO_TIP = "LOO: the bandwidth with the smallest leave-one-out error"
RIGHT_END = 0.5  # of the slider, as a share of the range of x


class RegressionFitFooter(QWidget):
    """The picture, the bandwidth and its best value, and what the fit is compared with.

    Signals
    -------
    pictureChosen("fit" | "h" | "cost"), bandwidthMoved(h), bandwidthRefused(message), dragEnded(),
    baselineChosen(name), objectiveToggled(bool), measureRequested().
    """

    pictureChosen = Signal(str)
    bandwidthMoved = Signal(float)
    bandwidthRefused = Signal(str)
    dragEnded = Signal()
    baselineChosen = Signal(object)
    objectiveToggled = Signal(bool)
    measureRequested = Signal()

    def __init__(self, more: Overflow, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._more = more
        self._loo_h: float | None = None
        self._loo_exact = True
        self._h_limits = (0.0, math.inf)
        self._compact = self._short = self._bare = self._few = False
        self.picture = Segmented(
            PICTURES,
            self,
            name="fit.picture",
            label="picture",
            tip="The fit; h: the leave-one-out error over bandwidths; cost: what each method costs",
        )
        self._make_bandwidth()
        self._baseline_caption = Caption("baseline", self)
        self.baseline = Combo(
            BASELINE_CHOICES,
            self,
            width=96,
            name="fit.baseline",
            label="baseline",
            tip="Other estimates of the data; far end: how far f moves at its right end per unit of the left-most y",
        )
        self.measure = Button("Measure again", self, name="fit.measure", tip="Time the three methods on this machine")
        self._arrange()

    def _make_bandwidth(self) -> None:
        self._h_caption = Caption("h", self)
        self._h_caption.setToolTip("h: the bandwidth, in units of x")
        self.slider = Slider(
            0.05,
            5.0,
            self,
            default=0.45,
            log=True,
            name="fit.bandwidth_slider",
            label="bandwidth h",
            tip="h: the bandwidth, in units of x",
        )
        self.h = ValueField(
            self,
            name="fit.bandwidth",
            label="bandwidth h",
            tip="h: the bandwidth, in units of x",
            rule=self._broken_bandwidth,
            written=number,
        )
        self.loo = Button("use LOO minimum", self, name="fit.loo", tip=LOO_TIP)
        self.objective = Check(
            "L(c)",
            self,
            name="fit.objective_shown",
            tip="L(c): the local objective Σ K (yᵢ − c)², beside the plot; its minimum is the fit",
        )

    def _arrange(self) -> None:
        row = self.row = row_of(self)
        for widget in (self.picture, self._h_caption, self.slider, self.h):
            row.addWidget(widget)
        self._before_loo = row.count()
        row.addStretch(0)
        row.addWidget(self.loo)
        row.addStretch(1)
        for widget in (self.objective, self._baseline_caption, self.baseline, self.measure):
            row.addWidget(widget)
        self.picture.changed.connect(self._on_picture_changed)
        self.slider.valueChanged.connect(self.bandwidthMoved)
        self.slider.released.connect(self.dragEnded)
        self.h.valueEntered.connect(self._on_h_entered)
        self.h.refused.connect(self.bandwidthRefused)
        self.loo.clicked.connect(self._on_loo_clicked)
        self.objective.toggled.connect(self.objectiveToggled)
        self.baseline.changed.connect(self.baselineChosen)
        self.measure.clicked.connect(self.measureRequested)
        self._show_controls()

    def _show_controls(self) -> None:
        """Each picture has its own controls, as many as there is room for."""
        picture, fit = self.picture.current(), self.picture.current() == "fit"
        for widget in (self.slider, self.h):
            widget.setVisible(fit)
        self._h_caption.setVisible(fit and not self._bare)
        self.loo.setVisible(picture != "cost")
        self.row.setStretch(self._before_loo, int(picture == "h"))  # alone it stands at the right end
        self.row.setStretch(self._before_loo + 2, int(picture != "h"))
        for widget in (self.objective, self._baseline_caption, self.baseline):
            widget.setVisible(fit and not self._few)
        self.measure.setVisible(picture == "cost")
        held = fit and self._few and not self.isHidden()
        self._more.hold((self.objective, self.baseline) if held else ())

    def set_shown(self, shown: bool) -> None:
        """Show the footer, or hide it with what the "…" holds of it."""
        self.setVisible(shown)
        self._show_controls()

    def steps(self) -> tuple[Callable[[bool], None], ...]:
        """What gives way where the footer is narrow, in this order."""
        return self._shorten, self._strip, self._drop

    def _shorten(self, shorten: bool) -> None:
        """Say LOO instead of use LOO minimum."""
        self._short = shorten or self._compact
        self.loo.setText(self._loo_text())

    def _strip(self, strip: bool) -> None:
        """Leave the caption of the bandwidth out."""
        self._bare = strip or self._compact
        self._show_controls()

    def _drop(self, drop: bool) -> None:
        """Keep picture, bandwidth and its best value only."""
        self._few = drop or self._compact
        self._show_controls()

    def set_compact(self, compact: bool) -> None:
        """Do all that, whatever room there is."""
        self._compact = compact
        for step in self.steps():
            step(compact)

    def show_picture(self, picture: str) -> None:
        """Show the controls of another picture, without a signal."""
        self.picture.set_current(picture)
        self._show_controls()

    def show_result(self, result: Result) -> None:
        """Show the bandwidth; a slider under the mouse keeps its own value, and so does a text that was refused."""
        low, high = result.query_range
        if result.h is not None and not self.slider.pressed:
            reach = RIGHT_END * (high - low)
            self.slider.set_range(0.01 * reach, reach, default=result.loo_h)
            self.slider.set_value(result.h)
        if result.h is not None and not self.h.property("wrong"):
            self.h.follow(result.h)
        self._loo_h, self._h_limits = result.loo_h, result.h_limits or self._h_limits
        self._loo_exact = result.loo_exact
        self.loo.setText(self._loo_text())
        self.loo.setToolTip(LOO_TIP if result.loo_exact else f"{LOO_TIP}\n{result.approximate}")
        self.loo.set_available("" if result.loo_h is not None else "Leave-one-out needs at least two samples")

    def forgive(self) -> None:
        """Show the last good bandwidth again after a refusal."""
        self.h.set_value(self.h.value())

    def _loo_text(self) -> str:
        about = "" if self._loo_exact else f"{APPROXIMATE} "
        value = "" if self._loo_h is None else f" {about}{number(self._loo_h)}"
        return f"LOO{value}" if self._short else f"use LOO minimum{value}"

    def _on_picture_changed(self, picture: str) -> None:
        self._show_controls()
        self.pictureChosen.emit(picture)

    def _broken_bandwidth(self, h: float) -> str:
        try:
            typed_bandwidth(h, self._h_limits)
        except KavError as error:
            return error.message
        return ""

    def _on_h_entered(self, h: float) -> None:
        self.bandwidthMoved.emit(h)
        self.dragEnded.emit()

    def _on_loo_clicked(self) -> None:
        if self._loo_h is not None:
            self.forgive()
            self.bandwidthMoved.emit(self._loo_h)
            self.dragEnded.emit()
