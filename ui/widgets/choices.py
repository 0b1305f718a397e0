"""The list that a pill opens: choices one can search by typing."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QGuiApplication, QHideEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from ..painting import guarded
from ..theme import current, font
from .control import describe
from .drawing import box, shown

MOST_ROWS = 12  # in sight
SHOWN = 1200  # rows at once: all heads of a model, not a vocabulary


class Choices(QFrame):
    """A popup with a search line over a list. Arrows and Enter choose, Escape closes.

    `chosen` carries the key of a row; `typed` the text of the search line when Enter finds no row; `searched` follows
    the typing, for owners that look rows up themselves; `closed` comes when the list is gone, whatever the reason.
    """

    chosen = Signal(object)
    typed = Signal(str)
    searched = Signal(str)
    closed = Signal()

    def __init__(self, parent: QWidget, *, label: str) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self._options: tuple[tuple[object, str], ...] = ()
        self._place, self._least = QPoint(), 200  # where it opened, and how wide it is
        self.search = QLineEdit(self)
        describe(self.search, "choices.search", f"search {label}", "type to narrow the list")
        self.search.setPlaceholderText("type to search")
        self.search.setFont(font(12))
        self.list = QListWidget(self)
        describe(self.list, "choices.list", label)
        self.list.setFont(font(12))
        self.list.setProperty("bare", True)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(7, 7, 7, 7)
        layout.setSpacing(4)
        layout.addWidget(self.search)
        layout.addWidget(self.list)
        self.nothing = QLabel("no match", self.list)
        self.nothing.setFont(font(12))
        self.nothing.move(6, 4)
        self.search.installEventFilter(self)
        self.search.textEdited.connect(self._on_search_edited)
        self.search.returnPressed.connect(self._choose)
        self.list.itemClicked.connect(self._on_list_clicked)

    def set_options(self, options: Sequence[tuple[object, str]]) -> None:
        """Set the rows, pairs of key and text; the list itself is filled when it opens."""
        self._options = tuple(options)
        if self.isVisible():
            item = self.list.currentItem()
            key = None if item is None else item.data(Qt.ItemDataRole.UserRole)[0]
            self._fill()
            self._fit()
            self._mark(key)

    def open_at(self, place: QPoint, width: int, current_key: object) -> None:
        """Show the list below `place` (global), with the current row marked."""
        self.search.clear()
        self._place, self._least = place, max(width, 200)
        self._fill()
        self._fit()
        self._mark(current_key)
        self.show()
        self.search.setFocus()

    def _fit(self) -> None:
        """As high as its rows, up to a dozen; it grows for those that come later, and never jumps back."""
        self.search.setPlaceholderText("type to search" if self._options else "type a number, then Enter")
        rows = min(max(self.list.count(), 1), MOST_ROWS)
        height = 52 + rows * 26
        self.resize(self._least, max(height, self.height()) if self.isVisible() else height)
        self.move(self._on_screen(self._place))

    def _on_screen(self, place: QPoint) -> QPoint:
        """The place nearest to the wanted one at which the whole list is on its screen."""
        screen = QGuiApplication.screenAt(place) or self.screen()
        room = screen.availableGeometry()
        x = max(min(place.x(), room.right() - self.width()), room.left())
        return QPoint(x, max(min(place.y(), room.bottom() - self.height()), room.top()))

    def _fill(self) -> None:
        needle = self.search.text().strip().casefold()
        self.list.clear()
        found = (option for option in self._options if needle in option[1].casefold())
        for _, (key, text) in zip(range(SHOWN), found, strict=False):
            item = QListWidgetItem(shown(text))
            item.setData(Qt.ItemDataRole.UserRole, (key,))
            item.setToolTip(text)
            self.list.addItem(item)
        self.list.setCurrentRow(0)

        self.nothing.setVisible(bool(self._options) and not self.list.count())

    def _mark(self, key: object) -> None:
        """Make the row with this key the current one, the first if there is none."""
        items = (self.list.item(row) for row in range(self.list.count()))
        keys = [item.data(Qt.ItemDataRole.UserRole)[0] for item in items]
        self.list.setCurrentRow(keys.index(key) if key in keys else 0)

    def _on_search_edited(self, text: str) -> None:
        self.searched.emit(text)
        self._fill()

    def _on_list_clicked(self, item: QListWidgetItem) -> None:
        self.hide()
        self.chosen.emit(item.data(Qt.ItemDataRole.UserRole)[0])

    def _choose(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            self._on_list_clicked(item)
        else:
            self.hide()
            self.typed.emit(self.search.text().strip())

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.closed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrows move through the list while the search line has the keyboard."""
        moves = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}
        if watched is self.search and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = moves.get(Qt.Key(event.key()), 0)
            if step:
                row = self.list.currentRow() + step
                self.list.setCurrentRow(min(max(row, 0), self.list.count() - 1))
                return True
        return super().eventFilter(watched, event)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        box(painter, QRectF(self.rect()), fill=theme.panel, border=theme.ctrl, radius=0)
