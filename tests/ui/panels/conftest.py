"""What tests of panels share: the bundled model, and a session that shows it and answers at once."""

import pytest

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
