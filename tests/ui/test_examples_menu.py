"""The examples: one click puts the point on screen, from whatever is open."""

import pytest

from kav.examples import EXAMPLES
from kav.model.edits import ScaleHead

pytestmark = pytest.mark.window


@pytest.fixture
def window(make_window):
    return make_window()


@pytest.mark.parametrize("number", range(len(EXAMPLES)), ids=[example.title for example in EXAMPLES])
def test_an_example_is_put_on_screen_whatever_was_there(window, number):
    example = EXAMPLES[number]
    window.session.set_scene("regression")
    window.session.put_edit(ScaleHead(0, 0, 0.0))
    action = next(action for action in window.examples.menu.actions() if action.text() == example.title)
    action.trigger()
    shown = window.result("attention")
    assert (shown.kind, shown.layer, shown.head) == ("head", example.layer, example.head)
    assert window.session.prompt == example.prompt
    assert window.session.edits == ()
    assert window.session.selection.target == window.session.model.find_token(example.target)
    assert window.status.findChild(object, "status.hint").text().startswith(example.look[:20])
    assert all(panel.error is None for panel in window.panels.values())


def test_the_sentence_goes_when_the_prompt_is_another_one(window):
    window.examples.show_example(EXAMPLES[0])
    window.session.set_prompt("The old dog saw the old")
    assert not window.status.findChild(object, "status.hint").text().startswith(EXAMPLES[0].look[:20])
