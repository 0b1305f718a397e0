from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import Qt

from kav.views.attribution import Part, Result
from kav.views.words import Label
from ui.widgets.waterfall import Waterfall, tip
from ui.widgets.waterfall_paint import BAR, THIN


def result(n_small: int = 12, *, before: bool = False) -> Result:
    """One selected head with two sources, a few large parts and many small ones."""
    rng = np.random.default_rng(5)
    values = [3.5, -0.56, -0.45, *rng.normal(scale=0.02, size=n_small)]
    head = Part("head", "head 1.1", 13.89, 0.0, selected=True, layer=1, head=1, before=1.0 if before else None)
    sources = [
        Part("source", "from 7 music", 13.8, 0.0, label=Label("music", 7, exact='" music"'), is_key=True, index=7),
        Part("other-sources", "from 13 other keys", 0.09, 0.0),
    ]
    rest = [Part("head", f"head 0.{i}", float(v), 0.0, layer=0, head=i) for i, v in enumerate(values)]
    total = 13.89 + float(sum(values))
    target = Label("music", exact='" music"')
    return Result("head", (), (head, *sources, *rest), total, None, target, Label("Pharaoh", 13), "logits")


@pytest.fixture
def waterfall(qtbot):
    widget = Waterfall()
    qtbot.addWidget(widget)
    widget.resize(444, 228)
    widget.set_result(result())
    widget.show()
    return widget


def tops(waterfall):
    return [part for part in waterfall.rows if part.kind not in ("source", "other-sources", "total")]


@pytest.mark.parametrize("height", [100, 157, 228, 400, 900])
def test_shown_rows_add_up_to_the_sum_however_many_fit(waterfall, height):
    waterfall.resize(444, height)
    assert sum(part.value for part in tops(waterfall)) == pytest.approx(waterfall.rows[-1].value, abs=1e-12)
    assert waterfall.row_rect(len(waterfall.rows) - 1).bottom() <= height


def test_more_rows_are_shown_when_there_is_more_room(waterfall):
    few = len(waterfall.rows)
    waterfall.resize(444, 600)
    assert len(waterfall.rows) > few


def test_each_bar_starts_where_the_one_before_ended(waterfall):
    rows = [i for i, part in enumerate(waterfall.rows) if part in tops(waterfall)]
    for first, second in pairwise(rows):
        a, b, part = waterfall.bar_rect(first), waterfall.bar_rect(second), waterfall.rows[second]
        joints = {round(a.left()), round(a.right())}
        start = b.left() if part.value >= 0 else b.right()
        assert any(abs(start - joint) <= 1.5 for joint in joints)


def test_sources_have_thin_bars_inside_the_bar_of_their_head(waterfall):
    head, source = waterfall.bar_rect(0), waterfall.bar_rect(1)
    assert (head.height(), source.height()) == (BAR, THIN)
    assert source.left() >= head.left() - 1
    assert source.right() <= head.right() + 1


def test_a_click_on_a_row_hands_out_its_part(waterfall, qtbot):
    for index, kind in enumerate(("head", "source", "other-sources", "head")):
        with qtbot.waitSignal(waterfall.partActivated) as signal:
            place = waterfall.row_rect(index).center().toPoint()
            qtbot.mouseClick(waterfall, Qt.MouseButton.LeftButton, pos=place)
        assert signal.args[0] is waterfall.rows[index]
        assert signal.args[0].kind == kind


def test_arrows_and_return_work_without_the_mouse(waterfall, qtbot):
    with qtbot.waitSignal(waterfall.partActivated) as signal:
        qtbot.keyClick(waterfall, Qt.Key.Key_Down)
        qtbot.keyClick(waterfall, Qt.Key.Key_Down)
        qtbot.keyClick(waterfall, Qt.Key.Key_Return)
    assert signal.args[0] is waterfall.rows[1]


def test_the_axis_holds_the_bars_of_before_the_edit(qtbot):
    waterfall = Waterfall()
    qtbot.addWidget(waterfall)
    waterfall.resize(444, 228)
    part = Part("head", "head 1.1", 1.0, 0.0, selected=True, layer=1, head=1, before=10.0)
    waterfall.set_result(Result("head", (), (part,), 1.0, 10.0, Label("music"), None, "logits"))
    columns = waterfall._columns()
    assert columns.high == 10.0
    assert waterfall.bar_rect(0).width() == pytest.approx((columns.right - columns.left) / 10)
    assert not waterfall.grab().isNull()


def test_the_tooltip_says_value_share_and_what_was():
    part = Part("head", "head 1.1", -2.0, 0.0, before=1.0)
    text = tip(part, Result("head", (), (part,), 4.0, None, None, None, "logits"))
    assert text == "head 1.1: −2.00 logits, −50 % of the sum, was +1.00"
