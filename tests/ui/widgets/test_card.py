import pytest
from PySide6.QtCore import QBuffer, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QRegion
from PySide6.QtSvg import QSvgGenerator, QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QWidget

from kav.views.words import Piece
from ui import theme
from ui.widgets.caption import Caption
from ui.widgets.card import CardBody, CardFooter, CardHeader
from ui.widgets.combo import Combo


@pytest.fixture
def header(qtbot):
    widget = CardHeader("Does it matter?", "Dose response", name="dose.header")
    qtbot.addWidget(widget)
    widget.resize(426, widget.height())
    widget.set_reading((Piece("Yes: "), Piece("5.0", strong=True)))
    widget.show()
    return widget


@pytest.mark.parametrize(
    ("child", "signal"),
    [("formula", "formulaRequested"), ("maximise", "maximiseRequested"), ("menu", "menuRequested")],
)
def test_buttons_ask_and_have_tooltips(qtbot, header, child, signal):
    button = header.findChild(QAbstractButton, f"dose.header.{child}")
    assert button.toolTip()
    with qtbot.waitSignal(getattr(header, signal)):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_double_click_asks_to_maximise(qtbot, header):
    with qtbot.waitSignal(header.maximiseRequested):
        qtbot.mouseDClick(header, Qt.MouseButton.LeftButton, pos=QPoint(250, 20))


def test_edited_edge_is_amber_and_moves_no_text(header):
    plain = header.grab().toImage()
    header.set_edited(True)
    edited = header.grab().toImage()
    assert edited.pixelColor(200, 1) == QColor(theme.LIGHT.edited)
    rows = {
        y for x in range(30, 396) for y in range(plain.height()) if plain.pixelColor(x, y) != edited.pixelColor(x, y)
    }
    assert rows == {0, 1, 2}
    header.set_edited(False)
    assert header.grab().toImage() == plain


def test_tabs_switch_and_the_open_one_is_underlined(qtbot, header):
    header.set_tabs([("attribution", "What does it move?"), ("circuits", "By which circuit?")], "attribution")
    tabs = [header.findChild(QAbstractButton, f"dose.header.tab.{key}") for key in ("attribution", "circuits")]
    with qtbot.waitSignal(header.tabChanged) as caught:
        qtbot.mouseClick(tabs[1], Qt.MouseButton.LeftButton)
    assert caught.args == ["circuits"]
    ink = QColor(theme.LIGHT.ink)
    assert [tab.grab().toImage().pixelColor(10, 21) == ink for tab in tabs] == [False, True]
    header.set_title("Does it matter?", "Dose response")
    assert header.accessibleName() == "Does it matter? Dose response"


def test_header_and_body_make_one_frame(qtbot, header):
    body = CardBody()
    qtbot.addWidget(body)
    body.resize(426, 100)
    top, bottom = header.grab().toImage(), body.grab().toImage()
    border = QColor(theme.LIGHT.border)
    assert top.pixelColor(0, header.height() - 1) == border
    assert bottom.pixelColor(0, 0) == border
    assert bottom.pixelColor(213, 99) == border
    panel = QColor(theme.LIGHT.panel)
    assert top.pixelColor(213, header.height() - 1) == panel
    assert bottom.pixelColor(213, 0) == panel


def test_footer_lays_out_controls_without_overlap(qtbot):
    footer = CardFooter(name="dose.footer")
    qtbot.addWidget(footer)
    caption, combo, value = Caption("response"), Combo([("logit", "logit")]), Caption("1.00", weight=600, color="ink")
    for widget in (caption, combo):
        footer.row.addWidget(widget)
    footer.row.addStretch(1)
    footer.row.addWidget(value)
    footer.resize(320, 40)
    footer.show()
    assert caption.x() == 14
    assert caption.geometry().right() < combo.x()
    assert combo.geometry().right() < value.x()
    assert value.geometry().right() <= 320 - 14
    assert footer.height() == 40


@pytest.mark.parametrize("make", [lambda: CardHeader("Why?", "Panel", name="x"), CardBody])
def test_nothing_is_painted_beyond_a_part_of_the_card(qtbot, make):
    widget = make()
    qtbot.addWidget(widget)
    widget.resize(300, 54)
    if isinstance(widget, CardHeader):
        widget.set_edited(True)
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator(QSvgGenerator.SvgVersion.SvgTiny12)  # a file without clips
    generator.setOutputDevice(buffer)
    generator.setSize(QSize(400, 200))
    generator.setViewBox(QRect(0, 0, 400, 200))
    generator.setResolution(widget.logicalDpiX())
    painter = QPainter(generator)
    widget.render(painter, QPoint(40, 40), QRegion(), QWidget.RenderFlag.DrawChildren)
    painter.end()
    drawn = QSvgRenderer(buffer.data())
    image = QImage(400, 200, QImage.Format.Format_RGB32)
    image.fill(QColor("#00ff00"))
    painter = QPainter(image)
    drawn.render(painter)
    painter.end()
    green = QColor("#00ff00")
    assert image.pixelColor(190, 60) != green
    assert all(image.pixelColor(x, y) == green for x in (60, 190, 330) for y in (*range(38), *range(96, 140)))
