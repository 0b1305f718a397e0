"""The parts of a card: a header with the question and the answer, a body, and a footer with the controls.

A dock takes the header as its title bar: presses are left to the dock, which drags by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from kav.views.words import Reading

from ..painting import guarded
from ..theme import current, font
from .control import describe, fill
from .drawing import baseline, draw_text, focus_ring, text_width
from .giving_way import GivingWay, at_least
from .icon_button import IconButton
from .overflow import Overflow
from .reading_line import ReadingLine

RADIUS, PADDING, HEADER, FOOTER, EDGE = 8, 14, 54, 40, 3


class TitleTab(QAbstractButton):
    """A question in a header; as one of several it is underlined when open."""

    def __init__(self, text: str, parent: QWidget | None = None, *, alone: bool, name: str = "") -> None:
        super().__init__(parent)
        describe(self, name, text)
        self.setText(text)
        self.alone = alone
        self.setCheckable(not alone)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus if alone else Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        if alone:
            # A title is no button: presses go to the dock, which drags by them.
            self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def sizeHint(self) -> QSize:
        return QSize(round(text_width(self.text(), font(15, 600))) + 1, 22)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        is_open = self.alone or self.isChecked()
        f = font(15, 600) if is_open else font(13, 500)
        ink = theme.ink if is_open or self.underMouse() else theme.text2
        draw_text(painter, 0, baseline(self.height() / 2, font(15, 600)), self.text(), f, ink)
        if is_open and not self.alone:
            painter.fillRect(QRectF(0, self.height() - 2, self.width(), 2), QColor(theme.ink))
        if self.hasFocus():
            focus_ring(painter, QRectF(self.rect()), 4)


class CardHeader(QWidget):
    """Question, panel name, icon buttons and the reading line; or, on a compact card, questions as tabs."""

    formulaRequested = Signal()
    maximiseRequested = Signal()
    menuRequested = Signal(QPoint)
    tabChanged = Signal(str)

    def __init__(self, question: str, panel: str, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent)
        describe(self, name, f"{question} {panel}")
        self._edited = False
        self._panel = QLabel(self)
        self._panel.setFont(font(12))
        self.reading = ReadingLine(self, name=f"{name}.reading")
        fill(self.reading)
        self.formula = IconButton("sigma", "formula card", self, name=f"{name}.formula", side=22)
        self.maximise = IconButton("maximise", "maximise this panel", self, name=f"{name}.maximise", side=22)
        self.menu = IconButton("dots", "export, copy and more", self, name=f"{name}.menu", side=22)
        self._tabs: dict[str, TitleTab] = {}
        self._build()
        self.set_title(question, panel)
        self.formula.clicked.connect(self.formulaRequested)
        self.maximise.clicked.connect(self.maximiseRequested)
        self.menu.clicked.connect(self._on_menu_clicked)

    def _build(self) -> None:
        self.setFixedHeight(HEADER)
        self._titles = QHBoxLayout()
        self._titles.setSpacing(18)
        top = QHBoxLayout()
        top.setSpacing(0)
        top.addLayout(self._titles)
        top.addSpacing(7)
        top.addWidget(self._panel, 0, Qt.AlignmentFlag.AlignBottom)
        top.addStretch(1)
        for button in (self.formula, self.maximise, self.menu):
            top.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(PADDING + 1, 9, 9, 5)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addWidget(self.reading)
        self._panel.setFixedHeight(20)
        self._panel.setMinimumWidth(1)
        self._panel.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def set_title(self, question: str, panel: str) -> None:
        """Show one question and the panel's name beside it."""
        self._put([("", question)], alone=True)
        self._panel.setText(panel)
        self._panel.setVisible(bool(panel))
        self.setAccessibleName(f"{question} {panel}".strip())

    def set_tabs(self, tabs: Sequence[tuple[str, str]], key: str) -> None:
        """Show several questions, pairs of key and text, as tabs; `key` is the open one."""
        self._put(tabs, alone=False)
        self._panel.hide()
        self.set_current_tab(key)

    def set_current_tab(self, key: str) -> None:
        """Underline a tab without a signal."""
        for known, tab in self._tabs.items():
            tab.setChecked(known == key)

    def _put(self, tabs: Sequence[tuple[str, str]], *, alone: bool) -> None:
        shown = [(key, tab.text(), tab.alone) for key, tab in self._tabs.items()]
        if shown == [(key, text, alone) for key, text in tabs]:
            return
        for tab in self._tabs.values():
            self._titles.removeWidget(tab)
            tab.hide()
            tab.deleteLater()
        self._tabs = {}
        for key, text in tabs:
            tab = TitleTab(text, self, alone=alone, name=f"{self.objectName()}.tab.{key}" if key else "")
            tab.clicked.connect(self._on_tab_clicked)
            self._titles.addWidget(tab)
            tab.show()
            self._tabs[key] = tab

    def set_reading(self, reading: Reading | str) -> None:
        """Show the answer in words."""
        self.reading.set_reading(reading)

    def set_edited(self, edited: bool) -> None:
        """Show the amber edge: the numbers of this panel are those of an edited model."""
        if edited != self._edited:
            self._edited = edited
            self.update()

    def set_maximised(self, maximised: bool) -> None:
        """Turn the maximise button into its opposite, or back."""
        self.maximise.set_icon("restore" if maximised else "maximise")
        self.maximise.setToolTip("give the other panels back" if maximised else "maximise this panel")

    @contextmanager
    def without_buttons(self) -> Iterator[None]:
        """Hide the buttons for as long as a picture of the card is taken: it is for paper and slides."""
        buttons = (self.formula, self.maximise, self.menu)
        for button in buttons:
            button.hide()
        try:
            yield
        finally:
            for button in buttons:
                button.show()

    def _on_menu_clicked(self) -> None:
        self.menuRequested.emit(self.menu.mapToGlobal(QPoint(0, self.menu.height())))

    def _on_tab_clicked(self) -> None:
        tab = self.sender()
        key = next(known for known, value in self._tabs.items() if value is tab)
        self.set_current_tab(key)
        self.tabChanged.emit(key)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.maximiseRequested.emit()

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = QRectF(self.rect())
        _paint_half(painter, rect, up=True)  # the body continues it
        if self._edited:
            whole, edge = QPainterPath(), QPainterPath()
            whole.addRoundedRect(rect, RADIUS, RADIUS)
            edge.addRect(QRectF(0, 0, rect.width(), EDGE))
            painter.fillPath(whole.intersected(edge), QColor(theme.edited))
        self._paint_panel_name()

    def _paint_panel_name(self) -> None:
        """Keep the panel's name muted in the current theme; a label would need a style sheet of its own."""
        palette = self._panel.palette()
        muted = QColor(current().muted)
        if palette.color(self._panel.foregroundRole()) != muted:
            palette.setColor(self._panel.foregroundRole(), muted)
            self._panel.setPalette(palette)


