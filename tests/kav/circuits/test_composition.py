import numpy as np
import pytest

from kav.circuits.composition import composition
from kav.circuits.qk_ov import ov, qk
from kav.errors import Cancelled, KavError
from kav.task import Task
from tests.kav.model_factory import tiny_model


def dense(model, kind, layer, head, offset):
    """What of the later head reads the earlier one, as a full matrix."""
    if kind == "V":
        return ov(model, layer, head).matrix()
    matrix = qk(model, layer, head, offset).matrix()
    return matrix if kind == "Q" else matrix.T


@pytest.mark.parametrize("kind", ["Q", "K", "V"])
def test_composition_is_that_of_the_dense_products(xp, kind):
    model = tiny_model(xp, n_layers=3, dtype="float64")
    found = composition(model, kind, offset=1)
    n_heads = model.config.n_heads
    assert found.values.shape == (3, n_heads, 3, n_heads)
    for there, here in [(0, 1), (0, 2), (1, 2)]:
        for first in range(n_heads):
            for second in range(n_heads):
                written, read = ov(model, there, first).matrix(), dense(model, kind, here, second, 1)
                expected = np.linalg.norm(written @ read) / np.linalg.norm(written) / np.linalg.norm(read)
                assert found.values[there, first, here, second] == pytest.approx(expected, abs=1e-10)


def test_pairs_that_are_not_upstream_are_nan():
    values = composition(tiny_model(n_layers=3)).values
    for there in range(3):
        for here in range(3):
            assert np.isnan(values[there, :, here, :]).all() == (there >= here)


def test_one_layer_composes_with_nothing():
    assert np.isnan(composition(tiny_model(n_layers=1)).values).all()


def test_baseline_is_the_root_mean_square_of_randomly_turned_matrices():
    rng = np.random.default_rng(0)
    model = tiny_model(n_layers=2, dtype="float64")
    A, B = ov(model, 0, 0).matrix(), qk(model, 1, 0).matrix()
    squares = []
    for _ in range(4000):
        turn = np.linalg.qr(rng.normal(size=A.shape))[0]
        squares.append(np.linalg.norm(A @ turn @ B) ** 2)
    root = np.sqrt(np.mean(squares)) / np.linalg.norm(A) / np.linalg.norm(B)
    assert root == pytest.approx(composition(model).baseline, rel=0.02)


def test_unknown_kind_is_refused():
    with pytest.raises(KavError, match='must be "Q", "K" or "V", got \'X\''):
        composition(tiny_model(), "X")


def test_composition_reports_and_can_be_cancelled():
    model, seen = tiny_model(n_layers=3), []
    composition(model, task=Task(lambda fraction, text: seen.append(fraction)))
    assert seen == [0.5, 1.0]
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        composition(model, task=task)
