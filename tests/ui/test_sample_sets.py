"""The list of sample sets says which of them were changed."""

import pytest

from kav.regression.samples import BUILT_IN, Samples
from ui.engine import Engine
from ui.sample_sets import SampleSets
from ui.session import Session


@pytest.fixture
def session(qtbot):
    engine = Engine.inline()
    session = Session(engine)
    session.set_scene("regression")
    yield session
    engine.close()


def test_samples_that_were_dragged_or_added_to_are_called_edited(session):
    """A dragged built-in set went on calling itself `sine + noise`."""
    sets = SampleSets(session, session)
    first = BUILT_IN[0]

    def title():
        return dict(sets.options())[session.document.samples.name]

    assert title() == first.title == "sine + noise · 48 samples"
    session.move_sample(3, 1.0, 2.0)
    session.end_drag()
    assert title() == "sine + noise, edited · 48 samples"
    session.undo()
    assert title() == first.title
    session.add_sample(1.0, 2.0)
    assert title() == "sine + noise, edited · 49 samples"
    sets.choose(first.name)
    assert title() == first.title
    sets.add(Samples([1.0, 2.0], [3.0, 4.0], "week"))
    assert title() == "week · 2 samples"
    session.add_sample(3.0, 5.0)
    assert title() == "week, edited · 3 samples"
