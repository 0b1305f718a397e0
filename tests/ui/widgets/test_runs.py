"""A line of runs is as wide as it says, and is cut so that the cut is seen."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QColor, QImage, QPainter

from kav.views.words import Label, Piece
from ui.theme import current, font
from ui.widgets.drawing import text_width
from ui.widgets.runs import Run, fitted, label_runs, paint_line, runs_of, title_runs, width_of

LINE = (Run("Head 1.0 moves "), Run("+0.0216", "#5E2472", weight=600), Run(" of "), Run(" carriage", mark="target"))
words = st.text("abc …WM", min_size=1, max_size=12)
lines = st.lists(st.builds(Run, words, mark=st.sampled_from(["", "key", "query"])), min_size=1, max_size=5).map(tuple)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=lines, width=st.floats(0, 400))
def test_a_line_fits_or_ends_in_dots(qapp, runs, width):
    cut = fitted(runs, width)
    if width_of(runs) <= width + 0.5:
        assert cut == runs
    else:
        assert cut[-1].text.endswith("…") or cut[-1].text == ""
        assert cut[-1].text != "" or not cut[-1].mark
        dots = text_width("…", font(12))
        assert width_of(cut) <= max(width, dots) + dots + 0.5
        assert cut[:-1] == runs[: len(cut) - 1]


@pytest.mark.parametrize("beyond", range(0, 40, 2))
def test_no_mark_stands_at_the_end_without_its_word(qapp, beyond):
    """Story: a sentence that should end in its target ended in the diamond, and nothing said that it was cut."""
    cut = fitted(LINE, width_of(LINE[:3]) + beyond)
    assert cut[-1].text.endswith("…")
    assert width_of(cut) <= width_of(LINE[:3]) + beyond + 1


def test_a_line_is_painted_as_wide_as_it_says(qapp):
    image = QImage(400, 40, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    with QPainter(image) as painter:
        assert paint_line(painter, LINE, 5.0, 25.0) == pytest.approx(5 + width_of(LINE))
    ink = [x for x in range(400) if any(image.pixelColor(x, y).lightness() < 200 for y in range(40))]
    assert 4 <= min(ink) <= 8
    assert max(ink) <= 6 + width_of(LINE)


def test_a_token_has_figures_before_its_word(qapp):
    plain = label_runs(Label("word", 13))
    assert [(run.text, run.px) for run in plain] == [("13 ", 11), ("word", 12)]
    assert plain[0].color == current().muted
    on_tint = label_runs(Label("word", 13), px=13, weight=600)
    assert on_tint[0].color == current().text2, "muted figures do not read on a tint"
    assert label_runs(Label("word")) == (Run("word"),)
    assert label_runs(Label("d", 4, joined=True))[1].text == "…d"


def test_an_axis_title_is_quiet_where_a_sentence_is_not(qapp):
    pieces = (Piece("logit of "), Piece("word", mark="target"))
    assert [run.color for run in title_runs(pieces)] == [current().muted, current().ink]
    assert [run.color for run in runs_of(pieces)] == [QColor(current().text2).name()] * 2
