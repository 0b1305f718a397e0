from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from kav.views import fit
from kav.views.fit import Observations
from kav.views.words import Label
from ui.widgets.dots import RING, SMALLEST, named, radii
from ui.widgets.fit_plot import FitPlot
from ui.widgets.labels import Box


@pytest.fixture
def plot(qtbot, regression_result):
    widget = FitPlot()
    qtbot.addWidget(widget)
    widget.resize(581, 338)
    widget.show_result(regression_result())
    widget.show()
    widget.activateWindow()
    qtbot.waitUntil(widget.isActiveWindow)
    return widget


def drag(plot, start, *stops):
    """Press at `start`, move over the stops, release at the last; pixels."""
    view = plot.viewport()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    for stop in stops:
        QTest.mouseMove(view, stop)
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=stops[-1])


def place(plot, name):
    handle = next(handle for handle in plot.handles() if handle.name == name)
    return QPoint(round(handle.x), round(handle.y))


def test_area_of_a_dot_is_its_weight():
    weight = np.asarray([0.0, 0.1, 0.4, 0.9])
    size = radii(weight, "head")
    assert size[0] == SMALLEST
    assert (size[1:] ** 2 / weight[1:]).tolist() == pytest.approx([225.0] * 3)
    relative = radii(weight, "regression")
    assert relative.max() == pytest.approx(15 * np.sqrt(0.45))


def test_names_go_to_the_selected_dot_first_and_then_to_the_heaviest():
    weight = np.asarray([0.004, 0.5, 0.3, 0.003, 0.15, 0.02, 0.002, 0.001])
    visible = np.ones(8, dtype=bool)
    assert named(weight, visible, 3, 7) == [3, 1, 2, 4, 5]
    assert named(weight, visible, 3, 4) == [3, 1, 2, 4]
    light = np.asarray([0.992, 0.004, 0.003, 0.001, 0.0, 0.0])
    assert named(light, np.ones(6, dtype=bool), 0, 7) == [0, 1, 2, 3]
    visible[1] = False
    assert 1 not in named(weight, visible, 3, 7)


def test_the_plot_holds_the_numbers_of_the_result(plot, regression_result):
    result = regression_result()
    x, y = plot.curve.data
    np.testing.assert_array_equal(x, result.curve_at)
    np.testing.assert_array_equal(y, result.curve_f)
    assert set(plot.f_line.data[1]) == {result.f}
    np.testing.assert_allclose(plot.place_dots()[:, 0], plot.frame_px.x_px(result.points.x))


def test_a_new_result_sets_data_on_the_same_items(plot, regression_result):
    before = plot.items_shown
    plot.show_result(regression_result(seed=1))
    assert plot.items_shown == before
    np.testing.assert_array_equal(plot.curve.data[1], regression_result(seed=1).curve_f)


def test_data_and_band_lie_inside_the_axes(plot, head_result, edited_result):
    for result in (plot.result, head_result(), edited_result()):
        plot.show_result(result)
        y = plot.frame_px.y
        assert y.low < min(result.band)
        assert y.high > max(result.band)


def test_the_band_is_hidden_where_the_fit_may_leave_it(plot):
    assert plot.band.shown
    plot.show_result(replace(plot.result, band_holds=False))
    assert not plot.band.shown


def test_a_fit_without_support_has_a_gap_and_says_why(plot):
    curve = plot.result.curve_f.copy()
    curve[50:80] = np.nan
    notice = "undefined: no observation has positive weight"
    plot.show_result(replace(plot.result, curve_f=curve, f=float("nan"), f_text="f undefined", notice=notice))
    assert not plot.grab().isNull()
    assert np.isnan(plot.curve.data[1][50:80]).all()


