"""A row gives way in order, only as far as it must, and does not flicker at the edge."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHBoxLayout, QWidget

from ui.widgets.caption import Caption
from ui.widgets.combo import Combo
from ui.widgets.giving_way import GivingWay, at_least

SLACK = 100


class Block(QWidget):
    wide, narrow, short, n_steps = 200, 80, False, 0

    def sizeHint(self):
        return QSize(self.narrow if self.short else self.wide, 20)

    def set_short(self, short):
        self.short = short
        self.n_steps += 1


@pytest.fixture
def row(qtbot):
    owner = QWidget()
    qtbot.addWidget(owner)
    owner.blocks = [Block(owner) for _ in range(3)]
    layout = QHBoxLayout(owner)
    layout.setContentsMargins(5, 0, 5, 0)
    layout.setSpacing(10)
    for block in owner.blocks:
        layout.addWidget(block)
    owner.way = GivingWay(layout, [block.set_short for block in owner.blocks], slack=SLACK)
    return owner


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(widths=st.lists(st.integers(100, 900), min_size=1))
def test_it_fits_whenever_it_can_and_takes_steps_in_order(row, widths):
    for width in widths:
        row.way.fit(width)
        short = [block.short for block in row.blocks]
        assert short == sorted(short, reverse=True)
        assert row.way.n_taken == sum(short)
        assert row.way.wanted() <= width or all(short)
        if row.way.n_taken and row.way.wanted() + 120 + SLACK <= width:
            pytest.fail("it gives way though there is room to spare")


def test_a_row_at_the_edge_stays_as_it_is(row):
    row.way.fit(640)
    assert row.way.n_taken == 0
    row.way.fit(639)
    assert row.way.n_taken == 1
    row.way.fit(640)
    assert row.way.n_taken == 1, "one pixel more is no reason to change again"
    row.way.fit(640 + SLACK)
    assert row.way.n_taken == 0


def test_what_is_hidden_takes_no_room(row):
    row.blocks[2].hide()
    row.way.fit(430)
    assert row.way.n_taken == 0


def test_what_stands_beside_the_row_shares_its_width(row):
    beside = Block(row)
    way = GivingWay(row.layout(), [row.blocks[0].set_short], beside=beside)
    beside.hide()
    way.fit(640)
    assert way.n_taken == 0
    beside.show()
    way.fit(640)
    assert way.n_taken == 1
    assert way.least == 10 + 4 * 10 + 80 + 3 * 200


def test_a_row_that_is_as_it_was_is_left_alone(row):
    row.way.fit(640)
    row.blocks[0].n_steps = 0
    for _ in range(3):
        row.way.fit(640)
    assert row.blocks[0].n_steps == 0, "every step of a drag asks"
    row.blocks[2].hide()
    row.way.fit(640)
    assert row.blocks[0].n_steps > 0
    row.blocks[0].n_steps = 0
    row.way.fit(640, anew=True)
    assert row.blocks[0].n_steps > 0


def test_a_list_may_be_pressed_to_what_is_chosen_a_caption_not(qtbot):
    combo = Combo([(0, "head 1.0 (selected)"), (1, "head 0.0"), (2, "a very long name of something")])
    caption = Caption("response")
    for widget in (combo, caption):
        qtbot.addWidget(widget)
    assert at_least(caption) == caption.sizeHint().width()
    width = at_least(combo)
    assert width < combo.sizeHint().width()
    combo.set_current(1)
    assert at_least(combo) == width, "what is in brackets goes first"
    combo.set_current(2)
    assert width < at_least(combo) <= 128
