"""What tests of panels share: the bundled model, and a session that shows it and answers at once."""

import pytest
from PySide6.QtWidgets import QMenu

import kav
from ui.engine import Engine
from ui.session import Session


@pytest.fixture(scope="package")
def bundled():
    return kav.open_model("bundled")


@pytest.fixture
def session(qtbot, bundled):
    engine = Engine.inline()
    session = Session(engine)
    session.set_model(bundled)
    yield session
    engine.close()


@pytest.fixture
def menu_of():
    """Open what is behind the dots of a row: its entries by their text, a submenu where there is one."""
    menus = []

    def opened(more):
        more.open()
        menus.append(more.findChild(QMenu))
        return {action.text(): action.menu() or action for action in menus[-1].actions()}

    yield opened
    for menu in menus:
        menu.close()
