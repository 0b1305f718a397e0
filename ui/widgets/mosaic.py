"""All heads at once: one small picture per head, layers across and heads down; the navigator of the model."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPaintEngine,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from kav.views.attention import Thumb

from ..painting import guarded, saved
from ..theme import current
from .mosaic_layout import CAPTION, EDGE, LINE, Tiles, arrange, wanted_width
from .mosaic_paint import paint_caption, paint_headings, paint_name, sheet
from .painted import STEPS, Painted
from .shading import draw_pixels


class Mosaic(Painted):
    """Thumbnails of every head's pattern.

    Signals
    -------
    headRequested(layer, head) : a click on a thumb, or the arrow keys.
    headHovered(layer, head) : the pointer is on another thumb; (-1, -1) when it left.
    """

    headRequested = Signal(int, int)
    headHovered = Signal(int, int)

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent, name=name, label="all heads")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self._thumbs: tuple[tuple[Thumb, ...], ...] = ()
        self._chosen = (0, 0)
        self._caption = ("", "")
        self._compact = False
        self._shift = QPointF()
        self._hovered = (-1, -1)
        self._pixmap: QPixmap | None = None
        self._painted: tuple[object, ...] | None = None
        self._sheets: dict[tuple[object, ...], QImage] = {}

    # --- data ----------------------------------------------------------------------------------------------------

    @property
    def n_layers(self) -> int:
        return len(self._thumbs)

    @property
    def n_heads(self) -> int:
        return max((len(layer) for layer in self._thumbs), default=0)

    @property
    def chosen(self) -> tuple[int, int]:
        """The framed head."""
        return self._chosen

    def set_thumbs(self, thumbs: tuple[tuple[Thumb, ...], ...], layer: int, head: int) -> None:
        """Show the heads, thumbs[layer][head], and frame one."""
        if thumbs is not self._thumbs:
            self._sheets.clear()
            self._pixmap = None
        self._thumbs, self._chosen = thumbs, (layer, head)
        self._show_chosen()
        name = self._name(layer, head)
        self.setAccessibleDescription(f"head {layer}.{head} {name}" if name else f"head {layer}.{head}")
        self.updateGeometry()
        self.update()

    def set_caption(self, role: str, text: str) -> None:
        """Set what is printed below in the compact form: the role of the chosen head and what its score says."""
        self._caption = (role, text)
        self.update()

    def set_compact(self, compact: bool) -> None:
        """Turn to rows = layers with the role of the chosen head below."""
        self._compact = compact
        self._show_chosen()
        self.updateGeometry()
        self.update()

    def _name(self, layer: int, head: int) -> str:
        try:
            return self._thumbs[layer][head].role
        except IndexError:
            return ""

    # --- geometry ------------------------------------------------------------------------------------------------

    def tiles(self) -> Tiles:
        """Return where the thumbs are before scrolling, in the room there is now."""
        return arrange(self.n_layers, self.n_heads, self.width() - EDGE, self._room(), compact=self._compact)

    def _room(self) -> float:
        """Return the height for thumbs, and the line below them if they have no names."""
        return self.height() - (CAPTION if self._compact else 0)

    def _floor(self) -> float:
        """Return where the thumbs end."""
        return self._room() - (0 if self._compact or self.tiles().named else LINE)

    def _overhang(self) -> QPointF:
        """Return how far the thumbs reach beyond the widget."""
        end = self.tiles().end(self.n_layers, self.n_heads) if self._thumbs else QPointF()
        return QPointF(max(0.0, end.x() + 4 - self.width()), max(0.0, end.y() + 4 - self._floor()))

    def _show_chosen(self) -> None:
        """Scroll by as little as shows the chosen head."""
        tiles, over = self.tiles(), self._overhang()
        place, shift = tiles.rect(*self._chosen), self._shift
        x = min(max(shift.x(), place.right() + 4 - self.width()), place.left() - tiles.x)
        y = min(max(shift.y(), place.bottom() + 4 - self._floor()), place.top() - tiles.y)
        self._shift = QPointF(min(max(x, 0.0), over.x()), min(max(y, 0.0), over.y()))

    def head_rect(self, layer: int, head: int) -> QRectF:
        """Return the square of a head in the widget's coordinates."""
        return self.tiles().rect(layer, head).translated(-self._shift)

    def head_at(self, point: QPointF) -> tuple[int, int] | None:
        """Return the (layer, head) under a point."""
        tiles = self.tiles()
        if not (tiles.y - 18 <= point.y() <= self._floor()):
            return None
        above, beside = (18, 2) if tiles.named else (1, 1)
        for layer, heads in enumerate(self._thumbs):
            for head in range(len(heads)):
                place = tiles.rect(layer, head).translated(-self._shift)
                if place.adjusted(-beside, -above, beside, beside).contains(point):
                    return layer, head
        return None

    def sizeHint(self) -> QSize:
        return QSize(self.wanted_width(320), 320)

    def wanted_width(self, height: int, most: float = 1e6) -> int:
        """Return the width, at most `most`, at which the thumbs are as large as `height` allows."""
        room = height - (CAPTION if self._compact else 0)
        return wanted_width(self.n_layers, self.n_heads, room, most, compact=self._compact)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 80)

    def resizeEvent(self, event: object) -> None:
        self._show_chosen()

    # --- painting ------------------------------------------------------------------------------------------------

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        tiles = self.tiles()
        if painter.paintEngine().type() == QPaintEngine.Type.Raster:
            painter.drawPixmap(0, 0, self._ground(tiles))
        else:
            self._paint_ground(painter, tiles)
        with saved(painter):
            self._clip(painter, tiles)
            for place in (self._hovered, self._chosen):
                self._paint_frame(painter, tiles, *place)
        self._paint_caption(painter, tiles)
        self.paint_ring(painter, QRectF(self.rect()).adjusted(1, 1, -1, -1))

    def _clip(self, painter: QPainter, tiles: Tiles) -> None:
        if not tiles.named:
            painter.setClipRect(QRectF(tiles.x - 3, tiles.y - 3, self.width(), self._floor() - tiles.y + 3))

    def _ground(self, tiles: Tiles) -> QPixmap:
        """Everything but the frames of what is chosen and hovered, painted once: hundreds of heads take a while."""
        ratio = self.devicePixelRatioF()
        key = (self.size(), ratio, self._shift, self._compact, current().name)
        if key != self._painted or self._pixmap is None:
            pixmap = QPixmap(self.size() * ratio)
            pixmap.setDevicePixelRatio(ratio)
            pixmap.fill(Qt.GlobalColor.transparent)
            with QPainter(pixmap) as painter:
                self._paint_ground(painter, tiles)
            self._painted, self._pixmap = key, pixmap
        return self._pixmap

    def _paint_ground(self, painter: QPainter, tiles: Tiles) -> None:
        paint_headings(painter, tiles, (self.n_layers, self.n_heads), self._shift, QSizeF(self.width(), self._floor()))
        with saved(painter):
            self._clip(painter, tiles)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            placed = self._placed(tiles)
            for place, _, part in placed:
                draw_pixels(painter, place, self._sheet(tiles), part)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(current().border), 1))
            painter.drawRects([place.adjusted(-1, -1, 0, 0) for place, _, _ in placed])
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(current().edited), 2.5))
            for place, thumb, _ in placed:
                if thumb.edited:
                    painter.drawRoundedRect(place.adjusted(-1.25, -1.25, 1.25, 1.25), 2, 2)
            if tiles.named:
                for place, thumb, _ in placed:
                    paint_name(painter, tiles, place, thumb)

    def _placed(self, tiles: Tiles) -> list[tuple[QRectF, Thumb, QRectF]]:
        """Where the heads in sight are, and which part of the sheet each is."""
        found: list[tuple[QRectF, Thumb, QRectF]] = []
        side = float(self._sheet(tiles).width()) if self._thumbs else 0.0
        first, sight = 0, QRectF(self.rect())
        for layer, heads in enumerate(self._thumbs):
            for head, thumb in enumerate(heads):
                place = tiles.rect(layer, head).translated(-self._shift)
                if place.intersects(sight):
                    found.append((place, thumb, QRectF(0, first * side, side, side)))
                first += 1
        return found

    def _paint_frame(self, painter: QPainter, tiles: Tiles, layer: int, head: int) -> None:
        """Frame the chosen head, or the one under the pointer."""
        if not (0 <= layer < self.n_layers and 0 <= head < len(self._thumbs[layer])):
            return
        theme, rect = current(), tiles.rect(layer, head).translated(-self._shift)
        edited, chosen = self._thumbs[layer][head].edited, (layer, head) == self._chosen
        out = 1.0 if chosen else 0.5
        out = 3.5 if edited else out  # both frames stay visible on the edited head
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.ink), 2) if chosen else QPen(QColor(theme.ctrl), 1))
        painter.drawRoundedRect(rect.adjusted(-out, -out, out, out), 2, 2)

    def _sheet(self, tiles: Tiles) -> QImage:
        """All thumbs below each other, made at once: hundreds of small pictures would take a tenth of a second."""
        side = max(1, round(tiles.side * self.devicePixelRatioF()))
        key = (side, current().name)
        if key not in self._sheets:
            self._sheets[key] = sheet(self._thumbs, side)
        return self._sheets[key]

    def _paint_caption(self, painter: QPainter, tiles: Tiles) -> None:
        """Say in words which head is chosen and what it does: compact thumbs, and small ones, have no names."""
        if not self._thumbs or (tiles.named and not self._compact):
            return
        end = tiles.end(self.n_layers, self.n_heads).y()
        y = min(end + 10 if self._compact else end - self._shift.y() + 5, self._floor() + 4)
        layer, head = self._chosen
        paint_caption(painter, f"{layer}.{head}", self._caption, QPointF(self.width() - EDGE, y), two=self._compact)

    # --- pointer and keys ----------------------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_hovered(self.head_at(event.position()) or (-1, -1))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._set_hovered((-1, -1))

    def _set_hovered(self, place: tuple[int, int]) -> None:
        if place != self._hovered:
            self._hovered = place
            self.setToolTip(f"head {place[0]}.{place[1]}: {self._name(*place)}" if place[0] >= 0 else "")
            self.update()
            self.headHovered.emit(*place)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        place = self.head_at(event.position())
        if place is not None and event.button() == Qt.MouseButton.LeftButton:
            self.headRequested.emit(*place)

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta, over = event.angleDelta(), self._overhang()
        sideways = delta.x() or (0 if over.y() else delta.y())
        x = min(max(self._shift.x() - sideways / 2, 0.0), over.x())
        y = min(max(self._shift.y() - delta.y() / 2, 0.0), over.y())
        if QPointF(x, y) == self._shift:
            event.ignore()
            return
        self._shift = QPointF(x, y)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() not in STEPS or not self._thumbs:
            super().keyPressEvent(event)
            return
        self.ringed = True
        down, right = STEPS[event.key()]
        by_layer, by_head = (down, right) if self._compact else (right, down)
        layer = min(max(self._chosen[0] + by_layer, 0), self.n_layers - 1)
        head = min(max(self._chosen[1] + by_head, 0), len(self._thumbs[layer]) - 1)
        if (layer, head) != self._chosen:
            self.headRequested.emit(layer, head)
        event.accept()