class CardBody(QFrame):
    """The lower part of a card, which continues the header's frame. Put the picture and the footer into it."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(1, 0, 1, 1)
        self.column.setSpacing(0)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _paint_half(painter, QRectF(self.rect()), up=False)


def _paint_half(painter: QPainter, rect: QRectF, *, up: bool) -> None:
    """Paint the upper or lower half of a card's frame, open where the halves meet.

    Nothing is painted outside `rect`: in a vector file no clip would hide it, and it would cover the other half.
    """
    left, right, corner = rect.left() + 0.5, rect.right() - 0.5, 2 * (RADIUS - 0.5)
    path = QPainterPath()
    if up:
        top = rect.top() + 0.5
        path.moveTo(left, rect.bottom())
        path.arcTo(QRectF(left, top, corner, corner), 180, -90)
        path.arcTo(QRectF(right - corner, top, corner, corner), 90, -90)
        path.lineTo(right, rect.bottom())
    else:
        bottom = rect.bottom() - 0.5
        path.moveTo(left, rect.top())
        path.arcTo(QRectF(left, bottom - corner, corner, corner), 180, 90)
        path.arcTo(QRectF(right - corner, bottom - corner, corner, corner), 270, 90)
        path.lineTo(right, rect.top())
    painter.fillPath(path, QColor(current().panel))
    pen = QPen(QColor(current().border), 1, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
    painter.strokePath(path, pen)


class CardFooter(QWidget):
    """One row of controls under a rule; what it has no room for is held by the "…" at its right end."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setFixedHeight(FOOTER)
        self._way: GivingWay | None = None
        outer = QHBoxLayout(self)
        outer.setContentsMargins(PADDING, 1, PADDING, 0)
        outer.setSpacing(8)
        self.row = QHBoxLayout()
        self.row.setSpacing(8)
        self.more = Overflow(self, name=f"{name.partition('.')[0]}.more")
        outer.addLayout(self.row, 1)
        outer.addWidget(self.more)

    def give_way(self, row: QHBoxLayout, steps: Sequence[Callable[[bool], None]]) -> None:
        """Let a row of controls take these steps, in order, where the footer is too narrow for it."""
        self._way = GivingWay(row, steps, needed=at_least, beside=self.more)
        self.refit()

    def refit(self, *, anew: bool = False) -> None:
        """Fit the row again: it shows something else, or the steps mean something else now (`anew`)."""
        if self._way is None:
            return
        least = self._way.least
        self._way.fit(self.width() - 2 * PADDING, anew=anew)
        if least != self._way.least:
            self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.refit()

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint() if self._way is None else QSize(self._way.least + 2 * PADDING, FOOTER)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        painter.setPen(QPen(QColor(current().grid), 1))
        painter.drawLine(QPointF(0, 0.5), QPointF(self.width(), 0.5))
