from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from kav.views.dose import Curve
from ui import theme
from ui.widgets.dose_plot import DosePlot
from ui.widgets.plot import Plot


@pytest.fixture
def plot(qtbot, dose_result):
    widget = DosePlot()
    qtbot.addWidget(widget)
    widget.resize(479, 224)
    widget.show_result(dose_result())
    widget.show()
    return widget


def disc(plot):
    handle = plot.handles()[0]
    return QPoint(round(handle.x), round(handle.y))


def at_dose(plot, dose):
    return QPoint(round(plot.frame_px.x_px(dose)), disc(plot).y())


def drag(plot, *stops):
    view = plot.viewport()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=disc(plot))
    for stop in stops:
        QTest.mouseMove(view, stop)
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=stops[-1])


def test_three_curves_hold_the_numbers_of_the_result(plot):
    curve = plot.result.curve
    for item, values in ((plot.rerun, curve.response), (plot.direct, curve.direct), (plot.tangent, curve.tangent)):
        np.testing.assert_array_equal(item.data[0], curve.doses)
        np.testing.assert_array_equal(item.data[1], values)


@pytest.mark.parametrize(
    ("baseline", "word"), [("zero", "0 removed"), ("mean", "0 at its mean"), ("resample", "0 shuffled")]
)
def test_dose_0_is_called_what_it_is(plot, dose_result, monkeypatch, baseline, word):
    """Under the mean as the baseline the axis went on saying that 0 is removed."""
    said = []
    monkeypatch.setattr(Plot, "paint_x_tick", lambda self, painter, x, text: said.append(text))
    plot.show_result(replace(dose_result(), baseline=baseline))
    plot.grab()
    assert word in said
    assert "1 as it runs" in said
    assert sum(text.startswith("0 ") for text in said) == 1


def test_the_rerun_is_the_thickest_line(plot):
    widths = [item.pen().widthF() for item in (plot.rerun, plot.direct, plot.tangent)]
    assert widths == [2.6, 1.8, 1.8]


def test_names_of_two_curves_on_one_line_stand_apart(plot, dose_result):
    """`not renormalised tangent at 1` read as one name between two curves."""
    doses, names = np.linspace(-1, 3, 41), ("refit (renormalised)", "not renormalised", "tangent at 1")
    for direct, tangent in ((-0.2, -0.5), (0.0, 0.2), (0.0, 0.3), (-0.1, -0.5)):
        curve = Curve(doses, 0 * doses, direct * (doses - 1), tangent * (doses - 1))
        plot.show_result(replace(dose_result(), curve=curve, names=names, y_range=(-1.0, 1.0)))
        plot.place_again()
        boxes = [box for _, box in plot._placed_names()]
        for at, one in enumerate(boxes):
            for other in boxes[:at]:
                level = one.top < other.bottom - 4 and other.top < one.bottom - 4
                gap = max(one.left - other.left - other.width, other.left - one.left - one.width)
                assert not level or gap >= 12


def test_the_handle_sits_on_the_rerun_curve(plot, dose_result):
    for dose in (-0.4, 0.0, 1.0, 2.2):
        plot.show_result(dose_result(dose))
        handle = plot.handles()[0]
        assert handle.x == pytest.approx(plot.frame_px.x_px(dose))
        assert handle.y == pytest.approx(plot.frame_px.y_px(10 * np.tanh(dose)))


def test_dragging_the_handle_asks_for_the_dose_under_the_mouse(plot, qtbot):
    doses = []
    plot.doseMoved.connect(doses.append)
    with qtbot.waitSignal(plot.dragEnded):
        drag(plot, at_dose(plot, 0.7), at_dose(plot, 0.4))
    assert doses[-1] == pytest.approx(0.4, abs=0.01)


def test_the_handle_stays_on_the_curve_while_it_is_dragged(plot):
    view = plot.viewport()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=disc(plot))
    QTest.mouseMove(view, at_dose(plot, 0.5))
    handle = plot.handles()[0]
    curve = plot.result.curve
    assert plot.frame_px.y_at(handle.y) == pytest.approx(np.interp(plot.dose_shown, curve.doses, curve.response))
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=at_dose(plot, 0.5))
    assert plot.dose_shown == 1.0  # the answer decides


def test_zero_and_one_are_easy_to_hit_and_the_ends_are_the_ends(plot):
    doses = []
    plot.doseMoved.connect(doses.append)
    drag(plot, at_dose(plot, 0.015), QPoint(-900, 0), QPoint(3000, 0))
    assert doses == [0.0, -1.0, 3.0]


@pytest.mark.parametrize(
    ("key", "modifier", "dose"),
    [
        (Qt.Key.Key_Left, Qt.KeyboardModifier.NoModifier, 0.99),
        (Qt.Key.Key_Right, Qt.KeyboardModifier.NoModifier, 1.01),
        (Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier, 0.9),
        (Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier, 1.1),
    ],
)
def test_arrow_keys_move_the_dose(plot, key, modifier, dose):
    doses = []
    plot.doseMoved.connect(doses.append)
    plot.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(plot, key, modifier)
    assert doses == [pytest.approx(dose)]


