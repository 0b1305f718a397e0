"""The style sheet of the stock Qt controls, written from the table of a theme. Fonts are never named here.

Own widgets paint themselves; this covers what Qt draws: menus, push buttons, line edits, scroll bars, dialogs.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

_SHEET = Template("""
QMainWindow, QDialog { background: $window; }
QMainWindow::separator { background: $window; width: 8px; height: 8px; }
QMenuBar { background: $window; color: $text2; padding: 0 12px; spacing: 0; }
QMenuBar::item { background: transparent; padding: 5px 12px; border-radius: 4px; }
QMenuBar::item:selected { background: $pressed; color: $ink; }
QMenu { background: $panel; color: $ink; border: 1px solid $ctrl; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 24px; border-radius: 4px; }
QMenu::item:selected { background: $hover; }
QMenu::item:disabled { color: $disabled; }
QMenu::separator { height: 1px; background: $grid; margin: 4px 8px; }
QToolTip { background: $ink; color: $panel; border: 1px solid $ink; padding: 5px 9px; }
QStatusBar { background: $window; color: $muted; }
QStatusBar::item { border: 0; }
QPushButton { background: $panel; color: $ink; border: 1px solid $ctrl; border-radius: 6px; padding: 0 14px;
  min-height: 24px; max-height: 24px; }
QPushButton:hover { background: $hover; }
QPushButton:pressed { background: $pressed; }
QPushButton:focus { border: 2px solid $query; padding: 0 13px; min-height: 22px; max-height: 22px; }
QPushButton:disabled { background: $sunk; color: $disabled; border: 1px solid $border; }
QPushButton[primary="true"] { background: $query; color: $onquery; border: 1px solid $query; }
QPushButton[primary="true"]:focus { border: 2px solid $ink; }
QPushButton[flat="true"] { background: transparent; color: $query; border: 0; min-height: 26px; max-height: 26px; }
QPushButton[flat="true"]:focus { border: 2px solid $query; min-height: 22px; max-height: 22px; }
QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox { background: $panel; color: $ink; border: 1px solid $ctrl;
  border-radius: 6px; padding: 0 7px; selection-background-color: $query; selection-color: $onquery; }
QLineEdit { min-height: 24px; max-height: 24px; }
QLineEdit:focus { border: 2px solid $query; padding: 0 6px; min-height: 22px; max-height: 22px; }
QPlainTextEdit:focus, QTextEdit:focus { border: 2px solid $query; }
QLineEdit:disabled { background: $sunk; color: $disabled; border-color: $border; }
QLineEdit[wrong="true"] { color: $error; }
QLineEdit[bare="true"] { background: transparent; border: 0; padding: 0 2px; }
QLineEdit[bare="true"]:focus { border: 2px solid $query; padding: 0; }
QAbstractItemView { background: $panel; color: $ink; border: 1px solid $ctrl; outline: 0; }
QAbstractItemView[bare="true"] { border: 0; }
QAbstractItemView::item { min-height: 24px; padding: 0 8px; }
QAbstractItemView::item:hover, QAbstractItemView::item:selected { background: $hover; color: $ink; }
QAbstractItemView::item:disabled { color: $disabled; }
QHeaderView::section { background: $panel; color: $muted; border: 0; border-bottom: 1px solid $border; padding: 4px; }
QScrollBar { background: transparent; border: 0; }
QScrollBar:vertical { width: 10px; }
QScrollBar:horizontal { height: 10px; }
QScrollBar::handle { background: $border; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 24px; }
QScrollBar::handle:horizontal { min-width: 24px; }
QScrollBar::handle:hover { background: $ctrl; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
""")


def style_sheet(colours: Mapping[str, str]) -> str:
    """Return the style sheet of a table of colours: the tokens of a theme, and `onquery` for text on `query`."""
    return _SHEET.substitute(colours)