def test_dragging_a_sample_reports_where_the_mouse_is(plot, qtbot):
    moves = []
    plot.dotMoved.connect(lambda *move: moves.append(move))
    index = plot.result.selected
    start = place(plot, f"dot{index}")
    with qtbot.waitSignal(plot.dragEnded):
        drag(plot, start, start + QPoint(20, -10), start + QPoint(60, -40))
    end = start + QPoint(60, -40)
    assert moves[-1] == (index, pytest.approx(plot.frame_px.x_at(end.x())), pytest.approx(plot.frame_px.y_at(end.y())))


def test_what_is_dragged_follows_the_mouse_before_any_answer(plot):
    index = plot.result.selected
    start = place(plot, f"dot{index}")
    view = plot.viewport()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(view, start + QPoint(30, 20))
    assert plot.place_dots()[index, :2].tolist() == pytest.approx([start.x() + 30, start.y() + 20], abs=1e-6)
    plot.show_result(plot.result)  # a late answer to an earlier place
    assert plot.place_dots()[index, 0] == pytest.approx(start.x() + 30, abs=1e-6)
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=start + QPoint(30, 20))


def test_axes_hold_during_a_drag_and_follow_at_its_end(plot, regression_result):
    spans = plot._spans
    start = place(plot, "query")
    view = plot.viewport()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(view, start + QPoint(40, 0))
    plot.show_result(replace(regression_result(x_query=4.8), y_range=(-9.0, 9.0)))
    assert plot._spans == spans
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=start + QPoint(40, 0))
    assert plot._spans[1].high > 8


def test_a_press_that_hardly_moves_is_a_click(plot):
    clicked, moved = [], []
    plot.dotClicked.connect(clicked.append)
    plot.dotMoved.connect(lambda *move: moved.append(move))
    start = place(plot, f"dot{plot.result.selected}")
    drag(plot, start, start + QPoint(1, 1))
    assert clicked == [plot.result.selected]
    assert moved == []


def test_any_dot_can_be_clicked_and_a_masked_one_cannot(plot, head_result):
    plot.show_result(head_result())
    clicked = []
    plot.dotClicked.connect(clicked.append)
    for x, y, _ in plot.place_dots()[:3]:
        QTest.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(round(x), round(y)))
    assert clicked == [0, 1, 2]
    assert "dot7" not in [plot.grab_at(x, y) for x, y, _ in plot.place_dots()]


def test_a_key_of_a_head_moves_along_its_score_only(plot, head_result):
    plot.show_result(head_result())
    moves = []
    plot.dotMoved.connect(lambda *move: moves.append(move))
    start = place(plot, "dot6")
    drag(plot, start, start + QPoint(-50, 30), start + QPoint(-80, 60))
    assert moves[-1][1] == pytest.approx(plot.frame_px.x_at(start.x() - 80))
    assert {y for _, _, y in moves} == {9.0}


def test_dragging_the_query_moves_f_along_its_curve(plot, head_result):
    plot.show_result(head_result())
    asked = []
    plot.queryMoved.connect(asked.append)
    start = place(plot, "query")
    end = QPoint(round(plot.frame_px.query_px(0.75)), start.y())
    view = plot.viewport()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(view, end)
    assert asked[-1] == pytest.approx(0.75, abs=0.005)
    curve = plot.result
    assert plot.f_line.data[1][0] == pytest.approx(np.interp(asked[-1], curve.curve_at, curve.curve_f))
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=end)


def test_the_query_cannot_be_dragged_off_its_axis(plot):
    asked = []
    plot.queryMoved.connect(asked.append)
    start = place(plot, "query")
    drag(plot, start, QPoint(-500, start.y()), QPoint(5000, start.y()))
    assert (min(asked), max(asked)) == (0.0, 10.0)


def test_the_edge_of_the_kernel_drags_the_bandwidth(plot):
    asked = []
    plot.bandwidthMoved.connect(asked.append)
    start = place(plot, "h")
    end = QPoint(round(plot.frame_px.query_px(4.0 + 1.5)), start.y())
    drag(plot, start, start + QPoint(5, 0), end)
    assert asked[-1] == pytest.approx(1.5, abs=0.02)


