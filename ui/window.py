"""The window: menus and the prompt bar above, five cards in two rows, the status line below.

It puts the parts together and hands on; it computes nothing and holds no state. How the cards lie is in `ui.cards`.
"""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

from PySide6.QtCore import QSettings
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QMenu, QMenuBar, QVBoxLayout, QWidget

from . import theme
from .actions import build_menus
from .cards import Cards
from .commands import Commands
from .engine import Engine
from .examples_menu import ExamplesMenu
from .importing import Importing
from .notice import Notice
from .open_menus import OpenMenus
from .opening import Opening
from .opening_view import OpeningView
from .panels import PANELS
from .prompt_bar import PromptBar
from .recent import Recent
from .running import Running
from .sample_sets import SampleSets
from .session import Session
from .status import StatusLine


class Window(Cards):
    """The main window of one session."""

    def __init__(self, session: Session, engine: Engine, *, settings: QSettings | None = None) -> None:
        super().__init__(settings)
        self.setObjectName("window")
        self.setAccessibleName("KAV, kernel-attention viewer")
        self.session = session
        self.engine = engine
        self.opening = Opening(session, Recent(settings), self)
        session.sceneChanged.connect(self.keep_sizes)  # before the cards exchange their controls
        self.sets = SampleSets(session, self)
        self.importing = Importing(session, self.sets, self)
        self.commands = Commands(self)
        self._build_top()
        for panel_class in PANELS:
            self.add_card(panel_class(session, self))
        self._build_panel_menu()
        self.status = StatusLine(session, self)
        self.setStatusBar(self.status)
        self.examples.shown.connect(self.status.say)
        session.said.connect(self.status.say)
        self.notice = Notice(self)
        self.opening_view = OpeningView(self, session, self.opening, notice=self.notice, importing=self.importing)
        self.running = Running(self, session, self.notice)
        session.sceneChanged.connect(self.give_sizes_back)  # after they did
        for signal in (session.sceneChanged, session.editsChanged, session.modelChanged, session.samplesChanged):
            signal.connect(self._follow_session)
        self._follow_session()
        self.restore_layout()

    # --- building ------------------------------------------------------------------------------------------------

    def _build_top(self) -> None:
        top = QWidget(self)
        top.setObjectName("top")
        column = QVBoxLayout(top)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        bar = QMenuBar(top)
        bar.setNativeMenuBar(False)
        bar.setFixedHeight(28)
        self.actions_by_name = build_menus(bar, self.commands)
        for action in self.actions_by_name.values():
            self.addAction(action)
        self.menu_bar = bar
        file, model = (bar.findChild(QMenu, f"menu.{name}") for name in ("file", "model"))
        self.open_menus = OpenMenus(self.session, self.opening, file, model)
        self.examples = ExamplesMenu(self.session, self.opening, bar)
        self.prompt_bar = PromptBar(self.session, self.sets, top)
        self.prompt_bar.undoRequested.connect(self.session.undo)
        self.prompt_bar.model.modelRequested.connect(self.opening.open)
        self.opening.placesChanged.connect(self._on_opening_places_changed)
        column.addWidget(bar)
        column.addWidget(self.prompt_bar)
        self.setMenuWidget(top)
        self.commands.bind(self.actions_by_name)

    def _build_panel_menu(self) -> None:
        """View > One panel: each alone by its number, in reading order."""
        view = self.menu_bar.findChild(QMenu, "menu.view")
        menu = view.addMenu("One panel")
        menu.setObjectName("menu.panels")
        for number, (name, panel) in enumerate(self.panels.items(), start=1):
            action = menu.addAction(f"{panel.question}")
            action.setObjectName(f"view.panel.{name}")
            action.setShortcut(f"Ctrl+{number}")
            action.triggered.connect(partial(self.toggle_maximised, name))
            self.addAction(action)

    # --- what happens to the whole window ------------------------------------------------------------------------

    def on_compact(self, compact: bool) -> None:
        self.prompt_bar.set_compact(compact)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.notice.place()

    def set_theme(self, name: str) -> None:
        """Use the "light" or "dark" theme."""
        app = QApplication.instance()
        theme.apply(app, name)
        for panel in self.panels.values():
            panel.redraw()

    def _follow_session(self) -> None:
        # A drag among many samples is followed by the fit first, by the other panels as time allows.
        self.engine.prefer("fit" if self.session.kind == "regression" else "")
        name = self.session.model.name if self.session.model is not None else "no model"
        scene = name if self.session.kind == "head" else self.session.document.samples.name
        self.setWindowTitle(f"{scene} — KAV" + (" — edited" if self.session.edited else ""))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the layout, stop what runs, and go."""
        self.keep_layout()
        if self._settings is not None:
            self._settings.setValue("theme", theme.current().name)
        self.engine.close()
        super().closeEvent(event)
        gc.unfreeze()

    def _on_opening_places_changed(self) -> None:
        self.prompt_bar.model.set_places(self.opening.places)

    def settled(self) -> bool:
        """Return whether nothing is running or waiting: what is drawn is the present state."""
        return not self.engine.busy()

    def result(self, name: str) -> Any:
        """Return what the named panel shows."""
        return self.panels[name].result
