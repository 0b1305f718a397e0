"""The controls under the hero in the head scene."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from kav.views.fit import Result
from kav.views.words import Label, number

from .caption import Caption
from .combo import Combo
from .slider import Slider
from .value_field import ValueField

MANY = 200  # tokens from which the list is filled when it is opened
BETA_LOW, BETA_HIGH = 0.05, 50.0


def row_of(owner: QWidget) -> QHBoxLayout:
    """Return a new row of controls without margins."""
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
        self._compact = False
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
        row = self.row = row_of(self)
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

    def steps(self) -> tuple[Callable[[bool], None], ...]:
        """What gives way where the footer is narrow, in this order."""
        return (self._shorten,)

    def set_compact(self, compact: bool) -> None:
        """Shorten the captions, whatever room there is."""
        self._compact = compact
        self._shorten(compact)

    def _shorten(self, shorten: bool) -> None:
        short = shorten or self._compact
        self._towards_caption.set_text("towards" if short else "query towards")
        self._beta_caption.set_text("β" if short else "sharpness β")

    def show_result(self, result: Result, query: int) -> None:
        """Show where the query is; a slider under the mouse keeps its own value."""
        if result.towards is not None and len(result.labels) > MANY:
            here = (result.towards, str(result.labels[result.towards]))
            self.towards.set_long(here, partial(_others, result.labels, query))
        else:
            self.towards.set_options(_others(result.labels, query))
            self.towards.set_current(result.towards)
        alone = "" if result.towards is not None else "The prompt has no other token to move towards"
        for control in (self.towards, self.query, self.t):
            control.set_available(alone)
        if not self.query.pressed:
            self.query.set_range(*result.query_range)
            self.query.set_value(result.query_at)
        self.t.follow(result.query_at)
        if not self.sharpness.pressed:
            self.sharpness.set_value(result.beta)
        self.beta.follow(result.beta)

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


def _others(labels: tuple[Label, ...], query: int) -> list[tuple[object, str]]:
    found = (label for i, label in enumerate(labels) if i != query and label.position is not None)
    return [(label.position, str(label)) for label in found]


def _broken_beta(beta: float) -> str:
    return "" if beta >= 0 else f"sharpness β must be >= 0, got {typed(beta)}"


def typed(value: float) -> str:
    """A number as it was typed, without zeros that nobody wrote."""
    return f"{value:g}".replace("-", "−")
