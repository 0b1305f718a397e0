"""One panel = three methods: `build` makes widgets once, `spec` reads the session, `draw` sets data on what is there.

Everything else is here once, for all: wiring to the session, the engine and its progress, the reading line, the
amber edge while the numbers are those of an edited model, the empty, busy and error states over the last good
picture, the formula card, and the exports. A new panel is a view in `kav.views`, a file in `ui.panels`, and one entry
in `ui.panels.PANELS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLayout, QMenu, QWidget

from kav.errors import KavError
from kav.views.words import Reading, plain

from .feed import Feed
from .panel_files import PanelFiles
from .panel_menu import PanelMenu
from .session import Session
from .stage import Stage
from .widgets.card import CardBody, CardFooter, CardHeader
from .widgets.formula_card import FormulaCard

NOTHING = ("Nothing to show yet", "Open a model, or type a prompt above.")
UNRUN = ("This prompt has no run", "The notice says why. Cut the prompt, or type another.")
HEADLESS = ("This model predicts no tokens", "It has no output matrix. “Where does it look?” and the QK circuit work.")


class Panel(PanelFiles, CardBody):
    """Base of all panels: the body and footer of a card; its header is the title bar of the dock.

    Signals
    -------
    maximiseRequested(name), tabRequested(name).
    """

    maximiseRequested = Signal(str)
    tabRequested = Signal(str)

    name: ClassVar[str]
    question: ClassVar[str]
    titles: ClassVar[dict[str, str]]
    view: ClassVar[ModuleType]
    lane: ClassVar[str] = "live"
    depends_on_run: ClassVar[bool] = True  # False: weights only, so edits leave the panel as it is

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent, name=f"{self.name}.panel")
        self.session = session
        self.setAccessibleName(self.question)
        self.compact = False
        self.error: BaseException | None = None
        self._drawn: Any = None
        self.empty = NOTHING
        self._kind = session.kind
        self._tabs: tuple[tuple[str, str], ...] = ()
        self.header = CardHeader(self.question, self.titles[session.kind], parent, name=f"{self.name}.header")
        self.body = QWidget(self)
        self.stage = Stage(self.body, self, name=self.name)
        self._formulas = FormulaCard(self.stage, name=f"{self.name}.formulas")
        self.stage.set_cover(self._formulas)
        self.footer_bar = CardFooter(self, name=f"{self.name}.footer")
        self.footer: QHBoxLayout = self.footer_bar.row
        self.column.addWidget(self.stage, 1)
        self.column.addWidget(self.footer_bar)
        self.build()
        self._tab_last(self.footer_bar.more)
        self._feed = Feed(self.name, self.view, session, spec=self._spec, lane=self.lane, parent=self)
        self._wire()
        self.on_scene(self._kind)
        self._feed.set_active(False)  # until somebody sees the panel

    def _tab_last(self, widget: QWidget) -> None:
        """Let the keyboard come to a widget of the footer after all others there."""
        others = (child for child in self.footer_bar.findChildren(QWidget) if child is not widget)
        for child in others:
            if child.focusPolicy() & Qt.FocusPolicy.TabFocus and child.window() is widget.window():
                QWidget.setTabOrder(child, widget)

    def _wire(self) -> None:
        self._feed.drawn.connect(self._on_feed_drawn)
        self._feed.glanced.connect(self._on_feed_glanced)
        self._feed.emptied.connect(self._on_feed_emptied)
        self._feed.failed.connect(self._on_feed_failed)
        self._feed.busied.connect(self.stage.set_busy)
        self._feed.progressed.connect(self.stage.set_progress)
        self.stage.cancelRequested.connect(self.give_up)
        self.stage.waited.connect(self.header.reading.set_faded)
        self.stage.retryRequested.connect(self._feed.retry)
        self.header.formulaRequested.connect(self.toggle_formulas)
        self.header.maximiseRequested.connect(self._on_header_maximise_requested)
        self.header.menuRequested.connect(PanelMenu(self).open)
        self.header.tabChanged.connect(self.tabRequested)
        self._formulas.copyRequested.connect(self.copy_as_python)
        self.session.sceneChanged.connect(self._on_scene_changed)

    # --- what a panel says ---------------------------------------------------------------------------------------

    def build(self) -> None:
        """Make the widgets of the body and the footer, once."""
        raise NotImplementedError

    def spec(self) -> Any:
        """Return what to compute: the scene and the panel's own controls; None for "nothing to show"."""
        raise NotImplementedError

    def draw(self, result: Any) -> None:
        """Set the result's data on what is there."""
        raise NotImplementedError

    def reading(self, result: Any) -> Reading:
        """Return the sentence under the title."""
        return result.reading

    def shows_edit(self, result: Any) -> bool:
        """Return whether edits changed what the panel shows."""
        return self.depends_on_run

    def subtitle(self) -> str:
        """Return the panel's name beside the question."""
        return self.titles[self._kind]

    def fill_menu(self, menu: QMenu) -> None:
        """Add what only this panel has to its menu."""

    def needs_logits(self) -> bool:
        """Return whether what is asked now takes a model that predicts tokens."""
        return True

    def _spec(self) -> Any:
        trace = self.session.trace if self.session.kind == "head" else None
        headless = trace is not None and not trace.model.config.has_logits and self.needs_logits()
        unrun = self.session.kind == "head" and self.session.refused
        self.empty = HEADLESS if headless else UNRUN if unrun else NOTHING
        return None if headless else self.spec()

    def on_compact(self, compact: bool) -> None:
        """Arrange for the compact layout, or back."""

    def on_scene(self, kind: str) -> None:
        """Show the controls of the "head" or the "regression" scene."""

    # --- what it has from here -----------------------------------------------------------------------------------

    @property
    def result(self) -> Any:
        """What is drawn, None before the first result."""
        return self._feed.result

    def request(self) -> None:
        """Compute again if the spec is another one: a control of the panel changed."""
        self._feed.request()

    def redraw(self) -> None:
        """Draw the same result again: the theme changed, or the way it is shown."""
        if self.result is not None:
            self._show_titles()
            self._show_reading(self.result)
            self.draw(self.result)

    def refuse(self, error: KavError, way_out: str = "", value: Any = None) -> None:
        """Show that a typed value was refused, over the last good picture.

        Parameters
        ----------
        way_out : str
            Text of a button that puts things right; "" = no button. The button emits `stage.wayOutTaken` with `value`.
        """
        self.error = error
        self.stage.show_error(error, way_out, value)

    def accept(self) -> None:
        """Take a refusal back: the value is good now."""
        if self.error is not None:
            self.error = None
            self.stage.clear_error()

    def set_active(self, active: bool) -> None:
        """Compute only while the panel is seen."""
        self._feed.set_active(active)

    def set_compact(self, compact: bool) -> None:
        """Switch to the compact layout, or back."""
        if compact != self.compact:
            self.compact = compact
            self.on_compact(compact)
            self.settle()
            self.redraw()

    def give_up(self) -> None:
        """Cancel what runs; a picture of something else, which stays, says so and offers to compute what was asked."""
        stale = self._feed.result is not None and self._feed.drawn_spec != self._spec()
        self._feed.cancel()
        if stale:
            self.stage.show_error(KavError("the picture is not of what is asked now: that was cancelled"), "Compute it")

    def settle(self) -> None:
        """Let the panel ask for its new least size at once, not with the next turn of the event loop."""
        for row in self.footer_bar.findChildren(QLayout):
            row.activate()
        self.footer.activate()
        self.layout().activate()

    def set_maximised(self, maximised: bool) -> None:
        """Tell the header which way its button goes."""
        self.header.set_maximised(maximised)

    # --- answers from the engine ---------------------------------------------------------------------------------

    def _on_feed_drawn(self, result: Any) -> None:
        self.error = None
        self.stage.show_picture()
        self.header.set_edited(self.session.edited and self.shows_edit(result))
        self._show_reading(result)
        if result is not self._drawn or self.depends_on_run:  # weights alone: nothing else can have changed
            self._drawn = result
            self.draw(result)
        if self._formulas.isVisible():
            self._formulas.set_rows(self.view.formula(result))

    def _on_feed_glanced(self, result: Any) -> None:
        self._on_feed_drawn(result)
        self.stage.show_glance()

    def _show_reading(self, result: Any) -> None:
        reading = self.reading(result)
        self.header.set_reading(reading)
        self.setAccessibleDescription(plain(reading))

    def _on_feed_emptied(self) -> None:
        self.error = None
        self.header.set_reading(())
        self.header.set_edited(False)
        self.stage.show_empty(*self.empty)

    def _on_feed_failed(self, error: BaseException) -> None:
        self.error = error
        self.stage.show_error(error)

    def _on_scene_changed(self) -> None:
        kind = self.session.kind
        if kind != self._kind:
            self._kind = kind
            self._show_titles()
            self._formulas.hide()
            self.on_scene(kind)

    def set_tabs(self, tabs: Sequence[tuple[str, str]]) -> None:
        """Show the questions of cards that share one place as tabs; () = the panel's own question."""
        self._tabs = tuple(tabs)
        self._show_titles()

    def _show_titles(self) -> None:
        if self._tabs:
            self.header.set_tabs(self._tabs, self.name)
        else:
            self.header.set_title(self.question, self.subtitle())

    # --- header and keyboard -------------------------------------------------------------------------------------

    def toggle_formulas(self) -> None:
        """Show the formula card in place of the plot, or the plot again."""
        if self._formulas.isVisible() or self.result is None:
            self._formulas.hide()
        else:
            self._formulas.set_rows(self.view.formula(self.result))
            self._formulas.show()
            self._formulas.raise_()

    def _on_header_maximise_requested(self) -> None:
        self.maximiseRequested.emit(self.name)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc closes the formula card, or cancels what runs."""
        if event.key() == Qt.Key.Key_Escape and self._formulas.isVisible():
            self._formulas.hide()
        elif event.key() == Qt.Key.Key_Escape and self.session.engine.busy(self.name):
            self.give_up()
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QEvent) -> None:
        """Catch up with what changed while nobody looked."""
        super().showEvent(event)
        self._feed.set_active(True)

    def hideEvent(self, event: QEvent) -> None:
        """Compute nothing that nobody sees."""
        super().hideEvent(event)
        self._feed.set_active(False)
