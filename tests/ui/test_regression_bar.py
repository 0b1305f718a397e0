"""What is typed and clicked above the cards in the regression scene."""

import numpy as np
import pytest

from kav.regression.samples import Samples


@pytest.fixture
def window(regression_window):
    return regression_window


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("-0.02", "bandwidth h must be > 0, got −0.02"),
        ("h = 0", "bandwidth h must be > 0, got 0"),
        ("nan", "bandwidth h must be a number, got 'nan'"),
        ("0,5,1", "bandwidth h must be a number, got '0,5,1'"),
        ("1e9", "for these samples, got 1e+09"),
        ("1e-12", "for these samples, got 1e-12"),
    ],
)
def test_a_typed_bandwidth_out_of_its_range_is_refused_with_the_reason(window, qtbot, typed, words):
    """Case 29: the last good bandwidth stays, and the sentence says what is allowed."""
    session, h = window.session, window.session.document.h
    with qtbot.waitSignal(session.problemRaised) as raised:
        window.prompt_bar.regression.bandwidth.typed.emit(typed)
    assert words in raised.args[0].message
    assert session.document.h == h


def test_a_typed_bandwidth_within_its_range_is_taken(window):
    window.prompt_bar.regression.bandwidth.typed.emit("h = 0.7")
    assert window.session.document.h == 0.7
    assert window.result("fit").h == 0.7


def test_a_chip_takes_back_its_own_edit(window):
    session, chip = window.session, window.prompt_bar.chip
    session.set_sample_dose(3, 0.0)
    session.set_sample_response(5, 2.0)
    session.set_sample_response(6, -1.0)
    chip.removeRequested.emit(1)
    assert (session.document.doses, session.document.responses) == (((3, 0.0),), ((6, -1.0),))
    chip.removeRequested.emit(0)
    assert (session.document.doses, session.document.responses) == ((), ((6, -1.0),))


def test_a_long_prediction_is_shown_whole_and_the_rug_holds_still_while_the_query_is_dragged(window, qtbot):
    """Story: "Predicts f(0) = −0.00117 ± 0.…" at every width of the window."""
    predicts = window.prompt_bar.regression.predicts
    x = np.linspace(1.7e9, 1.701e9, 50)
    window.session.set_samples(Samples(x, 2e-8 + 1e-9 * np.sin(x / 1e5), "clock"), h=3e4, x_query=1.7004e9)
    qtbot.waitUntil(lambda: predicts.width() >= predicts.sizeHint().width() - 1)
    width = predicts.width()
    for query in np.linspace(1.7002e9, 1.7008e9, 7):
        window.session.set_x_query(float(query), merge="query")
        assert predicts.width() == width