def test_tab_visits_query_bandwidth_and_sample_and_then_leaves(plot):
    visited = []
    plot.clearFocus()
    plot.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(3):
        visited.append(plot.active)
        QTest.keyClick(plot, Qt.Key.Key_Tab)
    assert visited == ["query", "h", f"dot{plot.result.selected}"]


@pytest.mark.parametrize(
    ("modifier", "factor"), [(Qt.KeyboardModifier.NoModifier, 1), (Qt.KeyboardModifier.ShiftModifier, 10)]
)
def test_arrow_keys_move_the_chosen_handle_and_shift_ten_times_as_far(plot, modifier, factor):
    asked, moved, widths = [], [], []
    plot.queryMoved.connect(asked.append)
    plot.bandwidthMoved.connect(widths.append)
    plot.dotMoved.connect(lambda *move: moved.append(move))
    plot.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(plot, Qt.Key.Key_Right, modifier)
    assert asked == [pytest.approx(4.0 + factor * 0.02)]
    plot.active = "h"
    QTest.keyClick(plot, Qt.Key.Key_Down, modifier)
    assert widths == [pytest.approx(0.6 / 1.02**factor)]
    plot.active = f"dot{plot.result.selected}"
    QTest.keyClick(plot, Qt.Key.Key_Up, modifier)
    index, x, y = moved[0]
    assert x == plot.result.points.x[index]
    assert y == pytest.approx(plot.result.points.y[index] + factor * plot._spans[1].length / 500)


def test_a_run_of_arrow_keys_ends_when_the_key_is_let_go(plot, qtbot):
    plot.setFocus(Qt.FocusReason.TabFocusReason)
    with qtbot.waitSignal(plot.dragEnded):
        QTest.keyClick(plot, Qt.Key.Key_Left)


def test_delete_removes_the_chosen_sample(plot):
    removed = []
    plot.dotRemoved.connect(removed.append)
    plot.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(plot, Qt.Key.Key_Delete)  # the query cannot be removed
    plot.active = f"dot{plot.result.selected}"
    QTest.keyClick(plot, Qt.Key.Key_Delete)
    assert removed == [plot.result.selected]


def test_double_click_on_empty_plot_adds_a_sample_there(plot):
    added = []
    plot.sampleAdded.connect(lambda *where: added.append(where))
    at = QPoint(round(plot.frame_px.x_px(9.5)), round(plot.frame_px.y_px(1.8)))
    QTest.mouseDClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert added == [(pytest.approx(9.5, abs=0.02), pytest.approx(1.8, abs=0.02))]


def test_no_label_lies_on_an_outline_of_before(plot, head_result):
    """The dotted outlines of where dots were went through the names of where they are."""
    result = head_result()
    plot.show_result(result)
    plot.grab()
    names = {str(label) for label in result.labels}

    def boxes():
        return [box for runs, box in plot.labels.placed if "".join(run.text for run in runs) in names]

    for usual in boxes():
        x, y = plot.frame_px.x_at(usual.left + usual.width / 2), plot.frame_px.y_at(usual.top + usual.height / 2)
        other = np.arange(8) == (result.selected - 1) % 8
        before = replace(result.points, x=np.where(other, x, result.points.x), y=np.where(other, y, result.points.y))
        plot.place_again()
        plot.show_result(replace(result, before=before))
        plot.grab()
        across, down = plot.before_px()[other][0, :2]
        assert not any(box.holds(Box(across, down, 0, 0)) for box in boxes())
        plot.show_result(result)


def test_no_two_labels_overlap(plot, head_result, edited_result):
    for result in (plot.result, head_result(), edited_result()):
        plot.show_result(result)
        plot.grab()
        boxes = [box for _, box in plot.labels.placed]
        assert len(boxes) >= 4
        assert not any(one.meets(other) for i, one in enumerate(boxes) for other in boxes[:i])


def test_a_compact_plot_leaves_out_the_kernel(plot):
    assert plot.kernel_line.shown
    plot.set_compact(True)
    plot.show_result(plot.result)
    assert not plot.kernel_line.shown
    assert plot.h_ends() == []


