import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from kav.views.words import Label, MadeLabels
from ui import theme
from ui.widgets import matrix_paint
from ui.widgets.matrix import MatrixView
from ui.widgets.matrix_layout import CROWDED, LARGEST, MatrixData, layout
from ui.widgets.painted import text_width

WORDS = "‹bos› Jerusalem Willoughby shepher d carriage Pharaoh music Jerusalem Willoughby shepher d carriage Pharaoh"
LABELS = tuple(Label(word, index) for index, word in enumerate(WORDS.split()))


def causal(n: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Random weights of a causal pattern and where they are visible."""
    visible = np.tril(np.ones((n, n), dtype=bool))
    weights = np.where(visible, np.random.default_rng(seed).uniform(size=(n, n)), 0.0)
    return weights / weights.sum(1, keepdims=True), visible


def data(n: int = 14, **changes) -> MatrixData:
    weights, visible = causal(n)
    labels = LABELS[:n] if n <= len(LABELS) else tuple(Label(f"t{i}", i) for i in range(n))
    values = {"visible": visible, "row_labels": labels, "column_labels": labels, "row": n - 1, "column": n // 2}
    return MatrixData(weights, **{**values, **changes})


@pytest.fixture
def view(make_matrix):
    return make_matrix(data())


def at(view: MatrixView, row: int, column: int) -> QPoint:
    return view.cell_center(row, column).toPoint()


def test_a_click_asks_for_the_cell_under_the_pointer(view, qtbot):
    for cell in ((0, 0), (9, 3), (13, 13)):
        with qtbot.waitSignal(view.cellActivated) as signal:
            qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=at(view, *cell))
        assert tuple(signal.args) == cell


def test_a_click_on_a_name_asks_for_nothing(view, qtbot):
    with qtbot.assertNotEmitted(view.cellActivated):
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(20, 200))


def test_arrow_keys_ask_for_the_neighbour_and_stop_at_the_edge(view, qtbot):
    moves = {Qt.Key.Key_Up: (12, 7), Qt.Key.Key_Left: (13, 6), Qt.Key.Key_Right: (13, 8)}
    for key, wanted in moves.items():
        with qtbot.waitSignal(view.cursorMoved) as signal:
            qtbot.keyClick(view, key)
        assert tuple(signal.args) == wanted
    with qtbot.assertNotEmitted(view.cursorMoved):
        qtbot.keyClick(view, Qt.Key.Key_Down)


def test_hover_names_the_cell_and_its_end(view, qtbot):
    seen = []
    view.cellHovered.connect(lambda row, column: seen.append((row, column)))
    QTest.mouseMove(view, at(view, 8, 2))
    QTest.mouseMove(view, at(view, 8, 3))
    QTest.mouseMove(view, QPoint(3, 3))
    assert seen == [(8, 2), (8, 3), (-1, -1)]


def test_the_largest_weight_of_a_row_is_the_darkest_cell(view):
    image = view.grab().toImage()
    row = 12
    grey = [image.pixelColor(at(view, row, column)).lightness() for column in range(row + 1)]
    assert int(np.argmin(grey)) == int(np.argmax(view.data.shade[row, : row + 1]))


def test_an_excluded_cell_is_not_the_colour_of_zero(view):
    image = view.grab().toImage()
    rect = view.cell_rect(2, 11).toRect()
    pixels = {
        image.pixelColor(x, y).name()
        for x in range(rect.left(), rect.right())
        for y in range(rect.top(), rect.bottom())
    }
    assert QColor(theme.current().panel).name() not in pixels
    assert len(pixels) > 1  # the hatching


def test_frames_are_in_the_colours_of_query_and_key(view):
    image = view.grab().toImage()
    row, column = view.cell_rect(13, 2), view.cell_rect(4, 7)
    assert _near(image.pixelColor(round(row.center().x()), round(row.top() - 2)), theme.current().query)
    assert _near(image.pixelColor(round(column.left() - 2), round(column.center().y())), theme.current().key)


def _near(color: QColor, wanted: str, within: int = 90) -> bool:
    other = QColor(wanted)
    return sum(abs(a - b) for a, b in zip(color.getRgb()[:3], other.getRgb()[:3], strict=True)) <= within


def test_a_new_selection_keeps_the_image(view):
    view.grab()
    image = view._image
    old = view.data
    view.set_data(MatrixData(old.shade, visible=old.visible, row_labels=LABELS, column_labels=LABELS, row=3, column=1))
    view.grab()
    assert view._image is image


@pytest.mark.parametrize("n", [1, 2, 8, 14, 30, 64, 65, 300])
@pytest.mark.parametrize("size", [(120, 100), (290, 210), (415, 340), (900, 700)])
def test_cells_are_square_and_inside_the_widget(qapp, n, size):
    grid = layout(data(n), QSizeF(*size))
    assert 0 < grid.pitch <= LARGEST
    assert grid.rect.right() <= size[0] or grid.pitch == 0.01
    assert grid.rect.bottom() <= size[1] or grid.pitch == 0.01
    if grid.gapped:
        assert grid.pitch == int(grid.pitch)


def test_the_crowded_rule_turns_column_names_into_numbers(qapp):
    roomy, crowded, many = (layout(data(n), QSizeF(415, 340)) for n in (14, 22, 100))
    assert roomy.names == "all"
    assert roomy.pitch >= CROWDED
    assert (crowded.names, crowded.px) == ("rows", 10)
    assert many.names == "few"


@pytest.mark.parametrize("size", [(415, 340), (415, 230)])
def test_names_without_a_position_get_no_number(qtbot, monkeypatch, size):
    """A table of the vocabulary counted its rows: `13 to` there was read as the prompt's `13`, which was another."""
    texts, labels = [], []
    monkeypatch.setattr(matrix_paint, "write", lambda _, rect, text, **style: texts.append(text))
    paint = matrix_paint.paint_line
    monkeypatch.setattr(matrix_paint, "paint_line", lambda *of: labels.append(of[1]) or paint(*of))
    view = MatrixView()
    qtbot.addWidget(view)
    view.resize(*size)
    names = tuple(Label(f"word{i}") for i in range(24))
    view.set_data(MatrixData(np.eye(24), row_labels=names, column_labels=names, row=5, column=9))
    view.grab()
    assert view.grid().names in ("rows", "few")
    assert [text for text in texts if text.isdigit()] == []
    assert {runs[-1].text for runs in labels} >= {"word5", "word9"}
    assert all(len(runs) == 1 for runs in labels), "no figures before the word"
    assert len(labels) > 8  # every row, or as many as there is room for


def test_names_of_thousands_are_not_measured_at_every_paint(qapp):
    def refuse(at):
        raise AssertionError(f"label {at} was asked for")

    labels = MadeLabels(8000, refuse)
    grid = layout(
        MatrixData(np.zeros((8000, 8000), dtype=bool), row_labels=labels, column_labels=labels), QSizeF(560, 300)
    )
    assert grid.names == "few"
    assert grid.x > layout(MatrixData(np.zeros((8000, 8000), dtype=bool)), QSizeF(560, 300)).x


def test_names_get_larger_again_when_the_matrix_grows(qapp):
    assert layout(data(22), QSizeF(415, 340)).px < layout(data(22), QSizeF(900, 700)).px


def test_a_matrix_of_4096_tokens_is_painted_from_an_image_no_larger_than_the_screen(qtbot):
    view = MatrixView()
    qtbot.addWidget(view)
    view.resize(415, 340)
    view.set_data(MatrixData(np.eye(4096, dtype=np.float32), row=4000, column=4000))
    view.grab()
    assert max(view._image.width(), view._image.height()) <= 415 * view.devicePixelRatioF()
    darkest = QColor(*theme.sequential_lut()[255].tolist())
    assert view._image.pixelColor(100, 100).name() == darkest.name()  # the diagonal survives


def test_numeric_axes_stand_in_for_names(qtbot):
    view = MatrixView()
    qtbot.addWidget(view)
    view.resize(415, 340)
    x = np.sort(np.random.default_rng(0).uniform(0.8, 9.9, 48))
    view.set_data(MatrixData(np.eye(48), row_axis=x, column_axis=x, row=12, column=20))
    assert view.grid().names == "axes"
    assert not view.grab().isNull()


def test_a_screen_reader_hears_the_selection(view):
    assert view.accessibleDescription() == "14 × 14 cells, query 13 Pharaoh, key 7 music"


def test_without_data_there_is_nothing_to_click(view, qtbot):
    view.set_data(None)
    view.grab()
    with qtbot.assertNotEmitted(view.cellActivated):
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(200, 200))


