import numpy as np
import pytest
from PySide6.QtGui import QColor

from ui import theme
from ui.widgets.spectrum import Spectrum


@pytest.fixture
def spectrum(qtbot):
    widget = Spectrum()
    qtbot.addWidget(widget)
    widget.resize(164, 224)
    return widget


def colours(widget) -> set[str]:
    image = widget.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


def test_eigenvalues_are_divided_by_the_largest_modulus(spectrum):
    spectrum.set_values(np.asarray([2.0, 1.0]), np.asarray([3.0 + 4.0j, 1.0]))
    assert np.abs(spectrum.eigenvalues).max() == pytest.approx(1.0)


def test_positive_and_negative_eigenvalues_differ_in_colour(spectrum):
    positive, negative = (QColor(getattr(theme.current(), name)).name() for name in ("positive", "negative"))
    spectrum.set_values(None, np.asarray([1.0 + 0j, 0.99, 0.98, 0.97]))
    seen = colours(spectrum)
    assert positive in seen
    assert negative not in seen


@pytest.mark.parametrize("size", [(164, 224), (300, 150), (110, 80), (160, 600), (20, 20)])
def test_any_size_and_any_spectrum_can_be_painted(spectrum, size):
    spectrum.resize(*size)
    for singular in (None, np.zeros(0), np.zeros(3), np.linspace(9, 0, 128)):
        spectrum.set_values(singular, None if singular is None else singular.astype(complex))
        assert not spectrum.grab().isNull()


def test_a_screen_reader_hears_range_and_sign(spectrum):
    spectrum.set_values(np.asarray([12.5, 3.0]), np.asarray([1.0 + 0j, -2.0]), titles=("singular values of W_OV", "λ"))
    assert "2 from 12.5 to 3.00" in spectrum.accessibleDescription()
    assert "1 of 2 eigenvalues have Re λ > 0" in spectrum.accessibleDescription()
