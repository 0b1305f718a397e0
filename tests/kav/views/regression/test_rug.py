"""The rug of many samples pools them along x: nobody is lost, and the weight is where the kernel is."""

import numpy as np
import pytest

from kav.regression.samples import Samples
from kav.task import Task
from kav.views import fit, prompt
from kav.views.scene import RegressionScene


def cloud(n=20_000, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.lognormal(size=n)
    return Samples(x, np.sin(x) + rng.standard_normal(n), "cloud")


def rug(samples, **more):
    scene = RegressionScene(samples, **{"h": 0.3, "x_query": 1.5, **more})
    return prompt.compute(prompt.Spec(scene), Task())


def test_few_samples_are_shown_one_by_one():
    assert rug(cloud(500)).columns is None


def test_every_sample_falls_into_one_column_also_the_one_that_is_dragged():
    samples = cloud()
    assert samples.prepared.n == samples.n
    moved = samples.moved(17, 2.0, 0.0)
    for one in (samples, moved):
        columns = rug(one).columns
        counted, _ = np.histogram(one.x, bins=len(columns.x), range=rug(one).x_range)
        np.testing.assert_array_equal(columns.counts, counted)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "laplace"])
def test_the_weight_of_a_stretch_is_that_of_its_samples(kernel):
    samples = cloud()
    found = rug(samples, kernel=kernel)
    near = np.abs(found.columns.x - 1.5) < 0.2
    from kav.regression.kernels import kernel_named

    K = np.exp(kernel_named(kernel).log_kernel(np.asarray([1.5]), samples.x, 0.3)[0])
    exact = K[np.abs(samples.x - 1.5) < 0.2].sum() / K.sum()
    assert found.columns.weights[near].sum() == pytest.approx(exact, rel=0.05)
    assert found.columns.weights.sum() == pytest.approx(1)


def test_without_support_no_column_has_weight():
    assert not rug(cloud(), kernel="uniform", x_query=500.0).columns.weights.any()


def test_all_baselines_come_with_their_influence_which_is_zero_for_what_is_local():
    scene = RegressionScene(cloud(300), "epanechnikov", 0.3, 1.5)
    found = fit.compute(fit.Spec(scene, "all"), Task())
    assert len(found.baselines) == 6
    assert found.baseline == found.baselines[0]
    values = dict(found.influences)
    assert values["Epanechnikov fit"] == values["local linear"] == 0
    assert values["least squares line"] != 0
    one = fit.compute(fit.Spec(scene, "ols"), Task())
    assert dict(one.influences) == {name: values[name] for name in ("Epanechnikov fit", "least squares line")}
    assert fit.compute(fit.Spec(scene), Task()).influences == ()


def test_the_circuit_of_a_fit_is_kept_while_only_the_query_moves():
    from kav.views import circuits

    samples = cloud(300)
    first = circuits.compute(circuits.Spec(RegressionScene(samples, "gaussian", 0.3, 1.5)), Task())
    same = circuits.compute(circuits.Spec(RegressionScene(samples, "gaussian", 0.3, 2.5)), Task(), first)
    assert same is first
    other = circuits.compute(circuits.Spec(RegressionScene(samples, "gaussian", 0.4, 2.5)), Task(), first)
    np.testing.assert_allclose(other.formula.W_QK * 0.16, first.formula.W_QK * 0.09)
    moved = circuits.compute(circuits.Spec(RegressionScene(samples.moved(3, 9.0, 1.0), h=0.3)), Task(), first)
    assert moved is not first
