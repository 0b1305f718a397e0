import numpy as np
import pytest
from PySide6.QtGui import QColor, QFontInfo, QFontMetricsF, QPainter, QPalette
from PySide6.QtWidgets import QMenu, QWidget

from ui import theme
from ui.theme import DARK, LIGHT

THEMES = [pytest.param(LIGHT, id="light"), pytest.param(DARK, id="dark")]

# Machado, Oliveira & Fernandes (2009), table of matrices for severity 1, in linear sRGB.
DEUTERANOPIA = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
PROTANOPIA = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]


def linear(color):
    srgb = np.asarray(QColor(color).getRgbF()[:3])
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIELAB, D65, of linear sRGB (CIE 15:2004)."""
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    x = (to_xyz @ np.clip(rgb, 0, 1)) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(x > (6 / 29) ** 3, np.cbrt(x), x / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def smallest_distance(table, matrix):
    places = [
        lab(np.asarray(matrix) @ linear(c)) for c in (table.query, table.key, table.target, table.direct, table.ink)
    ]
    return min(np.linalg.norm(a - b) for i, a in enumerate(places) for b in places[:i])


@pytest.mark.parametrize("table", THEMES)
@pytest.mark.parametrize("token", ["ink", "text2", "muted", "query", "key", "target", "negative", "direct", "error"])
def test_text_reads_on_the_panel_and_the_page(table, token):
    color = getattr(table, token)
    assert theme.contrast(color, table.panel) >= 4.5
    if token in ("ink", "text2", "muted"):
        assert theme.contrast(color, table.window) >= 4.4


@pytest.mark.parametrize("table", THEMES)
@pytest.mark.parametrize("token", ["ctrl", "weight_ink", "positive", "editedink"])
def test_marks_and_control_edges_reach_three_to_one(table, token):
    assert theme.contrast(getattr(table, token), table.panel) >= 3.0


@pytest.mark.parametrize("table", THEMES)
@pytest.mark.parametrize("tint", ["qtint", "ktint", "ttint", "errtint", "band"])
def test_ink_reads_on_every_tint(table, tint):
    assert theme.contrast(table.ink, getattr(table, tint)) >= 7
    assert theme.contrast(table.text2, getattr(table, tint)) >= 4.5


@pytest.mark.parametrize(
    ("table", "normal", "deuteranopia", "protanopia"),
    [pytest.param(LIGHT, 43, 30, 28, id="light"), pytest.param(DARK, 29, 18, 22, id="dark")],
)
def test_roles_stay_apart_for_colour_blind_eyes(table, normal, deuteranopia, protanopia):
    assert smallest_distance(table, np.eye(3)) >= normal - 0.5
    assert smallest_distance(table, DEUTERANOPIA) >= deuteranopia - 0.5
    assert smallest_distance(table, PROTANOPIA) >= protanopia - 0.5


@pytest.mark.parametrize("table", THEMES)
def test_zero_is_exactly_the_colour_of_the_panel(table):
    panel = QColor(table.panel).getRgb()
    assert tuple(theme.sequential_lut(table)[0]) == panel
    signed = theme.diverging_lut(table)
    assert tuple(signed[127]) == panel
    assert tuple(signed[128]) == panel


@pytest.mark.parametrize("table", THEMES)
def test_colour_tables_pass_through_their_stops_and_move_one_way(table):
    lut = theme.sequential_lut(table)
    assert lut.shape == (256, 4)
    assert lut.dtype == np.uint8
    for stop, row in zip(table.sequential, lut[::51], strict=True):
        assert tuple(row) == QColor(stop).getRgb()
    lightness = np.array([lab(linear(QColor(*row)))[0] for row in lut.tolist()])
    steps = np.diff(lightness)
    assert np.all(steps < 0.2) if not table.dark else np.all(steps > -0.2)
    ends = theme.diverging_lut(table)[[0, -1]]
    assert [tuple(row) for row in ends] == [QColor(table.diverging[0]).getRgb(), QColor(table.diverging[-1]).getRgb()]


@pytest.mark.parametrize("table", THEMES)
def test_a_number_in_a_cell_is_readable_on_every_colour(table):
    for lut in (theme.sequential_lut(table), theme.diverging_lut(table)):
        for row in lut.tolist():
            color = QColor(*row)
            assert theme.contrast(theme.ink_on(color), color) >= 4.25  # no two inks can promise more on every colour


def test_contrast_of_white_and_black_is_twenty_one():
    assert theme.contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert theme.contrast("#FFFFFF", "#FFFFFF") == pytest.approx(1)


def test_apply_reaches_palette_style_and_later_reads(qapp):
    theme.apply(qapp, "dark")
    assert theme.current() is DARK
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor(DARK.window)
    assert qapp.style().objectName() in ("fusion", "qstylesheetstyle") or qapp.styleSheet()
    assert theme.role_color("query") == QColor(DARK.query)
    theme.apply(qapp, "light")
    assert theme.role_color("query") == QColor(LIGHT.query)


def test_widgets_repaint_in_the_new_theme_by_themselves(qapp, qtbot):
    class Patch(QWidget):
        def paintEvent(self, event):
            QPainter(self).fillRect(self.rect(), QColor(theme.current().query))

    patch = Patch()
    qtbot.addWidget(patch)
    patch.resize(40, 40)
    patch.show()
    qtbot.waitExposed(patch)
    painted = []
    patch.paintEvent = lambda event: painted.append(theme.current().name)
    theme.apply(qapp, "dark")
    qtbot.waitUntil(lambda: "dark" in painted)


@pytest.mark.parametrize("table", THEMES)
def test_menus_follow_the_theme(qapp, qtbot, table):
    theme.apply(qapp, table.name)
    menu = QMenu()
    qtbot.addWidget(menu)
    menu.addAction("Copy")
    menu.resize(menu.sizeHint())
    image = menu.grab().toImage()
    assert image.pixelColor(image.width() - 6, 6) == QColor(table.panel)


def test_figures_have_equal_width_in_the_bundled_typeface():
    for weight in (400, 500, 600, 700):
        f = theme.font(12, weight)
        assert QFontInfo(f).family() == "Inter"
        assert QFontInfo(f).pixelSize() == 12
        metrics = QFontMetricsF(f)
        assert metrics.horizontalAdvance("1111") == metrics.horizontalAdvance("8888")


def test_style_sheet_names_no_font_and_leaves_no_gap(qapp):
    for name in ("dark", "light"):
        theme.apply(qapp, name)
        assert "font" not in qapp.styleSheet()
        assert "$" not in qapp.styleSheet()
