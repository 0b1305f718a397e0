import pytest

import kav
from ui.engine import Engine
from ui.head_search import HeadSearch
from ui.session import Session
from ui.widgets.choices import Choices
from ui.widgets.pill import Pill


@pytest.fixture(scope="module")
def bundled():
    return kav.open_model("bundled", device="cpu")


@pytest.fixture
def session(qtbot):
    engine = Engine.inline()
    session = Session(engine)
    yield session
    engine.close()


@pytest.fixture
def pill(qtbot, session, bundled):
    """The head's pill of a session on the bundled model."""
    widget = Pill("Head", name="prompt.head")
    qtbot.addWidget(widget)
    HeadSearch(widget, session)
    session.set_model(bundled)
    return widget


def texts(pill):
    rows = pill.findChild(Choices).list
    return [rows.item(i).text() for i in range(rows.count())]


def test_typing_a_role_finds_the_heads_that_have_it(qtbot, session, pill, bundled):
    session.set_prompt("When the red fox met the grey owl, the red fox met the grey")
    pill.set_value("1.0", (1, 0))
    pill.open()
    choices = pill.findChild(Choices)
    assert len(texts(pill)) == bundled.config.n_layers * bundled.config.n_heads
    assert choices.list.currentItem().text().startswith("1.0 "), "the roles arrive and the current row stays"
    qtbot.keyClicks(choices.search, "induc")
    assert texts(pill)
    assert all("induction" in text for text in texts(pill))
    qtbot.keyClicks(choices.search, "tionist")
    assert texts(pill) == []
    assert choices.nothing.isVisible()
    choices.hide()


def test_roles_are_those_of_the_present_prompt(session, pill):
    session.set_prompt("a")
    pill.open()
    before = texts(pill)
    pill.findChild(Choices).hide()
    session.set_prompt("When the red fox met the grey owl, the red fox met the grey")
    pill.open()
    assert texts(pill) != before
    pill.findChild(Choices).hide()
