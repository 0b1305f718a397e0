import pytest
from hypothesis import given
from hypothesis import strategies as st

from kav.errors import KavError
from kav.model.edit_text import format_edit, parse_edit
from kav.model.edits import Edit, MaskKeys, MoveQuery, ScaleEdge, ScaleHead, ScaleMlp, SetScore, SetTemperature

index = st.integers(0, 99)
place = st.integers(-99, 99)
places = st.lists(place, min_size=1, max_size=4).map(tuple)
scale = st.integers(-300, 300).map(lambda hundredths: hundredths / 100)
baseline = st.sampled_from(["zero", "mean", "resample"])
edits = st.one_of(
    st.builds(ScaleHead, index, index, scale, baseline, st.none() | places),
    st.builds(ScaleMlp, index, scale, baseline, st.none() | places),
    st.builds(ScaleEdge, index, index, place, scale, st.none() | place),
    st.builds(MaskKeys, index, index, places, st.none() | places),
    st.builds(SetScore, index, index, place, place, scale),
    st.builds(SetTemperature, index, index, scale.map(abs)),
    st.builds(MoveQuery, index, index, place, place, scale),
)


@given(edits)
def test_reading_what_was_written_gives_the_same_edit(edit):
    assert parse_edit(format_edit(edit)) == edit


@given(edits)
def test_writing_what_was_read_gives_the_same_text(edit):
    text = format_edit(edit)
    assert format_edit(parse_edit(text.upper().replace("×", "x"))) == text


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("head 0.0 x 0", ScaleHead(0, 0, 0.0)),
        ("head 0.0 × 0.00", ScaleHead(0, 0, 0.0)),
        ("  Head 12.3x-1 ", ScaleHead(12, 3, -1.0)),
        ("head 0.0 × −0.5 from mean at 3, -1", ScaleHead(0, 0, -0.5, "mean", (3, -1))),
        ("mlp 1 x 0.5", ScaleMlp(1, 0.5)),
        ("beta 1.1 x 2", SetTemperature(1, 1, 2.0)),
        ("edge 1.1 key 3 x 0 at 13", ScaleEdge(1, 1, 3, 0.0, 13)),
        ("mask 1.1 key 0,3", MaskKeys(1, 1, (0, 3))),
        ("score 1.1 query 13 key 3 = 1.5", SetScore(1, 1, 13, 3, 1.5)),
        ("query 1.1 at 13 towards 12 by .5", MoveQuery(1, 1, 13, 12, 0.5)),
    ],
)
def test_forms_a_person_would_type_are_read(text, edit):
    assert parse_edit(text) == edit


def test_the_chip_says_head_times_two_decimals():
    assert format_edit(ScaleHead(0, 0, 0.0)) == "head 0.0 × 0.00"


def test_a_scale_that_rounds_to_zero_has_no_sign():
    assert format_edit(ScaleHead(0, 0, -0.001)) == "head 0.0 × 0.00"


@pytest.mark.parametrize(
    "text", ["", "head 0 x 0", "head 0.0", "head 0.0 x", "head 0.0 x nan", "mlp 0.0 x 1", "tail 0.0 x 1"]
)
def test_any_other_text_is_refused_with_an_example(text):
    with pytest.raises(KavError, match=r'must read like "head 0\.0 x 0"'):
        parse_edit(text)


def test_a_negative_inverse_temperature_is_refused():
    with pytest.raises(KavError, match=r"beta must be >= 0, got -1"):
        parse_edit("beta 0.0 x -1")


def test_an_edit_of_unknown_kind_is_refused_not_misnamed():
    with pytest.raises(KavError, match="got Edit"):
        format_edit(Edit(0))
