"""The cards of the window: their docks in two rows, compact or not, one alone or all, kept between starts.

Two layouts share the same cards: the regular one, and the compact one in which attribution and circuits take turns in
one place with their questions as tabs. "Where does it look?" never stands alone: the card "Does it matter?" cannot be
closed.
"""

from __future__ import annotations

from itertools import pairwise

from PySide6.QtCore import QByteArray, QSettings, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow

from .panel import Panel

MINIMUM = (900, 600)
COMPACT_BELOW = (1280, 720)
RESIZE_ENDS_AFTER = 150  # ms
GAP = 8
TOP_SHARE = {False: 0.575, True: 0.545}  # of the height of all cards, by compact
ROWS = {  # panel -> share of its row's width, as at 1440 x 900
    False: ((("fit", 793), ("attention", 615)), (("attribution", 446), ("circuits", 488), ("dose", 481))),
    True: ((("fit", 571), ("attention", 505)), (("attribution", 516), ("circuits", 516), ("dose", 560))),
}
TABS = ("attribution", "circuits")  # share one place in the compact layout
LAYOUT_VERSION = 1


class Cards(QMainWindow):
    """A main window that is nothing but cards, with what stands above and below them."""

    def __init__(self, settings: QSettings | None) -> None:
        super().__init__()
        self.panels: dict[str, Panel] = {}
        self.docks: dict[str, QDockWidget] = {}
        self.compact = False
        self._settings = settings
        self._tab = TABS[0]
        self._maximised: str | None = None
        self._arranged = False
        self._sizes: dict[str, tuple[int, int]] = {}
        self._settled = False  # the cards have taken their places
        self.setDockNestingEnabled(True)
        self.setDockOptions(QMainWindow.DockOption.AllowNestedDocks)
        self.setContentsMargins(GAP, 0, GAP, 0)
        self.setMinimumSize(*MINIMUM)
        self._resize_timer = QTimer(self, singleShot=True, interval=RESIZE_ENDS_AFTER)
        self._resize_timer.timeout.connect(self._on_resize_ended)

    def on_compact(self, compact: bool) -> None:
        """Arrange what is around the cards for the compact layout, or back."""

    def add_card(self, panel: Panel) -> None:
        """Put a panel into a dock of its own."""
        dock = QDockWidget(panel.question, self)
        dock.setObjectName(f"dock.{panel.name}")
        features = QDockWidget.DockWidgetFeature
        movable = features.DockWidgetMovable | features.DockWidgetFloatable
        dock.setFeatures(movable if panel.name == "dose" else movable | features.DockWidgetClosable)
        dock.setTitleBarWidget(panel.header)
        dock.setWidget(panel)
        panel.maximiseRequested.connect(self.toggle_maximised)
        panel.tabRequested.connect(self._on_panel_tab_requested)
        self.panels[panel.name] = panel
        self.docks[panel.name] = dock

    # --- layout --------------------------------------------------------------------------------------------------

    def arrange(self) -> None:
        """Put every card in its place for the present size."""
        self._maximised = None
        for dock in self.docks.values():
            dock.setFloating(False)
            self.removeDockWidget(dock)
        (first, *top), (second, *bottom) = ([self.docks[name] for name, _ in row] for row in ROWS[self.compact])
        self.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, first)
        self.splitDockWidget(first, second, Qt.Orientation.Vertical)
        for row in ([first, *top], [second, *bottom]):
            for left, right in pairwise(row):
                self.splitDockWidget(left, right, Qt.Orientation.Horizontal)
        for panel in self.panels.values():
            panel.set_compact(self.compact)
        self.on_compact(self.compact)
        self._settled, self._sizes = False, {}
        QTimer.singleShot(0, self, self._on_arranged)
        self._show_cards()
        self._size_cards()

    def _on_arranged(self) -> None:
        self._settled = True

    def _shown(self) -> set[str]:
        """Names of the cards to show: where is never shown without whether it matters."""
        if self._maximised is not None:
            return {self._maximised, "dose"} if self._maximised == "attention" else {self._maximised}
        hidden = {name for name in TABS if self.compact and name != self._tab}
        return set(self.docks) - hidden

    def _show_cards(self) -> None:
        shown = self._shown()
        tabs = tuple((name, self.panels[name].question) for name in TABS) if self.compact else ()
        for name, dock in self.docks.items():
            dock.setVisible(name in shown)
            self.panels[name].set_maximised(name == self._maximised)
        for name in TABS:
            self.panels[name].set_tabs(tabs)

    def _size_cards(self) -> None:
        self._settle()
        rows = [[pair for pair in row if self._placed(self.docks[pair[0]])] for row in ROWS[self.compact]]
        for row in rows:
            docks = [self.docks[name] for name, _ in row]
            self.resizeDocks(docks, [share for _, share in row], Qt.Orientation.Horizontal)
        free = self.height() - self.menuWidget().sizeHint().height() - self.statusBar().height() - GAP
        top = round(free * TOP_SHARE[self.compact])
        if all(rows):
            firsts = [self.docks[row[0][0]] for row in rows]
            self.resizeDocks(firsts, [top, free - top], Qt.Orientation.Vertical)

    def keep_sizes(self) -> None:
        """Remember what sizes the cards have."""
        if self._settled:
            self._sizes = {name: dock.size().toTuple() for name, dock in self.docks.items() if self._placed(dock)}

    def _placed(self, dock: QDockWidget) -> bool:
        """Whether a card takes part in the layout: shown, not in a window of its own, and not just being carried."""
        carried = self.dockWidgetArea(dock) == Qt.DockWidgetArea.NoDockWidgetArea
        return dock.isVisibleTo(self) and not dock.isFloating() and not carried

    def give_sizes_back(self) -> None:
        """Both scenes have the cards in the same places and sizes, though their controls ask for other widths."""
        if not self._arranged:
            return
        if not self._sizes:  # no turn of the event loop yet: the cards have not taken their places
            self._size_cards()
            return
        self._settle()
        sizes = {name: size for name, size in self._sizes.items() if self._placed(self.docks[name])}
        docks = [self.docks[name] for name in sizes]
        self.resizeDocks(docks, [width for width, _ in sizes.values()], Qt.Orientation.Horizontal)
        self.resizeDocks(docks, [height for _, height in sizes.values()], Qt.Orientation.Vertical)

    def _settle(self) -> None:
        for name, dock in self.docks.items():
            self.panels[name].settle()
            dock.layout().activate()
        self.layout().activate()

    def maximise(self, name: str | None) -> None:
        """Show one card alone (None = all again)."""
        self._maximised = name
        self._show_cards()
        self._size_cards()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc gives the other panels back."""
        if event.key() == Qt.Key.Key_Escape and self._maximised is not None:
            self.maximise(None)
        else:
            super().keyPressEvent(event)

    def toggle_maximised(self, name: str, *_: object) -> None:
        """Show one card alone, or all again if it is alone."""
        self.maximise(None if self._maximised == name else name)

    def _on_panel_tab_requested(self, name: str) -> None:
        if name != self._tab:
            self._tab = name
            self._show_cards()
            self._size_cards()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Check for the compact layout once the resize has ended."""
        super().resizeEvent(event)
        if not self._arranged:
            self._arranged = True
            self._follow_size(force=not self._restored)
        else:
            self._resize_timer.start()

    def _on_resize_ended(self) -> None:
        self._follow_size()

    def _follow_size(self, *, force: bool = False) -> None:
        compact = self.width() < COMPACT_BELOW[0] or self.height() < COMPACT_BELOW[1]
        if force or compact != self.compact:
            self.compact = compact
            self.arrange()
        elif self._maximised is None and not any(dock.isFloating() for dock in self.docks.values()):
            self._size_cards()

    # --- state of the layout between starts ----------------------------------------------------------------------

    def restore_layout(self) -> None:
        """Take geometry and layout of the last time, if there are any."""
        self._restored = False
        if self._settings is None:
            return
        geometry, state = (self._settings.value(key) for key in ("geometry", "layout"))
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        if isinstance(state, QByteArray):
            self.compact = self._settings.value("compact") in (True, "true")
            self.arrange()
            self._restored = self.restoreState(state, LAYOUT_VERSION)

    def keep_layout(self) -> None:
        """Keep geometry and layout for the next start."""
        if self._settings is not None:
            self.maximise(None)
            self._settings.setValue("geometry", self.saveGeometry())
            self._settings.setValue("layout", self.saveState(LAYOUT_VERSION))
            self._settings.setValue("compact", self.compact)
