"""Small results of both scenes, computed with plain NumPy: what the plots are tested with."""

from dataclasses import replace

import numpy as np
import pytest

from kav.views import dose, fit
from kav.views.words import Label, Piece
from ui.widgets.matrix import MatrixView

N = 12


def regression(n: int = N, h: float = 0.6, x_query: float = 4.0, seed: int = 0) -> fit.Result:
    """A Gaussian fit of n samples of a noisy sine."""
    random = np.random.default_rng(seed)
    x = np.sort(random.uniform(0, 10, n))
    y = np.sin(x) + random.normal(0, 0.2, n)
    at = np.linspace(0, 10, 200)

    def weights(places: np.ndarray) -> np.ndarray:
        mass = np.exp(-0.5 * ((places[:, None] - x) / h) ** 2)
        return mass / mass.sum(axis=1, keepdims=True)

    weight = weights(np.asarray([x_query]))[0]
    shape = np.linspace(x_query - 4 * h, x_query + 4 * h, 81)
    curve = weights(at) @ y
    return fit.Result(
        kind="regression",
        reading=(Piece("a reading"),),
        points=fit.Observations(x, y, weight, np.ones(n, dtype=bool)),
        labels=tuple(Label(f"sample {i}") for i in range(n)),
        selected=int(weight.argmax()),
        curve_at=at,
        curve_f=curve,
        query_at=x_query,
        f=float(weight @ y),
        query_range=(0.0, 10.0),
        query_ticks=(),
        x_range=(0.0, 10.0),
        y_range=(-2.0, 2.0),
        band=(float(y.min()), float(y.max())),
        band_holds=True,
        x_title="x →",
        y_title=(Piece("↑ response y"),),
        axes=("x", "y"),
        f_text="f = 0.00",
        rows=(),
        h=h,
        ci_low=curve - 0.2,
        ci_high=curve + 0.2,
        kernel_x=shape,
        kernel_y=np.exp(-0.5 * ((shape - x_query) / h) ** 2),
        loo_h=0.5,
    )


def head(t: float = 0.0) -> fit.Result:
    """Eight keys of a head, the last one masked; the curve is their softmax average as the query moves."""
    scores = np.asarray([-3.0, -1.0, 0.5, 2.0, 2.5, 3.0, 6.0, 0.0])
    responses = np.asarray([0.5, -1.0, 0.2, 1.0, 0.8, -0.5, 9.0, 0.0])
    visible = np.arange(8) < 7
    weight = np.where(visible, np.exp(scores), 0.0)
    weight /= weight.sum()
    at = np.linspace(-0.25, 1.25, 100)
    moved = np.where(visible, np.exp(scores * (1 - at[:, None])), 0.0)
    curve = (moved / moved.sum(axis=1, keepdims=True)) @ responses
    return fit.Result(
        kind="head",
        reading=(Piece("a reading"),),
        points=fit.Observations(scores, responses, weight, visible),
        labels=tuple(Label(f"token{i}", i) for i in range(8)),
        selected=6,
        curve_at=at,
        curve_f=curve,
        query_at=t,
        f=float(np.interp(t, at, curve)),
        query_range=(-0.25, 1.25),
        query_ticks=((0.0, "7", "here"), (0.5, "", "t = 0.5"), (1.0, "6", "there")),
        x_range=(-4.0, 7.0),
        y_range=(-1.0, 9.0),
        band=(-1.0, 9.0),
        band_holds=True,
        x_title="score of the keys →",
        y_title=(Piece("↑ message: logits of "), Piece("word", mark="target")),
        axes=("score", "message"),
        f_text="f = +8.02 logits",
        rows=(),
        towards=6,
    )


def edited_head() -> fit.Result:
    """The same head after an edit moved its strongest key."""
    plain = head()
    x, y, weight = plain.points.x.copy(), plain.points.y.copy(), np.full(8, 1 / 7)
    x[6], y[6] = 0.0, 4.0
    return replace(plain, points=fit.Observations(x, y, weight, plain.points.visible), before=plain.points)


def dose_curve(at: float = 1.0) -> dose.Result:
    """A saturating response with its direct line and tangent."""
    doses = np.linspace(-1, 3, 41)
    response = 10 * np.tanh(doses)
    slope = 10 / np.cosh(1.0) ** 2
    here = 10 * np.tanh(1.0)
    return dose.Result(
        kind="head",
        reading=(Piece("a reading"),),
        component=dose.Component(1, 1),
        component_text="head 1.1",
        curve=dose.Curve(doses, response, here + 7 * (doses - 1), here + slope * (doses - 1)),
        curve_spec=None,
        dose=at,
        value=float(10 * np.tanh(at)),
        before=None if at == 1.0 else here,
        y_range=(-12.0, 16.0),
        y_title=(Piece("↑ logit"),),
        x_title="dose: scale on head 1.1 →",
        names=("rerun", "direct line", "tangent at 1"),
        choices=(("head 1.1 (selected)", dose.Component(1, 1)),),
    )


@pytest.fixture
def regression_result():
    """Maker of a regression fit."""
    return regression


@pytest.fixture
def head_result():
    """Maker of a head's fit."""
    return head


@pytest.fixture
def edited_result():
    """Maker of a head's fit after an edit."""
    return edited_head


@pytest.fixture
def dose_result():
    """Maker of a dose response."""
    return dose_curve


@pytest.fixture
def make_matrix(qtbot):
    """Maker of a matrix on the screen, as large as the panel gives it."""

    def make(data):
        widget = MatrixView()
        qtbot.addWidget(widget)
        widget.resize(415, 340)
        widget.set_data(data)
        widget.show()
        return widget

    return make
