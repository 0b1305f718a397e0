import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QLocale, Qt

from kav.views.words import fixed
from ui.widgets.value_field import ValueField, parse_number

GERMAN = QLocale(QLocale.Language.German, QLocale.Country.Germany)
ENGLISH = QLocale(QLocale.Language.English, QLocale.Country.UnitedStates)


@pytest.fixture
def field(qtbot):
    widget = ValueField(label="bandwidth h", rule=lambda h: "" if h > 0 else f"bandwidth h must be > 0, got {fixed(h)}")
    qtbot.addWidget(widget)
    widget.set_value(0.45)
    widget.show()
    return widget


def enter(qtbot, field, text):
    field.clear()
    field.insert(text)  # QTest types only ASCII: a real minus sign aborts it
    qtbot.keyClick(field, Qt.Key.Key_Return)


def test_decimal_comma_counts_where_it_is_written_and_is_refused_elsewhere():
    # A spin box that did not know the other decimal mark cut "0,999" to 0 without a word.
    assert parse_number("0,999", GERMAN) == 0.999
    assert parse_number("0,999", ENGLISH) is None
    assert parse_number("0.999", GERMAN) == 0.999
    assert parse_number("1,000.5", ENGLISH) is None


def test_real_minus_sign_is_a_minus():
    assert parse_number("−0.70", ENGLISH) == -0.7
    assert parse_number(" -2 ", ENGLISH) == -2


@pytest.mark.parametrize("text", ["", "abc", "1_000", "nan", "inf", "1 2", "--3", "0x10"])
def test_what_is_no_number_is_none(text):
    assert parse_number(text, ENGLISH) is None


@given(st.floats(-1e4, 1e4), st.sampled_from([GERMAN, ENGLISH]))
def test_field_accepts_every_text_it_displays(value, locale):
    assert parse_number(fixed(value), locale) == pytest.approx(value, abs=0.005001)


def test_typed_number_is_announced_and_shown_with_two_decimals(qtbot, field):
    with qtbot.waitSignal(field.valueEntered) as caught:
        enter(qtbot, field, "0.5")
    assert caught.args == [0.5]
    assert field.text() == "0.50"
    assert field.value() == 0.5


@pytest.mark.parametrize("text", ["-0.2", "−0.2", "0", "wide"])
def test_refused_text_stays_in_the_colour_of_errors_and_the_last_good_value_counts(qtbot, field, text):
    field.valueEntered.connect(lambda value: pytest.fail("a refused text is no value"))
    with qtbot.waitSignal(field.refused) as caught:
        enter(qtbot, field, text)
    assert "must" in caught.args[0]
    assert field.text() == text
    assert field.value() == 0.45
    assert field.property("wrong")
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == "0.45"
    assert not field.property("wrong")


def test_leaving_the_field_enters_what_was_typed(qtbot, field):
    said = []
    field.valueEntered.connect(said.append)
    field.setFocus()
    field.clear()
    qtbot.keyClicks(field, "0.6")
    field.clearFocus()
    if not said:  # the offscreen platform may never have given the focus
        field.enter()
    assert said == [0.6]


def test_setting_and_confirming_the_shown_value_is_silent(qtbot, field):
    field.valueEntered.connect(lambda value: pytest.fail("nothing was entered"))
    field.set_value(0.123456)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert field.value() == 0.123456
