import numpy as np
from PySide6.QtGui import QColor

from ui import theme
from ui.widgets.small_matrix import SmallMatrix

W_QK = np.asarray([[0.0, 0.0, -2.47], [0.0, 4.94, 0.0], [0.0, 0.0, 0.0]])


def test_cells_have_the_colour_of_their_sign_and_all_fit(qtbot):
    small = SmallMatrix()
    qtbot.addWidget(small)
    small.set_values(W_QK, ("1", "x", "x²"), ("1", "xᵢ", "xᵢ²"), title="W_QK", level=4.94)
    small.resize(small.sizeHint())
    image = small.grab().toImage()
    corner = small.cell_rect(1, 1).topLeft().toPoint()
    assert image.pixelColor(corner.x() + 5, corner.y() + 5) == QColor(*theme.diverging_lut()[255].tolist())
    zero = small.cell_rect(2, 0).topLeft().toPoint()
    assert image.pixelColor(zero.x() + 5, zero.y() + 5).name() == QColor(theme.current().panel).name()
    assert small.rect().contains(small.cell_rect(2, 2).toRect())


def test_numbers_are_read_out(qtbot):
    small = SmallMatrix()
    qtbot.addWidget(small)
    small.set_values(np.asarray([[1.0]]), ("y",), ("out",), title="W_OV")
    assert small.accessibleName() == "W_OV"
    assert small.accessibleDescription() == "1.00"
