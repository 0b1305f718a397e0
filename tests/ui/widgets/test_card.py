import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractButton

from kav.views.words import Piece
from ui import theme
from ui.widgets.card import Caption, CardBody, CardFooter, CardHeader
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
    caption = footer.add_caption("response")
    combo = footer.add(Combo([("logit", "logit")]))
    footer.add_stretch()
    value = footer.add(Caption("1.00", weight=600, color="ink"))
    footer.resize(320, 40)
    footer.show()
    assert caption.x() == 14
    assert caption.geometry().right() < combo.x()
    assert combo.geometry().right() < value.x()
    assert value.geometry().right() <= 320 - 14
    assert footer.height() == 40
