"""Every size a window may have: nothing clipped, nothing overlaps, nothing out of reach."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from kav.model.edits import ScaleHead
from ui.cards import MINIMUM
from ui.engine import Engine
from ui.session import Session
from ui.widgets.button import Button, Check
from ui.widgets.combo import Combo
from ui.widgets.segmented import Segmented
from ui.widgets.slider import Slider
from ui.widgets.value_field import ValueField
from ui.window import Window

pytestmark = pytest.mark.window
SIZES = ((1440, 900), (1920, 1080), (1100, 700), (900, 600))
CONTROLS = (Button, Check, Combo, Segmented, Slider, ValueField)


@pytest.mark.parametrize("scene", ["head", "regression"])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_clipped_or_overlaps_at_any_size(make_window, scene, size):
    window = make_window(size)
    window.session.set_scene(scene)
    assert (window.width(), window.height()) == size, "the cards' least sizes must fit"
    shown = [dock for dock in window.docks.values() if dock.isVisible()]
    assert len(shown) == (4 if size[0] < 1280 else 5)
    for dock in shown:
        inside = dock.geometry()
        assert window.rect().contains(inside), dock.objectName()
        assert inside.width() >= 260, dock.objectName()
        assert not any(inside.intersects(other.geometry()) for other in shown if other is not dock)
    bar = window.prompt_bar
    row = [bar._first.itemAt(i).widget() for i in range(bar._first.count())]
    row = [widget for widget in row if widget is not None and widget.isVisible()]
    for left, right in pairwise(row):
        assert left.geometry().right() < right.geometry().left(), (left.objectName(), right.objectName())
    assert row[-1].geometry().right() <= bar.width()


def test_cards_have_the_sizes_of_the_design(make_window):
    window = make_window()
    widths = {name: dock.width() for name, dock in window.docks.items()}
    design = {"fit": 793, "attention": 615, "attribution": 446, "circuits": 488, "dose": 481}
    assert all(abs(widths[name] - design[name]) <= 8 for name in design), widths
    assert abs(window.docks["fit"].height() - 432) <= 6


def test_both_scenes_have_the_cards_in_the_same_sizes(make_window, qtbot):
    window = make_window()
    sizes = {name: dock.geometry() for name, dock in window.docks.items()}
    for scene in ("regression", "head", "regression", "head"):
        window.session.set_scene(scene)
        qtbot.wait(10)
        assert {name: dock.geometry() for name, dock in window.docks.items()} == sizes, scene


def test_a_window_that_starts_in_the_regression_scene_has_the_design_sizes(bundled, qtbot):
    """Story: the scene was switched before the first layout, and cards kept the sizes they had before any."""
    engine = Engine.inline()
    session = Session(engine)
    session.set_model(bundled)
    window = Window(session, engine)
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    session.set_scene("regression")
    window.grab()
    assert abs(window.docks["fit"].width() - 793) <= 8
    assert abs(window.docks["fit"].height() - 432) <= 6
    window.close()


def first_row(window):
    bar = window.prompt_bar
    bar.layout().activate()
    widgets = (bar._first.itemAt(i).widget() for i in range(bar._first.count()))
    return [widget for widget in widgets if widget is not None and widget.isVisible()]


@pytest.mark.parametrize("scene", ["head", "regression"])
@pytest.mark.parametrize("width", [900, 1000, 1100, 1279, 1280, 1366, 1440, 1920])
def test_the_first_row_gives_way_without_cutting_anything(make_window, scene, width):
    """Story: with the chip of edits the scene switch was cut at 900 px, and at 1280 px tokens were elided."""
    window = make_window((width, 720))
    window.session.put_edit(ScaleHead(0, 0, 0.0))
    window.session.set_scene(scene)
    if scene == "regression":
        window.session.set_sample_dose(3, 0.0)
    bar, row = window.prompt_bar, first_row(window)
    for widget in row:
        name = widget.objectName()
        assert widget.width() >= widget.minimumSizeHint().width(), name
        if not (scene == "regression" and width == 900):
            assert widget.width() >= min(widget.sizeHint().width(), widget.maximumWidth()), name
    assert bar.chip.isVisible()
    assert bar.scene.width() == bar.scene.sizeHint().width()
    hidden = {w for w in (*bar._buttons, bar.head.foil) if not w.isVisible()}
    assert set(bar.more.held()) == hidden - ({bar.head.foil} if scene == "regression" else set())
    assert bar.more.isVisible() == bool(bar.more.held())


def test_the_longest_names_fit_into_the_least_width(make_window):
    window = make_window(MINIMUM)
    window.session.put_edit(ScaleHead(0, 0, 0.0))
    window.session.select(foil=3)
    bar = window.prompt_bar
    bar.head.head.set_value("31.31", (31, 31))
    for pill in bar.head.pills[1:]:
        pill.set_value("an extraordinarily long token", 1)
    bar._fit_first()
    assert bar.head.foil.isVisible(), "a foil that is chosen is never out of sight"
    assert window.width() == MINIMUM[0]
    for left, right in pairwise(first_row(window)):
        assert left.geometry().right() < right.geometry().left(), (left.objectName(), right.objectName())
    assert bar.scene.width() == bar.scene.sizeHint().width()


def test_selecting_tokens_of_other_lengths_does_not_make_the_row_flicker(make_window):
    window = make_window((1280, 800))
    window.session.put_edit(ScaleHead(0, 0, 0.0))
    taken = []
    for query in range(3, 16):
        window.session.select_query(query)
        taken.append(window.prompt_bar._giving_way.n_taken)
    assert sum(a != b for a, b in pairwise(taken)) <= 1, taken


def offered(panel):
    """What can be used of the controls under a panel, seen or behind the dots."""
    seen = {child for child in panel.footer_bar.findChildren(QWidget) if isinstance(child, CONTROLS)}
    return {child.objectName() for child in seen if child.isVisible()} | {
        control.objectName() for control in panel.footer_bar.more.held()
    }


@pytest.mark.parametrize("scene", ["head", "regression"])
def test_every_control_under_a_panel_is_in_reach_at_every_size(make_window, scene):
    """Story: compact footers left controls out, and nothing said that there were more."""
    wide, small = make_window((1920, 1080)), make_window(MINIMUM)
    for window in (wide, small):
        window.session.set_scene(scene)
    for name, panel in wide.panels.items():
        other = small.panels[name]
        if name == "circuits":
            small._on_panel_tab_requested(name)
        assert offered(other) == offered(panel), name
        for child in other.footer_bar.findChildren(QWidget):
            if child.isVisible():
                place = child.mapTo(other.footer_bar, child.rect().bottomRight())
                assert other.footer_bar.rect().contains(place), child.objectName()
                assert child.width() >= min(child.minimumSizeHint().width(), child.maximumWidth()), child.objectName()
    assert {key for key, _ in wide.panels["attention"].weighting._options} == {
        key for key, _ in small.panels["attention"].weighting._options
    }


@pytest.mark.parametrize("size", [(900, 600), (1100, 700), (1280, 800), (1440, 900), (1920, 1080)])
def test_the_footer_of_the_dose_says_what_is_scaled_with_and_without_an_edit(make_window, size):
    """Story: with "Reset" beside them the lists were pressed to "hea…" and "log…"."""
    window = make_window(size)
    footer = window.panels["dose"].footer_bar
    for head, dose in (((1, 0), 1.0), ((0, 0), 0.0), ((1, 3), 1.0)):
        window.session.select_head(*head)
        if dose != 1.0:
            window.session.put_edit(ScaleHead(*head, dose))
        footer.row.activate()
        footer.layout().activate()
        for child in footer.findChildren(QWidget):
            if child.isVisible() and isinstance(child, CONTROLS):
                needed = max(child.minimumSizeHint().width(), 0)
                assert child.width() >= min(needed, child.maximumWidth()), (child.objectName(), head)


@pytest.mark.parametrize("size", [(900, 600), (1100, 700), (1280, 720), (1280, 800), (1366, 768), (1440, 900)])
def test_table_and_formula_of_a_low_window_are_whole(make_window, size):
    """Story: at 1280 x 800 the last row of the table and of W_QK were cut off, at 900 x 600 two."""
    window = make_window(size)
    for scene in ("head", "regression"):
        window.session.set_scene(scene)
        QCoreApplication.processEvents()
        table = window.panels["fit"].correspondence
        if not table.isVisible():
            continue  # the compact layout leaves it out
        assert table.row_rects()[-1].bottom() <= table.height(), scene
        assert table.height() <= table.parentWidget().height()
        if not table.noted:
            assert all(row.note in table.tip(row) for row in table._rows)
    if window.compact:
        window._on_panel_tab_requested("circuits")
        QCoreApplication.processEvents()
    view = window.panels["circuits"].formula
    for matrix in (view.W_QK, view.W_OV):
        assert matrix.height() >= matrix.sizeHint().height()
        assert view.rect().contains(matrix.geometry())


def test_cards_keep_their_sizes_whatever_is_chosen_under_them(make_window, qtbot):
    """Story: with the local objective and all baselines the hero grew over the card beside it."""
    window = make_window((1280, 800))
    window.session.set_scene("regression")
    qtbot.wait(10)
    sizes = {name: dock.geometry() for name, dock in window.docks.items()}
    fit = window.panels["fit"]
    controls = fit.regression_footer
    for act in (
        controls.objective.click,
        lambda: controls.baseline.choose("all"),
        lambda: window.session.set_h(0.123456),
        lambda: window.session.set_sample_dose(14, 0.0),
        lambda: fit.show_picture("h"),
        lambda: fit.show_picture("fit"),
    ):
        act()
        qtbot.wait(10)
        assert {name: dock.geometry() for name, dock in window.docks.items()} == sizes
