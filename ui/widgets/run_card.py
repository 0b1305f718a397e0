"""What runs, how long it will take, and the heads of the layers that are done, over the bottom of the window."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from kav.views.attention import Thumb
from kav.views.words import share

from ..painting import guarded
from ..theme import current
from .button import Button
from .drawing import box
from .mosaic import Mosaic
from .painted import write
from .shading import draw_pixels, levels_of, picture
from .states import ProgressLine, Words

HEADS = 196  # height of the heads
PICTURE = 150  # side of the chosen head's picture
WIDEST, SIDE = 720, 16


class HeadPicture(QWidget):
    """The chosen head's pattern, queries down and keys across."""

    def __init__(self, parent: QWidget, *, name: str) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self._thumb: Thumb | None = None
        self.setFixedSize(PICTURE + 8, HEADS)

    def set_thumb(self, thumb: Thumb | None) -> None:
        """Show a head."""
        self._thumb = thumb
        self.setAccessibleName("" if thumb is None else f"head {thumb.layer}.{thumb.head}, {thumb.role}")
        self.update()

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        thumb = self._thumb
        if thumb is None:
            return
        write(painter, QRectF(0, 2, PICTURE, 16), f"{thumb.layer}.{thumb.head}", weight=600, color="ink")
        words = "no single pattern" if thumb.role == "mixed" else f"{thumb.role} {share(thumb.score)}"
        write(painter, QRectF(0, 2, PICTURE, 16), words, px=11, side="right")
        place = QRectF(0, 22, PICTURE, PICTURE)
        draw_pixels(painter, place, picture(levels_of(thumb.cells.clip(0) ** 0.7, False)))
        painter.setPen(QColor(current().border))
        painter.drawRect(place)
        write(painter, QRectF(0, 24 + PICTURE, PICTURE, 16), "queries ↓  keys →", px=10, color="muted")


class RunCard(QFrame):
    """One line with Cancel; below it, if wanted, the heads of the first layers and the one that is chosen.

    `what` says what Cancel does.

    Signals
    -------
    cancelRequested(). resized() : the heads are shown, or no more.
    """

    cancelRequested = Signal()
    resized = Signal()

    def __init__(self, parent: QWidget, *, name: str, what: str) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self._thumbs: tuple[tuple[Thumb, ...], ...] = ()
        self._chosen: tuple[int, int] | None = None
        self._open = False
        self._text = Words(self, px=13, weight=500, color="ink")
        self._text.setWordWrap(False)
        self.heads_button = Button("Heads so far", self, name=f"{name}.heads", tip="show the layers that are done")
        self.cancel = Button("Cancel", self, name=f"{name}.cancel", tip=f"{what} (Esc)", flat=True)
        self.line = ProgressLine(self, name=f"{name}.progress")
        self.mosaic = Mosaic(self, name=f"{name}.mosaic")
        self.mosaic.setFixedHeight(HEADS)
        self.mosaic.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.head = HeadPicture(self, name=f"{name}.head")
        self._build()
        self.cancel.clicked.connect(self.cancelRequested)
        self.heads_button.clicked.connect(self._on_heads_clicked)
        self.mosaic.headRequested.connect(self._on_mosaic_head_requested)
        self._show_parts()

    def _build(self) -> None:
        top, below = QHBoxLayout(), QHBoxLayout()
        top.setSpacing(12)
        top.addWidget(self._text, 1)
        top.addWidget(self.heads_button)
        top.addWidget(self.cancel)
        below.setSpacing(12)
        below.addWidget(self.mosaic, 1, Qt.AlignmentFlag.AlignTop)
        below.addWidget(self.head, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 6, 8, 8)
        column.setSpacing(6)
        column.addLayout(top)
        column.addWidget(self.line)
        column.addLayout(below)

    def begin(self, text: str, *, heads: bool = False) -> None:
        """Say what begins; the heads of its layers follow, folded away unless they are asked for."""
        self._thumbs, self._chosen = (), None
        self._open = self._open or heads
        self.say(text, 0.0)
        self._show_parts()

    def say(self, text: str, fraction: float) -> None:
        """Say how far it is."""
        self._text.setText(text)
        self.setAccessibleName(text)
        self.line.set_fraction(fraction)

    def show_heads(self, thumbs: tuple[tuple[Thumb, ...], ...], n_layers: int) -> None:
        """Show the heads of the layers that are done, ``[layer][head]``; the places of the others stay empty."""
        self._thumbs = thumbs + ((),) * (n_layers - len(thumbs))
        self._show_parts()

    def stand_on(self, floor: int) -> None:
        """Take the place in the middle of the window that ends at a height."""
        window = self.parentWidget()
        width = min(WIDEST, window.width() - 2 * SIDE)
        self.setFixedWidth(width)
        self.layout().activate()
        height = self.layout().sizeHint().height()
        self.setGeometry((window.width() - width) // 2, floor - height, width, height)
        self.raise_()

    def text(self) -> str:
        """Return what is said."""
        return self._text.text()

    def _show_parts(self) -> None:
        self.heads_button.setVisible(bool(self._thumbs))
        self.heads_button.setText("Hide the heads" if self._open else "Heads so far")
        shown = self._open and bool(self._thumbs)
        changed = shown == self.mosaic.isHidden()
        self.mosaic.setVisible(shown)
        self.head.setVisible(shown)
        if shown:
            layer, head = self._chosen or (0, 0)
            thumb = self._thumbs[layer][head]
            self.mosaic.set_thumbs(self._thumbs, layer, head)
            self.mosaic.set_caption(thumb.role, "on the tokens so far")
            self.head.set_thumb(thumb)
        if changed:
            self.resized.emit()

    def _on_heads_clicked(self) -> None:
        self._open = not self._open
        self._show_parts()

    def _on_mosaic_head_requested(self, layer: int, head: int) -> None:
        if head < len(self._thumbs[layer]):
            self._chosen = (layer, head)
            self._show_parts()

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        box(painter, QRectF(self.rect()), fill=current().panel, border=current().ctrl, radius=8)