def test_one_sample_can_be_drawn(plot, regression_result):
    plot.show_result(regression_result(n=1))
    assert not plot.grab().isNull()


def test_many_samples_are_drawn_with_the_selected_on_top(plot, regression_result):
    plot.show_result(regression_result(n=1500))
    image = plot.grab().toImage()
    x, y, r = plot.place_dots()[plot.result.selected]
    ring = [image.pixelColor(round(x + r + RING) + shift, round(y)) for shift in (-1, 0, 1)]
    assert any(color.red() > color.blue() + 80 for color in ring)  # vermillion, over ink-blue neighbours


def test_a_missing_observation_is_never_hovered(plot, head_result):
    result = head_result()
    points = fit.Observations(result.points.x, result.points.y, result.points.weight, np.zeros(8, dtype=bool))
    plot.show_result(replace(result, points=points))
    assert all(plot.grab_at(x, y) in ("", "query") for x, y, _ in plot.place_dots())


def test_the_note_on_the_band_meets_no_dot_and_gives_way(plot, head_result):
    result = head_result()
    plot.show_result(result)
    plot.grab()

    def note():
        return [box for runs, box in plot.labels.placed if runs[0].text == "f cannot leave the band"]

    (usual,) = note()
    x = np.full(8, plot.frame_px.x_at(usual.left + usual.width / 2))
    y = np.full(8, plot.frame_px.y_at(usual.top + usual.height / 2))
    points = replace(result.points, x=x, y=y)
    plot.show_result(replace(result, points=points))
    plot.grab()
    assert note() != [usual]
    assert all(plot.labels.bounds.holds(box) for box in note())
    places = plot.frame_px.x_at(np.linspace(plot.frame_px.left, plot.frame_px.right, 60))
    many = np.concatenate([places, places])
    rows = np.concatenate([np.full(60, plot.frame_px.y_at(usual.top + 7)), np.full(60, result.band[0])])
    crowd = fit.Observations(many, rows, np.full(120, 1 / 120), np.ones(120, dtype=bool))
    plot.show_result(replace(result, points=crowd, labels=(result.labels * 15), selected=-1))
    plot.grab()
    assert note() == []


def test_of_thousands_of_light_dots_those_over_each_other_are_drawn_once_and_heavy_ones_always(plot, head_result):
    n, result = 4000, head_result()
    rng = np.random.default_rng(0)
    weight = np.full(n, 1e-5)
    weight[::500] = 0.1
    low, high = result.y_range
    points = Observations(rng.uniform(*result.x_range, n), rng.uniform(low, high, n), weight, np.ones(n, bool))
    labels = tuple(Label(f"t{i}", i) for i in range(n))
    plot.show_result(replace(result, points=points, labels=labels, selected=3, before=None))
    plot.grab()
    assert plot.drawn[::500].all()
    assert plot.drawn[3]
    assert 0.2 * n < plot.drawn.sum() < 0.8 * n


@pytest.mark.parametrize("height", [160, 180, 220, 300, 432])
@pytest.mark.parametrize("make", ["head_result", "regression_result"])
def test_the_axis_title_has_room_above_the_data_however_low_the_plot(qtbot, request, make, height):
    """Story: in a window of 900 x 600 the title stood on the line f."""
    plot = FitPlot()
    qtbot.addWidget(plot)
    plot.set_compact(True)
    plot.show_result(request.getfixturevalue(make)())
    plot.resize(460, height)
    plot.show()
    frame, result = plot.frame_px, plot.result
    top = max(result.points.y[result.points.visible].max(), result.f)
    if make == "head_result":
        assert float(frame.y_px(top)) - frame.top >= min(18.0, 0.35 * frame.height)
    assert frame.y.low <= result.points.y.min()
    before = plot.frame_px.y
    plot.resize(460, 600)
    plot.resize(460, height)
    assert plot.frame_px.y == before
