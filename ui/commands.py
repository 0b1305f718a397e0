"""What the menus and shortcuts do: one short method per command of `actions.COMMANDS`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog

from kav.model.edits import ScaleHead

from . import theme
from .dialogs import AboutDialog, ShortcutsDialog
from .export import announced, export, with_suffix

if TYPE_CHECKING:
    from .window import Window


class Commands(QObject):
    """The slots of the window's commands."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window
        self._session = window.session
        self._actions: dict[str, QAction] = {}

    def bind(self, actions: dict[str, QAction]) -> None:
        """Keep the enabled and checked states of the actions true."""
        self._actions = actions
        stack = self._session.undo_stack
        stack.indexChanged.connect(self._update)
        for signal in (
            self._session.sceneChanged,
            self._session.selectionChanged,
            self._session.editsChanged,
            self._session.samplesChanged,
            self._session.modelChanged,
        ):
            signal.connect(self._update)
        self._update()

    def _update(self) -> None:
        session, actions = self._session, self._actions
        back, forward = session.can_go()
        head = session.kind == "head"
        enabled = {
            "edit.undo": session.undo_stack.canUndo(),
            "edit.redo": session.undo_stack.canRedo(),
            "edit.reset": session.edited,
            "view.back": back,
            "view.forward": forward,
            "prompt.edit": head,
            "data.paste": not head,
        }
        enabled.update({name: head for name in actions if name.startswith("model.") and name not in _ALWAYS})
        for name, on in enabled.items():
            actions[name].setEnabled(on)
        stack = session.undo_stack
        actions["edit.undo"].setText(f"Undo {stack.undoText()}".rstrip())
        actions["edit.redo"].setText(f"Redo {stack.redoText()}".rstrip())
        dark = theme.current().dark
        checked = {"view.head": head, "view.regression": not head, "view.dark": dark, "view.light": not dark}
        for name, on in checked.items():
            actions[name].setChecked(on)

    # File

    def open_model_folder(self) -> None:
        """Ask for a model folder and open it."""
        folder = QFileDialog.getExistingDirectory(self._window, "Open model folder", self._window.opening.folder())
        if folder:
            self._window.opening.open(folder)

    def open_model_file(self) -> None:
        """Ask for a model file and open it."""
        kinds = "Models (*.gguf *.safetensors);;All files (*)"
        path, _ = QFileDialog.getOpenFileName(self._window, "Open model file", self._window.opening.folder(), kinds)
        if path:
            self._window.opening.open(path)

    def open_bundled(self) -> None:
        """Open the bundled model again."""
        self._window.opening.open("bundled")

    def reopen(self) -> None:
        """Read the files of the open model again."""
        self._window.opening.reopen()

    def import_data(self) -> None:
        """Ask for a table and look into it."""
        self._window.importing.ask()

    def export_window(self) -> None:
        """Ask for a file and write the window's picture."""
        path, _ = QFileDialog.getSaveFileName(
            self._window, "Export window", "kav.png", "PNG, SVG, PDF (*.png *.svg *.pdf)"
        )
        if path:
            path, scale = with_suffix(path), self._window.devicePixelRatioF()
            announced(self._session, path, partial(export, self._window, path, scale=scale))

    def close(self) -> None:
        """Quit."""
        self._window.close()

    # Edit

    def undo(self) -> None:
        """Take the last change back."""
        self._session.undo()

    def redo(self) -> None:
        """Do it again."""
        self._session.redo()

    def reset_edits(self) -> None:
        """Show the model (or the samples) as it is."""
        self._session.clear_edits()

    def paste_samples(self) -> None:
        """Show the table on the clipboard."""
        self._window.importing.paste()

    def edit_prompt(self) -> None:
        """Put the cursor into the prompt."""
        self._window.prompt_bar.edit_prompt()

    # View

    def show_head_scene(self) -> None:
        """Show a head of the model."""
        self._session.set_scene("head")
        self._update()

    def show_regression_scene(self) -> None:
        """Show the regression."""
        self._session.set_scene("regression")
        self._update()

    def back(self) -> None:
        """Return to the place before."""
        self._session.back()

    def forward(self) -> None:
        """Take back a back."""
        self._session.forward()

    def use_light_theme(self) -> None:
        """Dark ink on a light page."""
        self._window.set_theme("light")
        self._update()

    def use_dark_theme(self) -> None:
        """Light ink on a dark page; once more, and the page is light again."""
        self._window.set_theme("light" if theme.current().dark else "dark")
        self._update()

    def reset_layout(self) -> None:
        """Put all cards back in their places."""
        self._window.arrange()

    # Model

    def next_head(self) -> None:
        """Select the next head, through all layers."""
        self._step_head(1)

    def previous_head(self) -> None:
        """Select the head before."""
        self._step_head(-1)

    def next_query(self) -> None:
        """Select the next token as query."""
        self._step_query(1)

    def previous_query(self) -> None:
        """Select the token before as query."""
        self._step_query(-1)

    def remove_head(self) -> None:
        """Scale the selected head to 0."""
        if self._session.model is not None:
            selection = self._session.selection
            self._session.put_edit(ScaleHead(selection.layer, selection.head, 0.0))

    def _step_head(self, step: int) -> None:
        if self._session.model is None:
            return
        config, selection = self._session.model.config, self._session.selection
        place = selection.layer * config.n_heads + selection.head + step
        if 0 <= place < config.n_layers * config.n_heads:
            self._session.select_head(*divmod(place, config.n_heads))

    def _step_query(self, step: int) -> None:
        if self._session.trace is None:
            return
        n_tokens = len(self._session.trace.tokens.ids)
        query = self._session.selection.query
        place = (n_tokens - 1 if query is None else query) + step
        if 0 <= place < n_tokens:
            self._session.select_query(place)

    # Help

    def show_shortcuts(self) -> None:
        """List all keys."""
        ShortcutsDialog(self._window).open()

    def show_about(self) -> None:
        """Show versions, device and licence."""
        AboutDialog(self._session, self._window).open()


_ALWAYS = ("model.open", "model.file", "model.bundled")
