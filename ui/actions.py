"""Every command of the window, once: menus, shortcuts and the F1 list are made from this table."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar


@dataclass(frozen=True)
class Command:
    """One command: its place in the menus, its words and keys, and the slot of `Commands` that does it."""

    name: str  # objectName of the action
    menu: str
    text: str
    slot: str
    keys: str = ""
    tip: str = ""
    checkable: bool = False
    group: int = 0  # a rule is drawn between groups


COMMANDS: tuple[Command, ...] = (
    Command("model.open", "File", "Open model folder…", "open_model_folder", "Ctrl+O", "A folder with safetensors"),
    Command("model.file", "File", "Open model file…", "open_model_file", "Ctrl+Shift+O", ".gguf or .safetensors"),
    Command("data.import", "File", "Import data…", "import_data", "Ctrl+I", "Samples from a CSV or TSV file", group=1),
    Command("export.window", "File", "Export window…", "export_window", "Ctrl+E", "PNG, SVG or PDF", group=1),
    Command("app.quit", "File", "Quit", "close", "Ctrl+Q", group=2),
    Command("edit.undo", "Edit", "Undo", "undo", "Ctrl+Z", "Take the last edit or drag back"),
    Command("edit.redo", "Edit", "Redo", "redo", "Ctrl+Shift+Z; Ctrl+Y", "Do it again"),
    Command("edit.reset", "Edit", "Reset edits", "reset_edits", "Ctrl+0", "Show the model as it runs", group=1),
    Command("data.paste", "Edit", "Paste samples", "paste_samples", "Ctrl+V", "Two columns of numbers", group=2),
    Command("prompt.edit", "Edit", "Edit prompt", "edit_prompt", "F2", "Type; every panel follows", group=2),
    Command("view.head", "View", "Attention head", "show_head_scene", "Ctrl+H", checkable=True),
    Command("view.regression", "View", "Regression", "show_regression_scene", "Ctrl+R", checkable=True),
    Command("view.back", "View", "Back", "back", "Alt+Left", "To the selection before", group=1),
    Command("view.forward", "View", "Forward", "forward", "Alt+Right", group=1),
    Command("view.light", "View", "Light", "use_light_theme", checkable=True, group=2),
    Command("view.dark", "View", "Dark", "use_dark_theme", "Ctrl+D", "Again: back to light", checkable=True, group=2),
    Command("view.reset", "View", "Reset layout", "reset_layout", "Ctrl+Shift+R", "Panels in their places", group=3),
    Command("model.bundled", "Model", "Bundled induction model", "open_bundled", tip="The model of the first start"),
    Command("model.reopen", "Model", "Open again", "reopen", "F5", "Read the model's files again"),
    Command("model.next_head", "Model", "Next head", "next_head", "Ctrl+Down", group=1),
    Command("model.previous_head", "Model", "Previous head", "previous_head", "Ctrl+Up", group=1),
    Command("model.next_query", "Model", "Next query", "next_query", "Ctrl+Right", group=2),
    Command("model.previous_query", "Model", "Previous query", "previous_query", "Ctrl+Left", group=2),
    Command("model.zero_head", "Model", "Remove selected head", "remove_head", "Ctrl+Backspace", group=3),
    Command("help.keys", "Help", "Keyboard shortcuts", "show_shortcuts", "F1"),
    Command("help.about", "Help", "About KAV", "show_about"),
)

# What the keys do inside a panel, for the F1 list; the panels themselves handle them.
PANEL_KEYS: tuple[tuple[str, str], ...] = (
    ("Ctrl+1 … Ctrl+5", "one panel alone, in reading order; again or Esc: all of them"),
    ("click, Shift + click", "on a token: make it the query, the key"),
    ("Tab", "to the next control, handle or plot"),
    ("arrow keys", "move the selection of a matrix, or the handle of a plot"),
    ("Shift + arrow keys", "ten times as far; in the token strip: move the key"),
    ("wheel, + and −, 0, drag", "on a large matrix: closer, further off, all of it; move the part that is seen"),
    ("Home, End", "first and last place of a handle"),
    ("Del", "delete the selected sample"),
    ("double click", "on the kernel fit: add a sample; on a panel's title: maximise"),
    ("drag and drop", "a model folder or file, onto the window: open it"),
    ("Esc", "cancel what runs or opens, close a notice or the formula card, leave the prompt"),
)


def build_menus(bar: QMenuBar, target: QObject, commands: tuple[Command, ...] = COMMANDS) -> dict[str, QAction]:
    """Fill the menu bar and return the actions by name; each triggers the target's method of the command's slot."""
    actions: dict[str, QAction] = {}
    menus: dict[str, QMenu] = {}
    groups: dict[str, int] = {}
    for command in commands:
        menu = menus.get(command.menu)
        if menu is None:
            menu = menus[command.menu] = bar.addMenu(command.menu)
            menu.setObjectName(f"menu.{command.menu.lower()}")
        elif groups[command.menu] != command.group:
            menu.addSeparator()
        groups[command.menu] = command.group
        actions[command.name] = _action(command, target)
        menu.addAction(actions[command.name])
    return actions


def _action(command: Command, target: QObject) -> QAction:
    action = QAction(command.text, target)
    action.setObjectName(command.name)
    action.setCheckable(command.checkable)
    if command.keys:
        action.setShortcuts(QKeySequence.listFromString(command.keys))
    action.setToolTip(command.tip or command.text)
    action.setStatusTip(command.tip)
    action.triggered.connect(getattr(target, command.slot))
    return action
