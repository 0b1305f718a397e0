"""A large matrix can be looked at closer, by wheel, keys and dragging, and says what a point of it shows."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QSizeF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from kav.model.tiles import Part
from kav.views.words import Label
from ui.widgets.matrix import MatrixView
from ui.widgets.matrix_layout import MatrixData, layout
from ui.widgets.matrix_zoom import LEAST, can_zoom, cell_at, moved, showing, whole, within, zoomed

N = 900


def data(n: int = N, **changes) -> MatrixData:
    labels = tuple(Label(f"t{i}", i) for i in range(n))
    shade = np.random.default_rng(0).uniform(0, 0.4, (n, n))
    shade[n - 3, 30] = 1.0
    return MatrixData(shade, **{"row_labels": labels, "column_labels": labels, "row": n - 3, "column": 30, **changes})


@pytest.fixture
def view(make_matrix):
    return make_matrix(data())


def turn(view: MatrixView, at: QPointF, steps: int) -> None:
    event = QWheelEvent(
        at,
        QPointF(view.mapToGlobal(at.toPoint())),
        QPoint(),
        QPoint(0, 120 * steps),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view, event)


def test_wheel_zooms_in_around_the_pointer_and_out_to_the_whole(view, qtbot):
    at = view.cell_center(600, 200)
    with qtbot.waitSignal(view.partChanged):
        turn(view, at, 3)
    rows, columns = view.part.rows, view.part.columns
    assert rows[0] < 600 < rows[1]
    assert columns[0] < 200 < columns[1]
    assert rows[1] - rows[0] < N / 2
    place = view.cell_rect(600, 200).center()
    assert (place - at).manhattanLength() < 25  # margins differ a little
    turn(view, at, -9)
    assert view.part is None


def test_keys_zoom_around_the_selected_cell_and_show_all_again(view, qtbot):
    for _ in range(20):
        qtbot.keyClick(view, Qt.Key.Key_Plus)
    assert view.part.shape == (LEAST, LEAST)
    assert view.part.rows[0] <= N - 3 < view.part.rows[1]
    assert view.part.columns[0] <= 30 < view.part.columns[1]
    assert view.grid().names in ("all", "rows")
    qtbot.keyClick(view, Qt.Key.Key_Minus)
    assert view.part.shape > (LEAST, LEAST)
    qtbot.keyClick(view, Qt.Key.Key_0)
    assert view.part is None


def test_dragging_moves_the_part_and_selects_nothing(view, qtbot):
    view.zoom(0.1)
    before, start = view.part, view.grid().rect.center().toPoint()
    pitch = view.grid().pitch
    with qtbot.assertNotEmitted(view.cellActivated):
        QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
        QTest.mouseMove(view, start + QPoint(round(-20 * pitch), round(10 * pitch)))
        QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=start + QPoint(0, round(10 * pitch)))
    assert view.part.rows[0] == before.rows[0] - 10
    assert view.part.columns[0] == before.columns[0] + 20


def test_click_in_a_part_asks_for_the_cell_that_is_seen(view, qtbot):
    view.zoom(0.05)
    row, column = view.part.rows[0] + 5, view.part.columns[0] + 7
    with qtbot.waitSignal(view.cellActivated) as signal:
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.cell_center(row, column).toPoint())
    assert signal.args == [row, column]


def test_part_follows_the_selection(view, qtbot):
    view.zoom(0.05)
    shape = view.part.shape
    view.set_data(data(row=10, column=700))
    assert view.part.shape == shape
    assert view.part.rows[0] <= 10 < view.part.rows[1]
    assert view.part.columns[0] <= 700 < view.part.columns[1]


def test_part_stays_while_the_prompt_is_typed_and_goes_with_another_prompt(view):
    view.zoom(0.1)
    view.set_data(data(N + 1, row=N - 3))
    assert view.part is not None
    view.set_data(data(N - 200, row=3))
    assert view.part is None


def test_line_below_says_what_a_point_shows_and_which_part_is_seen(view):
    assert view.note() == "a point: largest of 4 × 4 cells · wheel zooms in"
    view.zoom(0.05)
    (top, bottom), (left, right) = view.part.rows, view.part.columns
    assert view.note() == f"rows {top}–{bottom - 1}, columns {left}–{right - 1} · key 0 shows all"
    assert view.note() in view.accessibleDescription()


def test_small_matrix_and_numeric_axes_do_not_zoom(view, qtbot):
    axis = np.arange(100.0)
    for small in (data(40), data(100, row_axis=axis, column_axis=axis)):
        view.set_data(small)
        assert not can_zoom(small)
        turn(view, view.grid().rect.center(), 3)
        qtbot.keyClick(view, Qt.Key.Key_Plus)
        assert view.part is None
        assert view.note() == ""


def test_peak_of_the_point_under_the_pointer_is_the_cell_that_is_meant(view):
    seen = []
    view.cellHovered.connect(lambda row, column: seen.append((row, column)))
    point = view.cell_rect(N - 3, 30).topLeft()
    assert view.grid().pitch < 1
    QTest.mouseMove(view, QPoint(int(point.x()), int(point.y())))
    assert seen == [(N - 3, 30)]


def test_squares_are_drawn_where_their_cells_are(qtbot):
    n, size = 1000, 4
    shade = np.zeros((n // size, n // size))
    shade[200, 50] = 1.0
    rows, columns = np.meshgrid(*(np.arange(0, n, size),) * 2, indexing="ij")
    squares = MatrixData(shade, size=size, shape=(n, n), cells=(rows + 1, columns + 2))
    view = MatrixView()
    qtbot.addWidget(view)
    view.resize(415, 340)
    view.set_data(squares)
    view.show()
    for part in (None, Part((760, 840), (170, 250))):
        view._look_at(part)
        image = view.grab().toImage()
        ratio = view.devicePixelRatioF()
        dark = (view.cell_rect(802, 202).center() * ratio).toPoint()
        around = [image.pixelColor(dark + QPoint(x, y)).lightness() for x in (-1, 0, 1) for y in (-1, 0, 1)]
        assert min(around) < 80
        light = view.cell_rect(830, 240).center() * ratio
        assert image.pixelColor(light.toPoint()).lightness() > 200
        assert cell_at(squares, layout(squares, QSizeF(4000, 4000)), 802.0, 202.0) == (801, 202)


def test_nothing_is_drawn_where_nothing_is_known_yet(qtbot):
    known = MatrixData(np.ones((10, 10)), size=1, corner=(500, 500), shape=(1000, 1000))
    view = MatrixView()
    qtbot.addWidget(view)
    view.resize(415, 340)
    view.set_data(known)
    view._look_at(Part((495, 515), (495, 515)))
    image, ratio = view.grab().toImage(), view.devicePixelRatioF()
    assert image.pixelColor((view.cell_rect(505, 505).center() * ratio).toPoint()).lightness() < 80
    assert image.pixelColor((view.cell_rect(512, 512).center() * ratio).toPoint()).lightness() > 200
    assert view._cell_at(view.cell_rect(512, 512).center()) is None
    assert view._cell_at(view.cell_rect(505, 503).center()) == (505, 503)


def test_parts_stay_inside_the_matrix():
    made = data(100)
    part = zoomed(whole(made), made, 0.3, (99, 0))
    assert part == Part((70, 100), (0, 30))
    assert moved(part, made, 500, -500) == part
    assert moved(part, made, -500, 500) == Part((0, 30), (70, 100))
    assert zoomed(part, made, 50.0, (80, 10)) == whole(made)
    assert showing(Part((0, 30), (0, 30)), data(100, row=50, column=3)) == Part((21, 51), (0, 30))


def test_part_of_a_matrix_keeps_names_and_what_is_selected_in_it():
    made = within(data(100, row=50, column=3), Part((40, 60), (10, 20)))
    assert (made.n_rows, made.n_columns) == (20, 10)
    assert (made.row, made.column) == (10, None)
    assert [str(label) for label in made.column_labels[:2]] == ["10 t10", "11 t11"]
