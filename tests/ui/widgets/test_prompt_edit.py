import pytest
from PySide6.QtCore import Qt

from ui.widgets.prompt_edit import PromptEdit


@pytest.fixture
def prompt(qtbot):
    widget = PromptEdit()
    qtbot.addWidget(widget)
    widget.resize(600, 42)
    widget.set_text("one two")
    widget.show()
    return widget


def test_pencil_opens_the_line_and_typing_is_live(qtbot, prompt):
    said = []
    prompt.textEdited.connect(said.append)
    qtbot.mouseClick(prompt.pencil, Qt.MouseButton.LeftButton)
    assert prompt.is_editing()
    prompt.line.end(False)
    qtbot.keyClicks(prompt.line, "!x")
    assert said == ["one two!", "one two!x"]
    qtbot.keyClick(prompt.line, Qt.Key.Key_Return)
    assert not prompt.is_editing()
    assert prompt.text() == "one two!x"


def test_f2_opens_and_escape_gives_the_old_text_back(qtbot, prompt):
    said = []
    qtbot.keyClick(prompt, Qt.Key.Key_F2)
    prompt.textEdited.connect(said.append)
    prompt.line.end(False)
    qtbot.keyClicks(prompt.line, " a")
    qtbot.keyClick(prompt.line, Qt.Key.Key_Escape)
    assert said[-1] == prompt.text() == "one two"
    assert not prompt.is_editing()


def test_text_set_from_outside_does_not_disturb_the_typing(qtbot, prompt):
    prompt.set_editing(True)
    prompt.line.end(False)
    qtbot.keyClicks(prompt.line, "s")
    prompt.set_text("one two")  # a late answer about the text before
    assert prompt.line.text() == "one twos"
