"""A row gives way in order, only as far as it must, and does not flicker at the edge."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHBoxLayout, QWidget

from ui.giving_way import SLACK, GivingWay


class Block(QWidget):
    wide, narrow, short = 200, 80, False

    def sizeHint(self):
        return QSize(self.narrow if self.short else self.wide, 20)

    def set_short(self, short):
        self.short = short


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
    owner.way = GivingWay(layout, [block.set_short for block in owner.blocks])
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
