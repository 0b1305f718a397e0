"""The next tokens: what the model predicts at the query, each with its probability as a bar."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from kav.views.predictions import Prediction
from kav.views.words import share

from ..marks import mark_width, paint_mark
from ..painting import guarded
from ..theme import current, font
from .control import Control
from .drawing import baseline, box, draw_text, focus_ring, shown, text_width
from .runs import MARK_R

HEIGHT, GAP, INNER, WIDTH = 42, 11, 10, 324


class PredictionsBar(Control):
    """As many predictions as fit, the target always among them. A click, or arrows, asks for a target."""

    targetRequested = Signal(int)

    def __init__(self, parent: QWidget | None = None, *, name: str = "prompt.predictions") -> None:
        tip = "click a prediction to make it the target"
        super().__init__(parent, name=name, label="next tokens", tip=tip)
        self._predictions: tuple[Prediction, ...] = ()
        self._shown: list[tuple[Prediction, QRectF]] = []
        self._compact = False
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_predictions(self, predictions: Sequence[Prediction]) -> None:
        """Show these predictions, most probable first."""
        self._predictions = tuple(predictions)
        words = [f"{p.label.text} {share(p.probability)}" for p in self._predictions[:3]]
        self.setAccessibleDescription(", ".join(words))
        self._layout()

    def set_compact(self, compact: bool) -> None:
        """Show two predictions and no caption, or as many as fit."""
        self._compact = compact
        self._layout()

    def visible_tokens(self) -> list[int]:
        """Return the tokens shown, from left to right."""
        return [prediction.token for prediction, _ in self._shown]

    def rect_of(self, token: int) -> QRectF:
        """Return where a token is drawn, in pixels; an empty rectangle if it is not."""
        return next((rect for prediction, rect in self._shown if prediction.token == token), QRectF())

    def _start(self) -> float:
        return 0.0 if self._compact else round(text_width("Next", font(12))) + 12.0

    def _natural(self, prediction: Prediction) -> float:
        """Return the width a prediction needs."""
        mark = mark_width("target", MARK_R) + 5 if prediction.is_target else 0.0
        name = min(text_width(shown(prediction.label.text), _font(prediction)), 110.0)
        return mark + name + INNER + text_width(share(prediction.probability), font(12))

    def _layout(self) -> None:
        """Choose what fits, the target included, and spread what room is left."""
        room = self.width() - self._start()
        target = next((p for p in self._predictions if p.is_target), None)
        chosen: list[Prediction] = []
        for prediction in self._predictions[: 2 if self._compact else None]:
            trial = [*chosen, prediction]
            wanted = trial if target is None or target in trial else [*trial, target]
            if chosen and sum(self._natural(p) + GAP for p in wanted) - GAP > room:
                break
            chosen = trial
        if target is not None and target not in chosen:
            chosen = [*chosen[: 1 if self._compact else len(chosen)], target]
        widths = [self._natural(p) for p in chosen]
        spare = max(room - sum(widths) - GAP * (len(widths) - 1), 0.0) / max(len(widths), 1)
        self._shown, x = [], self._start()
        for prediction, width in zip(chosen, widths, strict=True):
            self._shown.append((prediction, QRectF(x, 6, width + spare, HEIGHT - 6)))
            x += width + spare + GAP
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(216 if self._compact else WIDTH, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, HEIGHT)

    def resizeEvent(self, event: object) -> None:
        self._layout()

    def _at(self, x: float) -> Prediction | None:
        return next((p for p, rect in self._shown if rect.left() <= x < rect.right()), None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        prediction = self._at(event.position().x())
        if prediction is not None and event.button() == Qt.MouseButton.LeftButton:
            self.targetRequested.emit(prediction.token)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        prediction = self._at(event.position().x())
        if prediction is not None:
            exact = prediction.label.exact or prediction.label.text
            text = f"{exact}, probability {prediction.probability:.4g}, logit {prediction.logit:.4g}"
            QToolTip.showText(event.globalPosition().toPoint(), text, self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        tokens = [prediction.token for prediction in self._predictions]
        at = next((i for i, prediction in enumerate(self._predictions) if prediction.is_target), -1)
        if not step or not 0 <= at + step < len(tokens):
            return super().keyPressEvent(event)
        return self.targetRequested.emit(tokens[at + step])

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        base = baseline(22.5, font(13))
        if not self._compact:
            draw_text(painter, 0, base, "Next", font(12), theme.muted)
        for prediction, rect in self._shown:
            self._paint_one(painter, prediction, rect, base)
        if self.ringed:
            focus_ring(painter, QRectF(self.rect()))

    def _paint_one(self, painter: QPainter, prediction: Prediction, rect: QRectF, base: float) -> None:
        theme = current()
        x, text, f = rect.left(), share(prediction.probability), _font(prediction)
        if prediction.is_target:
            width = mark_width("target", MARK_R)
            paint_mark(painter, "target", x + width / 2, 22.5, MARK_R)
            x += width + 5
        right = rect.right() - text_width(text, font(12))
        name = QFontMetricsF(f).elidedText(shown(prediction.label.text), Qt.TextElideMode.ElideRight, right - x - 4)
        draw_text(painter, x, base, name, f, theme.ink)
        draw_text(painter, right, base, text, font(12), theme.text2)
        track = QRectF(rect.left(), 33, rect.width(), 4)
        box(painter, track, fill=theme.border, radius=2)
        bar = QRectF(track.left(), track.top(), max(track.width() * prediction.probability, 2.5), 4)
        box(painter, bar, fill=theme.target if prediction.is_target else theme.ctrl, radius=2)
        if prediction.before is not None and abs(prediction.before - prediction.probability) >= 0.0005:
            width = max(track.width() * prediction.before, 4.0)
            outline = QRectF(track.left() - 1, track.top() - 1, width + 2, 6)
            box(painter, outline, fill="transparent", border=theme.editedink, radius=3, width=1.2)


def _font(prediction: Prediction) -> QFont:
    return font(13, 600 if prediction.is_target else 400)
