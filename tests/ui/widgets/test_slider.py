import pytest
from PySide6.QtCore import QPoint, Qt

from ui.widgets.slider import Slider


def make(qtbot, **options):
    slider = Slider(options.pop("low", 0.0), options.pop("high", 10.0), **options)
    qtbot.addWidget(slider)
    slider.resize(214, 26)
    slider.show()
    return slider


def test_drag_emits_while_moving_and_released_once_at_the_end(qtbot):
    slider = make(qtbot, default=2.0)
    values, ends = [], []
    slider.valueChanged.connect(values.append)
    slider.released.connect(lambda: ends.append(slider.value()))
    start = slider.handle_center().toPoint()
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=start)
    for step in range(1, 11):
        qtbot.mouseMove(slider, start + QPoint(10 * step, 0))
    assert ends == []
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=start + QPoint(100, 0))
    assert len(values) == 10
    assert values == sorted(values)
    assert ends == [pytest.approx(7.0, abs=0.05)]


def test_handle_is_under_the_cursor_after_a_click(qtbot):
    slider = make(qtbot)
    qtbot.mouseClick(slider, Qt.MouseButton.LeftButton, pos=QPoint(150, 13))
    assert slider.handle_center().x() == pytest.approx(150, abs=0.5)


def test_press_on_the_handle_alone_changes_nothing(qtbot):
    slider = make(qtbot, default=5.0)
    qtbot.mouseClick(slider, Qt.MouseButton.LeftButton, pos=slider.handle_center().toPoint() + QPoint(4, 0))
    assert slider.value() == 5.0


def test_double_click_restores_the_default(qtbot):
    slider = make(qtbot, default=1.0)
    slider.set_value(8.0)
    qtbot.mouseDClick(slider, Qt.MouseButton.LeftButton, pos=slider.handle_center().toPoint())
    assert slider.value() == 1.0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (Qt.Key.Key_Right, 5.1),
        (Qt.Key.Key_Left, 4.9),
        (Qt.Key.Key_PageUp, 6.0),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_End, 10),
    ],
)
def test_keys_move_and_end_with_released(qtbot, key, value):
    slider = make(qtbot, default=5.0)
    with qtbot.waitSignals([slider.valueChanged, slider.released]):
        qtbot.keyClick(slider, key)
    assert slider.value() == pytest.approx(value)


def test_log_slider_puts_the_geometric_mean_in_the_middle(qtbot):
    slider = make(qtbot, low=0.01, high=100.0, log=True, default=1.0)
    assert slider.fraction() == pytest.approx(0.5)
    qtbot.mouseClick(slider, Qt.MouseButton.LeftButton, pos=QPoint(7, 13))
    assert slider.value() == pytest.approx(0.01)


def test_setting_is_silent_and_clamped(qtbot):
    slider = make(qtbot)
    slider.valueChanged.connect(lambda value: pytest.fail("a setter must not emit"))
    slider.set_value(99.0)
    assert slider.value() == 10.0
    slider.set_range(0.0, 4.0)
    assert slider.value() == 4.0


def test_disabled_slider_does_not_move(qtbot):
    slider = make(qtbot, default=5.0)
    slider.set_available("only in the head scene")
    qtbot.mouseClick(slider, Qt.MouseButton.LeftButton, pos=QPoint(150, 13))
    assert slider.value() == 5.0
    assert slider.toolTip() == "only in the head scene"