def test_another_dose_is_amber_with_a_line_and_a_hollow_dot_where_one_was(plot, dose_result):
    amber = theme.current().edited.lower()
    disc_is = plot.grab().toImage().pixelColor(disc(plot) + QPoint(0, 5)).name()
    assert disc_is == theme.current().ink.lower()
    plot.show_result(dose_result(0.0))
    image = plot.grab().toImage()
    assert image.pixelColor(disc(plot) + QPoint(0, 6)).name() == amber
    column = {image.pixelColor(disc(plot).x(), y).name() for y in range(30, 60)}
    assert amber in column
    one = QPoint(round(plot.frame_px.x_px(1.0)), round(plot.frame_px.y_px(10 * np.tanh(1.0))))
    assert image.pixelColor(one).name() == theme.current().panel.lower()


def test_moving_the_handle_leaves_curves_alone(plot, dose_result):
    from dataclasses import replace

    before = [item.version for item in plot.items_shown]
    moved = replace(plot.result, dose=0.5, value=float(10 * np.tanh(0.5)))
    plot.show_result(moved)
    assert [item.version for item in plot.items_shown] == before
    assert plot.dose_shown == 0.5


def test_double_click_shows_everything_again(plot):
    plot.zoom(0.5, 200, 100)
    assert plot.zoomed
    QTest.mouseDClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(90, 40))
    assert not plot.zoomed


@pytest.mark.parametrize("width", [200, 481, 1400])
def test_axes_are_drawn_before_the_first_curve(qtbot, width):
    # Drawing them asked the curve that was not there for its baseline, and Qt crashed on the painter left behind.
    plot = DosePlot()
    qtbot.addWidget(plot)
    plot.resize(width, 250)
    plot.show()
    assert not plot.grab().isNull()


@pytest.mark.parametrize("method", ["paint_under", "paint_over", "paint_axes"])
def test_an_error_while_painting_is_reported_and_the_program_goes_on(qtbot, monkeypatch, method):
    # An exception that left Qt's painting ended the program with a segmentation fault, sometimes later.
    plot = DosePlot()
    qtbot.addWidget(plot)
    plot.resize(400, 250)

    def broken(painter):
        raise RuntimeError("broken")

    monkeypatch.setattr(plot, method, broken)
    with qtbot.captureExceptions() as raised:
        plot.grab()
        plot.grab()
    assert [kind for kind, *_ in raised] == [RuntimeError]  # told once: telling it may paint the plot again
    monkeypatch.undo()
    assert not plot.grab().isNull()


def ellipses(plot, monkeypatch):
    """Centres and radii of the dots that a paint draws."""
    found, paint = [], DosePlot._paint_dots

    class Spy:
        def __init__(self, painter):
            self.painter = painter

        def drawEllipse(self, at, across, down):
            found.append((at.x(), at.y(), across))
            self.painter.drawEllipse(at, across, down)

        def __getattr__(self, name):
            return getattr(self.painter, name)

    monkeypatch.setattr(DosePlot, "_paint_dots", lambda self, painter: paint(self, Spy(painter)))
    plot.grab()
    return found


def test_measured_doses_are_dots_and_the_line_so_far_is_dashed(plot, dose_result, monkeypatch):
    result = dose_result()
    doses = np.linspace(-1, 3, 5)
    curve = Curve(doses, 0.4 * doses, doses, doses)
    glance = replace(result, curve=curve, measured=True, so_far=True)
    plot.show_result(glance)
    frame = plot.frame_px
    dots = ellipses(plot, monkeypatch)
    assert [round(x) for x, _, _ in dots] == [round(float(frame.x_px(dose))) for dose in doses]
    assert [round(y) for _, y, _ in dots] == [round(float(frame.y_px(0.4 * dose))) for dose in doses]
    assert plot.rerun.dash
    plot.show_result(replace(glance, so_far=False, curve=replace(curve)))
    assert not plot.rerun.dash


def test_doses_closer_than_dots_can_be_told_apart_are_a_line(plot, dose_result, monkeypatch):
    doses = np.concatenate([np.linspace(-1, 0, 3), np.linspace(0.01, 0.5, 40)])
    curve = Curve(doses, 0.1 * doses, doses, doses)
    plot.show_result(replace(dose_result(), curve=curve, measured=True))
    assert len(ellipses(plot, monkeypatch)) == 2


@pytest.mark.parametrize("width", [260, 330, 415, 423, 430, 480, 640, 1200])
def test_removed_and_as_it_runs_are_marked_at_every_width(qtbot, plot, monkeypatch, width):
    """Story: a few pixels less, and of -1, 0, 1, 2, 3 only 0 and 2 were left."""
    plot.resize(width, 200)
    places = [place for place, _ in plot.x_ticks]
    assert {0.0, 1.0} <= set(places)
    pitch = (plot.frame_px.x_px(places[1]) - plot.frame_px.x_px(places[0])) if len(places) > 1 else width
    assert pitch >= 34
