import numpy as np
import pytest
from PySide6.QtCore import QBuffer, QByteArray, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QWheelEvent
from PySide6.QtSvg import QSvgGenerator, QSvgRenderer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from ui import theme
from ui.widgets.axes import Span
from ui.widgets.plot import Plot


@pytest.fixture
def plot(qtbot):
    widget = Plot()
    qtbot.addWidget(widget)
    widget.resize(400, 250)
    widget.show()
    widget.set_spans(Span(0, 10), Span(-1, 1), Span(0, 10))
    return widget


def wheel(plot, at, notches):
    event = QWheelEvent(
        QPointF(at),
        QPointF(plot.mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(plot.viewport(), event)


def test_curves_and_painted_marks_share_one_geometry(plot):
    curve = plot.add_curve("ink", 3.0)
    for x, y in ((1.0, -0.6), (3.3, 0.2), (9.0, 0.7)):
        curve.set_data([x - 0.3, x + 0.3], [y, y])
        image, frame = plot.grab().toImage(), plot.frame_px
        assert image.pixelColor(round(frame.x_px(x)), int(frame.y_px(y))).name().upper() == theme.current().ink


def test_grid_lines_stand_at_the_ticks_and_behind_the_data(plot):
    frame = plot.frame_px
    assert plot.grid_rows() == pytest.approx([float(frame.y_px(value)) for value, _ in plot.y_ticks], abs=0.5)
    ink = plot.add_curve("ink", 4.0)
    ink.set_data([4.0, 6.0], [0.5, 0.5])
    image, row = plot.grab().toImage(), int(frame.y_px(0.5))
    assert image.pixelColor(int(frame.x_px(1)), row).name().upper() == theme.current().grid
    assert image.pixelColor(int(frame.x_px(5)), row).name().upper() == theme.current().ink


def test_the_background_is_the_panel_colour(plot):
    image = plot.grab().toImage()
    assert image.pixelColor(3, 3).name().upper() == theme.current().panel


@pytest.mark.parametrize("scale", [1, 2, 3])
def test_a_line_is_as_thick_in_a_picture_of_any_scale(plot, scale):
    curve = plot.add_curve("ink", 4.0)
    curve.set_data([0.0, 10.0], [0.5, 0.5])
    plot.grab()  # as on the screen
    image = QImage(plot.size() * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    QWidget.render(plot, image)
    column = [image.pixelColor(200 * scale, y).lightness() for y in range(image.height())]
    assert sum(lightness < 128 for lightness in column) == pytest.approx(4 * scale, abs=1)


def test_dashes_keep_their_length_in_pixels(plot):
    curve = plot.add_curve("muted", 1.8, dash=(5.0, 4.0))
    pen = curve.pen()
    assert [length * pen.widthF() for length in pen.dashPattern()] == pytest.approx([5.0, 4.0])


def test_the_wheel_keeps_the_place_under_the_mouse_and_never_leaves_the_whole(plot):
    at = QPoint(150, 100)
    x, y = plot.frame_px.x_at(at.x()), plot.frame_px.y_at(at.y())
    wheel(plot, at, 3)
    assert plot.frame_px.x.length < 10
    # Longer numbers may push the drawing area aside by a few pixels.
    assert plot.frame_px.x_px(x) == pytest.approx(at.x(), abs=8)
    assert plot.frame_px.y_px(y) == pytest.approx(at.y(), abs=1)
    wheel(plot, at, 200)
    assert plot.frame_px.x.length == pytest.approx(0.2)
    wheel(plot, at, -400)
    assert (plot.frame_px.x, plot.frame_px.y) == (Span(0, 10), Span(-1, 1))


def test_home_shows_everything_again(plot):
    wheel(plot, QPoint(200, 100), 5)
    assert plot.zoomed
    QTest.keyClick(plot, Qt.Key.Key_Home)
    assert not plot.zoomed


def test_a_low_plot_prints_two_numbers_only(plot):
    plot.resize(400, 100)
    assert plot.frame_px.height < 60
    assert len(plot.y_ticks) == 2


def test_an_area_has_a_gap_where_a_curve_is_undefined(plot):
    low = np.asarray([-0.5, -0.5, np.nan, -0.5, -0.5, -0.5])
    x = np.asarray([0.0, 2.0, 4.0, 6.0, 8.0, 10.0])
    area = plot.add_area("ink", -10)
    area.set_data(x, low, low + 1)

    def inside(place):
        frame = plot.frame_px
        return image.pixelColor(round(frame.x_px(place)), round(frame.y_px(0.27))).name().upper() == theme.current().ink

    image = plot.grab().toImage()
    assert [inside(place) for place in (1, 3, 4, 5, 7, 9)] == [True, False, False, False, True, True]
    area.set_data(x, np.full(6, np.nan), np.full(6, np.nan))
    image = plot.grab().toImage()
    assert not inside(1)


def test_curves_leave_no_trace_outside_the_drawing_area(plot):
    bare = plot.grab().toImage()
    plot.add_curve("ink", 3.0).set_data([-100.0, 2.0, 2.1, 110.0], [0.3, 1e300, -1e300, 0.3])
    plot.add_area("key", -5).set_data([-5.0, 20.0], [-9.0, -9.0], [9.0, 9.0])
    image, frame = plot.grab().toImage(), plot.frame_px
    assert image != bare
    for y in range(image.height()):
        for x in (int(frame.left) - 3, int(frame.right) + 3):
            assert image.pixelColor(x, y) == bare.pixelColor(x, y)
    for y in (int(frame.top) - 3, int(frame.bottom) + 3):
        assert all(image.pixelColor(x, y) == bare.pixelColor(x, y) for x in range(image.width()))


def test_the_kept_ground_is_painted_again_only_for_what_lies_in_it(plot, qapp):
    plot.still_below = -45.0
    band, curve = plot.add_area("band", -90), plot.add_curve("ink", 2.0, z=-10)
    band.set_data([0.0, 10.0], [-0.5, -0.5], [0.5, 0.5])
    curve.set_data([0.0, 10.0], [0.0, 0.5])
    kept = plot.grab().toImage()
    of = plot._ground_of
    curve.set_data([0.0, 10.0], [0.5, 0.0])
    band.set_data(np.asarray([0.0, 10.0]), np.full(2, -0.5), np.full(2, 0.5))  # the same numbers again
    assert plot.grab().toImage() != kept
    assert plot._ground_of == of
    curve.set_data([0.0, 10.0], [0.0, 0.5])
    assert plot.grab().toImage() == kept
    changes = [
        lambda: band.set_data([0.0, 10.0], [-0.2, -0.2], [0.5, 0.5]),
        lambda: setattr(band, "shown", False),
        lambda: plot.set_spans(Span(0, 5), Span(-1, 1), Span(0, 5)),
        lambda: plot.resize(420, 250),
        lambda: theme.apply(qapp, "dark"),
    ]
    for change in changes:
        before = plot.grab().toImage()
        change()
        now = plot.grab().toImage()
        assert now != before
        plot.still_below = -np.inf
        assert plot.grab().toImage() == now, "the same without a kept picture"
        plot.still_below = -45.0


def test_another_theme_recolours_what_is_there(plot, qapp):
    curve = plot.add_curve("ink", 2.0)
    light = curve.pen().color().name()
    theme.apply(qapp, "dark")
    assert curve.pen().color().name().upper() == theme.DARK.ink != light.upper()


def test_a_picture_drawn_through_a_painter_holds_the_same_axes_as_the_screen(plot):
    direct = plot.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    moved = QImage(plot.width() + 40, plot.height() + 30, QImage.Format.Format_RGB32)
    moved.fill(Qt.GlobalColor.white)
    painter = QPainter(moved)
    QWidget.render(plot, painter, QPoint(40, 30))
    painter.end()
    assert moved.copy(40, 30, plot.width(), plot.height()) == direct


def _svg_of(widget):
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator(QSvgGenerator.SvgVersion.SvgTiny12)
    generator.setOutputDevice(buffer)
    generator.setSize(widget.size())
    generator.setViewBox(widget.rect())
    generator.setResolution(widget.logicalDpiX())
    painter = QPainter(generator)
    QWidget.render(widget, painter, QPoint())
    painter.end()
    return bytes(buffer.data())


def _drawn(svg, size):
    """The file as a renderer draws it that knows neither clips nor cosmetic pens."""
    image = QImage(size, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(svg.replace(b"non-scaling-stroke", b"none"))).render(painter)
    painter.end()
    return image


def _rows_of(image, x, color):
    want = QColor(color)
    near = [
        y
        for y in range(image.height())
        if abs(image.pixelColor(x, y).red() - want.red()) + abs(image.pixelColor(x, y).blue() - want.blue()) < 90
    ]
    return len(near)


def test_a_curve_in_a_vector_file_has_its_width_without_cosmetic_pens(plot):
    plot.add_curve("query", 4.0).set_data(np.asarray([0.0, 10.0]), np.asarray([0.1, 0.1]))
    image = _drawn(_svg_of(plot), plot.size())
    assert 3 <= _rows_of(image, 200, theme.current().query) <= 5


def test_a_zoomed_curve_ends_at_the_drawing_area_in_a_vector_file(plot):
    plot.add_curve("query", 4.0).set_data(np.asarray([0.0, 5.0, 10.0]), np.asarray([0.0, 0.0, 0.0]))
    plot.add_area("error", -10).set_data(np.asarray([0.0, 10.0]), np.full(2, -0.5), np.full(2, 0.5))
    frame = plot.frame_px
    plot.zoom(0.2, frame.left + frame.width / 2, frame.top + frame.height / 2)
    image = _drawn(_svg_of(plot), plot.size())
    assert _rows_of(image, 200, theme.current().query) > 2
    outside = [image.pixelColor(int(frame.right) + 8, y).name() for y in range(image.height())]
    assert set(outside) == {theme.current().panel.lower()}


def test_the_background_stays_inside_the_widget(plot, qtbot):
    card = QWidget()
    qtbot.addWidget(card)
    card.resize(400, 300)
    plot.setParent(card)
    plot.move(0, 50)
    plot.show()
    card.show()
    plot.setBackgroundBrush(QColor("#ff0000"))
    image = _drawn(_svg_of(card), card.size())
    assert image.pixelColor(200, 48) != QColor("#ff0000")
    assert image.pixelColor(4, 52) == QColor("#ff0000")
    plot.setParent(None)
