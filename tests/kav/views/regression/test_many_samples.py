"""The regression panels of more samples than can be drawn: the numbers are those of all samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kav.regression.band import spread_every_pair
from kav.regression.fit import dosed_weights, fit_every_pair, observe, smoother_matrix
from kav.regression.objective import objective
from kav.regression.samples import Samples
from kav.task import Task
from kav.views import attention, attribution, circuits, dose, fit, prompt
from kav.views.scene import RegressionScene
from kav.views.words import plain

N = 6_000
PANELS = (fit, attention, attribution, circuits, dose, prompt)


@pytest.fixture(scope="module")
def samples() -> Samples:
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, N)
    return Samples(x, np.sin(x) + 0.3 * rng.standard_normal(N), "many")


def show(panel, scene, last=None, **controls):
    return panel.compute(panel.Spec(scene, **controls), Task(), last)


def of(samples, kernel="gaussian", **more) -> RegressionScene:
    return RegressionScene(samples, kernel, more.pop("h", 0.3), more.pop("x_query", 4.2), **more)


KERNELS = ("gaussian", "epanechnikov", "laplace", "exp-dot-product")


@pytest.mark.parametrize("kernel", KERNELS)
def test_curve_f_and_degrees_of_freedom_are_those_of_every_pair(samples, kernel):
    h = 3.0 if kernel.startswith("exp") else 0.3
    shown = show(fit, of(samples, kernel, h=h))
    observed = observe(samples.x, samples.y, h, kernel)
    np.testing.assert_allclose(shown.curve_f, fit_every_pair(observed, shown.curve_at), atol=1e-6)
    assert shown.f == pytest.approx(fit_every_pair(observed, np.asarray([4.2]))[0], abs=1e-6)
    assert shown.n == N
    plain_spread = spread_every_pair(observed)
    assert shown.dof == pytest.approx(plain_spread.dof, rel=1e-5)
    assert shown.sigma == pytest.approx(plain_spread.sigma, rel=1e-5)
    assert shown.loo_h > 0


def test_dots_are_the_samples_near_the_query_with_their_own_weights(samples):
    shown = show(fit, of(samples))
    S = smoother_matrix(samples.x, [4.2], 0.3)[0]
    assert 100 < shown.samples.size < 1000
    np.testing.assert_allclose(shown.points.weight, S[shown.samples], rtol=1e-6)
    np.testing.assert_array_equal(shown.points.x, samples.x[shown.samples])
    assert shown.sample(shown.selected) == int(np.argmax(S))
    assert str(shown.labels[shown.selected]) == f"sample {int(np.argmax(S))}"
    near = np.abs(samples.x - 4.2) <= 0.3
    assert f"{S[near].sum():.3f} of the weight is on the {near.sum():,} samples within h" in plain(shown.reading)


def test_the_cloud_is_counted_on_pixels_and_not_again_while_the_query_moves(samples):
    shown = show(fit, of(samples))
    cloud = shown.density
    assert cloud.counts.sum() == N
    x_low, x_high, y_low, y_high = cloud.extent
    expected, _, _ = np.histogram2d(
        samples.y, samples.x, bins=cloud.counts.shape, range=((y_low, y_high), (x_low, x_high))
    )
    assert np.abs(cloud.counts - expected).sum() <= 4  # a sample on an edge may fall on either side
    assert cloud.shade.dtype == np.uint8
    np.testing.assert_array_equal(cloud.shade > 0, cloud.counts > 0)
    assert show(fit, of(samples, x_query=5.0), shown).density is cloud


def test_a_dragged_sample_is_a_dot_and_everything_follows(samples):
    moved, shown = samples, None
    for x in (1.0, 5.0, 12.0):
        moved = moved.moved(7, x, 3.0)
        shown = show(fit, of(moved, selected=7), shown)
        observed = observe(moved.x, moved.y, 0.3, "gaussian")
        np.testing.assert_allclose(shown.curve_f, fit_every_pair(observed, shown.curve_at), atol=1e-6)
        assert shown.points.x[shown.selected] == x
        assert shown.density.counts.sum() == N - 1
    assert shown.loo is show(fit, of(moved.moved(7, 2.0, 0.0)), shown).loo


def test_shares_of_the_largest_and_of_all_others_sum_to_f(samples):
    shown = show(attribution, of(samples))
    S = smoother_matrix(samples.x, [4.2], 0.3)[0]
    shares = S * samples.y
    assert sum(part.value for part in shown.parts) == pytest.approx(shown.total, abs=1e-12)
    largest = np.argsort(-np.abs(shares))[:20]
    found = [part.index for part in shown.parts if part.kind == "sample"]
    assert set(largest) <= set(found)
    np.testing.assert_allclose([part.value for part in shown.parts[:-1]], shares[found], rtol=1e-5)
    rest = shown.parts[-1]
    assert (rest.kind, rest.count, rest.name) == ("rest", N - len(found), f"{N - len(found):,} other samples")
    rows = attribution.collapse(shown, 8)
    assert sum(row.value for row in rows if row.kind != "total") == pytest.approx(shown.total, abs=1e-12)
    assert sum(row.count for row in rows if row.kind != "total") == N


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
@pytest.mark.parametrize("h", [0.05, 2.0])
def test_pooled_matrix_holds_the_sums_of_neighbours(samples, kernel, h):
    whole = Samples(samples.x, samples.y)  # no sample is held apart
    shown = show(attention, of(whole, kernel, h=h))
    S = smoother_matrix(samples.x, shown.query_axis, h, kernel)
    order = np.argsort(samples.x)
    starts = np.arange(400) * N // 400
    np.testing.assert_allclose(shown.weights, np.add.reduceat(S[:, order], starts, axis=1), atol=2e-5)
    assert shown.query_axis[shown.query] == 4.2
    np.testing.assert_allclose(shown.weights.sum(axis=1), 1, atol=1e-12)
    assert shown.sample_of_key[shown.key] == np.argmax(smoother_matrix(samples.x, [4.2], h, kernel)[0])


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
@pytest.mark.parametrize("h", [0.05, 2.0])
def test_a_sample_held_apart_counts_in_the_column_where_it_lies(samples, kernel, h):
    whole = Samples(samples.x, samples.y)
    assert whole.prepared.extras.n == 0  # it is made ready, so that what is moved is held apart
    moved = whole.moved(7, 5.55, 3.0).moved(9, 14.0, -2.0)
    shown = show(attention, of(moved, kernel, h=h, selected=7))
    S = smoother_matrix(moved.x, shown.query_axis, h, kernel)
    core = np.delete(np.arange(N), [7, 9])
    order = core[np.argsort(moved.x[core])]
    starts = np.arange(400) * order.size // 400
    expected = np.add.reduceat(S[:, order], starts, axis=1)
    column = int(np.searchsorted(moved.x[order][starts], 5.55)) - 1
    expected[:, column] += S[:, 7]
    expected[:, -1] += S[:, 9]
    np.testing.assert_allclose(shown.weights, expected, atol=2e-5)
    assert (shown.key, shown.sample_of_key[column]) == (column, 7)
    assert int(shown.key_labels[-1].text.split()[0]) == order.size - starts[-1] + 1


def test_matrix_of_binned_neighbours_is_close_to_that_of_every_pair(samples, monkeypatch):
    from kav.views.regression import pooled

    exact = show(attention, of(samples, h=0.8))
    monkeypatch.setattr(pooled, "_PAIRS", 0)
    np.testing.assert_allclose(show(attention, of(samples, h=0.8)).weights, exact.weights, atol=1e-5)


def test_doses_of_a_large_set_are_those_of_scaled_kernels(samples):
    scene = of(samples)
    heaviest = int(np.argmax(smoother_matrix(samples.x, [4.2], 0.3)[0]))
    dosed = replace(scene, doses=((heaviest, -30.0), (5, 0.0)), before=scene)
    scales = np.ones(N)
    scales[heaviest], scales[5] = -30.0, 0.0
    w = dosed_weights(observe(samples.x, samples.y, 0.3, "gaussian").log_kernel(np.asarray([4.2])), scales)[0]
    shown = show(fit, dosed)
    assert shown.f == pytest.approx(float(w @ samples.y), abs=1e-6)
    np.testing.assert_allclose(shown.points.weight, w[shown.samples], rtol=1e-5, atol=1e-12)
    assert shown.before_f == pytest.approx(show(fit, scene).f, abs=1e-9)
    curve = show(dose, scene).curve
    for at in (0, 20, 60):
        scales = np.ones(N)
        scales[heaviest] = curve.doses[at]
        w = dosed_weights(observe(samples.x, samples.y, 0.3, "gaussian").log_kernel(np.asarray([4.2])), scales)[0]
        assert curve.response[at] == pytest.approx(float(w @ samples.y), abs=1e-6)


@pytest.mark.parametrize("kernel", ["gaussian", "biweight", "exp-dot-product"])
def test_every_panel_shows_a_large_set(samples, kernel):
    for panel in PANELS:
        shown = show(panel, of(samples, kernel, h=2.0))
        assert plain(shown.predicts if panel is prompt else shown.reading)
    outside = of(samples, "biweight", h=0.1, x_query=30.0)
    for panel in PANELS:
        show(panel, outside)
    assert np.isnan(show(fit, outside).f)
    assert show(fit, outside).objective.notice == "undefined: no observation has positive weight"


def test_objective_is_the_sum_over_all_samples(samples):
    x, y = samples.x, samples.y
    for kernel, h in (("gaussian", 0.3), ("tricube", 0.5)):
        found = objective(samples.prepared, 4.2, h, kernel)
        observed = observe(x, y, h, kernel)
        K = np.exp(observed.log_kernel(np.asarray([4.2]))[0])
        c = np.linspace(-2, 2, 9)
        np.testing.assert_allclose(found.values(c), [(K * (y - one) ** 2).sum() for one in c], rtol=1e-6)
        assert found.curvature == pytest.approx(2 * K.sum(), rel=1e-9)
        assert found.f == pytest.approx(float(K @ y / K.sum()), abs=1e-9)
        assert found.values(np.asarray([found.f]))[0] == pytest.approx(found.least)


def test_a_cancelled_request_ends_while_the_curve_over_bandwidths_is_computed(samples):
    from kav.errors import Cancelled

    task = Task(lambda fraction, text: task.cancel())
    with pytest.raises(Cancelled):
        fit.compute(fit.Spec(of(samples)), task)
