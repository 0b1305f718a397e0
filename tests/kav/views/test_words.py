"""Numbers and sentences read the same everywhere, so they are tested as text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kav.views.words import Label, Piece, fixed, growth, number, numbers, plain, share, signed, token_pieces

finite = st.floats(min_value=-1e9, max_value=1e9)
_ASCII = str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")


def _value(text: str) -> float:
    return float(text.translate(_ASCII).replace("·10", "e"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (16.74, "16.7"),
        (-0.5612, "−0.561"),
        (0.996, "0.996"),
        (0.28, "0.28"),
        (1.0, "1.00"),
        (9.999, "10.0"),
        (123.4, "123"),
        (1234.0, "1234"),
        (0.0313, "0.0313"),
        (8e-15, "8·10⁻¹⁵"),
        (-1.24e-7, "−1.2·10⁻⁷"),
        (250_000.0, "2.5·10⁵"),
        (0.0, "0"),
        (math.nan, "undefined"),
        (-math.inf, "−∞"),
    ],
)
def test_number_has_three_significant_digits(value, text):
    assert number(value) == text


@given(finite)
def test_number_is_within_half_a_unit_of_its_third_digit(value):
    tolerance = 0.0051 if abs(value) >= 0.001 else 0.051
    assert _value(number(value)) == pytest.approx(value, rel=tolerance)


@pytest.mark.parametrize(
    ("value", "text"),
    [(13.894, "+13.9"), (10.5, "+10.5"), (-0.56, "−0.56"), (0.006, "+0.0060"), (0.0, "0.00"), (-0.0004, "0.00"),
     (-0.002, "−0.0020"), (256.4, "+256"), (-4321.0, "−4321"), (math.nan, "undefined"), (math.inf, "∞")],
)  # fmt: skip
def test_signed_always_carries_its_sign(value, text):
    assert signed(value) == text


@given(finite)
def test_a_number_reads_the_same_with_and_without_its_sign(value):
    """A person read `+10`, `+10.50` and `10.5` for one and the same response."""
    if abs(value) >= 0.001:
        assert signed(value).lstrip("+") == number(value)


def test_numbers_far_from_zero_keep_the_decimals_that_tell_them_apart():
    assert (number(1003.254, 2), signed(1003.254, 2)) == ("1003.25", "+1003.25")
    assert (number(4.2, 2), signed(-0.7, 2), signed(2.5e-7, 9)) == ("4.20", "−0.70", "+2.5·10⁻⁷")
    assert (number(0.5, 3), signed(0.00004, 3)) == ("0.500", "0.00")


@given(finite)
def test_signed_never_shows_an_ascii_minus_or_a_wrong_sign(value):
    text = signed(value)
    assert "-" not in text
    assert (text[0] == "+") == (value > 0) or set(text) <= set("0.")


@pytest.mark.parametrize(
    ("value", "text"), [(0.9958, "0.996"), (0.0009, "<0.001"), (0.001, "0.001"), (0.0, "0.000"), (1.0, "1.000")]
)
def test_share_has_three_decimals(value, text):
    assert share(value) == text


@pytest.mark.parametrize(
    ("slope", "text"),
    [(2.82, "n²·⁸"), (1.0, "n¹·⁰"), (-0.03, "about constant"), (0.1, "about constant"), (-0.5, "n⁻⁰·⁵"),
     (math.nan, "undefined")],
)  # fmt: skip
def test_growth_is_a_power_of_n_or_about_constant(slope, text):
    assert growth(slope) == text


def test_dose_has_two_decimals_and_no_negative_zero():
    assert (fixed(1.0), fixed(-0.001), fixed(-1.0)) == ("1.00", "0.00", "−1.00")


def test_numbers_of_one_sentence_share_their_decimals():
    assert numbers((16.74, 5.0, 2.85)) == ("16.7", "5.0", "2.9")
    assert numbers((16.7, -0.09)) == ("16.7", "−0.1")


def test_numbers_that_differ_look_different():
    """A sentence said: without sample 48 f is −0.69; not renormalised −0.69, was −0.69."""
    assert numbers((-0.6912, -0.6909, -0.7)) == ("−0.6912", "−0.6909", "−0.7000")
    assert numbers((1003.2, 1003.7), 2, sign=True) == ("+1003.20", "+1003.70")
    assert numbers((0.0, -0.0001, 1.0), sign=True) == ("0.0000", "−0.0001", "+1.0000")
    assert numbers((16.74, 5.0, 5.0001)) == ("16.7", "5.0", "5.0")
    assert numbers((25.312, 25.309, 25.309)) == ("25.312", "25.309", "25.309")
    assert numbers((5.0, 5.0)) == ("5.00", "5.00")
    assert numbers((5.0, 5.0 + 1e-9)) == ("5.00", "5.00")
    assert numbers((16.74, 16.74, 2.85)) == ("16.7", "16.7", "2.9")


def test_piece_of_a_word_is_shown_with_an_ellipsis():
    assert str(Label("d", 4, joined=True)) == "4 …d"
    assert str(Label("music", 7)) == "7 music"
    assert Label("d", joined=True).text == "d"


def test_reading_line_as_text_has_its_marks():
    pieces = (Piece("Head 1.1 at "), *token_pieces(Label("Pharaoh", 13), "query"), Piece(" looks"))
    assert plain(pieces) == "Head 1.1 at ▼ 13 Pharaoh looks"
