import numpy as np
import pytest
from PySide6.QtCore import Qt

from kav.views.attention import KernelShape
from ui.widgets.gallery import Gallery

U = np.linspace(-3, 3, 61)
NAMES = ("gaussian", "epanechnikov", "uniform", "triangular", "biweight", "triweight", "tricube", "laplace", "exp-dot")
SHAPES = tuple(KernelShape(name, name.title(), U, np.exp(-(U**2) / 2)) for name in NAMES)


@pytest.fixture
def gallery(qtbot):
    widget = Gallery()
    qtbot.addWidget(widget)
    widget.resize(198, 340)
    widget.set_shapes(SHAPES, "gaussian")
    widget.show()
    return widget


def test_a_click_asks_for_the_kernel_under_the_pointer(gallery, qtbot):
    for index, name in enumerate(NAMES):
        with qtbot.waitSignal(gallery.kernelRequested) as signal:
            qtbot.mouseClick(gallery, Qt.MouseButton.LeftButton, pos=gallery.shape_rect(index).center().toPoint())
        assert signal.args == [name]


def test_down_asks_for_the_next_kernel(gallery, qtbot):
    with qtbot.waitSignal(gallery.kernelRequested) as signal:
        qtbot.keyClick(gallery, Qt.Key.Key_Down)
    assert signal.args == ["epanechnikov"]


@pytest.mark.parametrize("size", [(198, 340), (222, 210), (300, 500)])
def test_shapes_do_not_overlap_and_stay_inside(gallery, size):
    gallery.resize(*size)
    places = [gallery.shape_rect(index) for index in range(len(SHAPES))]
    assert all(gallery.rect().contains(place.toRect()) for place in places)
    assert not any(a.intersects(b) for i, a in enumerate(places) for b in places[i + 1 :])
    assert not gallery.grab().isNull()
