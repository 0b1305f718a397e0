"""The two small dialogs say all keys, and what this program is."""

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialogButtonBox, QLabel

from ui.actions import COMMANDS
from ui.dialogs import AboutDialog, ShortcutsDialog


@pytest.fixture
def shown(make_window):
    """Open a dialog over a window."""

    def show(kind):
        window = make_window()
        dialog = kind(window) if kind is ShortcutsDialog else kind(window.session, window)
        dialog.show()
        dialogs.append(dialog)
        return window, dialog

    dialogs = []
    yield show
    for dialog in dialogs:
        dialog.close()


def test_every_shortcut_of_the_menus_is_listed_with_its_keys(shown):
    """Story: beside "Redo", which has two, stood none."""
    window, dialog = shown(ShortcutsDialog)
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    for command in COMMANDS:
        if command.keys:
            keys = " or ".join(key.toString() for key in window.actions_by_name[command.name].shortcuts())
            assert keys
            assert texts[texts.index(command.text) - 1] == keys
    assert "Ctrl+Shift+Z or Ctrl+Y" in texts
    assert "" not in texts
    for label in dialog.findChildren(QLabel):
        assert label.width() >= label.sizeHint().width(), label.text()


@pytest.mark.parametrize("kind", [ShortcutsDialog, AboutDialog])
def test_buttons_have_words_and_no_stock_pictures(shown, kind):
    _, dialog = shown(kind)
    for button in dialog.findChild(QDialogButtonBox).buttons():
        assert button.text()
        assert button.icon().isNull()


def test_what_about_says_can_be_copied(shown):
    window, dialog = shown(AboutDialog)
    dialog.findChild(object, "about.copy").click()
    text = QGuiApplication.clipboard().text()
    assert window.session.model.name in text
    assert "NumPy" in text