@pytest.mark.parametrize(
    "axis",
    [
        np.linspace(1.7e9, 1.701e9, 64),
        np.linspace(0, 3e-8, 64),
        np.sort(np.random.default_rng(0).normal(size=300)) * np.linspace(0.2, 4, 300),
        np.linspace(0, 10, 48),
    ],
)
def test_numbers_along_an_axis_are_whole_and_apart(qtbot, monkeypatch, axis):
    """Story: numbers of ten digits stood on each other and began outside the panel, and so did −4, −3, −2."""
    axis = np.sort(axis)
    written = []

    def record(painter, rect, text, *, side="left", **style):
        width = text_width(text, style.get("px", 12))
        left = rect.right() - width if side == "right" else rect.center().x() - width / 2
        written.append((side, text, QRectF(left, rect.center().y() - 6, width, 12)))

    monkeypatch.setattr(matrix_paint, "write", record)
    view = MatrixView()
    qtbot.addWidget(view)
    view.resize(300, 240)
    view.set_data(MatrixData(np.eye(len(axis)), row_axis=axis, column_axis=axis, row=3, column=3))
    view.grab()
    numbers = [(side, rect) for side, text, rect in written if not text.endswith(("→", "↓"))]
    for side in ("right", "centre"):
        rects = [rect for kind, rect in numbers if kind == side]
        assert len(rects) >= 2
        assert all(view.rect().contains(rect.toRect()) for rect in rects)
        assert not any(a.intersects(b) for i, a in enumerate(rects) for b in rects[i + 1 :])
