"""The regression side of the panels: the numbers are those of the public functions, in the words of the design."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import kav.regression.bandwidth
from kav.errors import KavError
from kav.regression.band import degrees_of_freedom, spread
from kav.regression.baselines import BASELINES
from kav.regression.fit import fit as kernel_fit
from kav.regression.fit import observe, smoother_matrix
from kav.regression.kernels import KERNELS
from kav.regression.samples import Samples, sine
from kav.task import Task
from kav.views import attention, attribution, circuits, dose, fit, prompt
from kav.views.regression.at_query import as_regression
from kav.views.regression.samples_table import COLUMNS, CURVES, axes_columns, samples_table
from kav.views.scene import RegressionScene
from kav.views.words import number, plain, signed

PANELS = (fit, attention, attribution, circuits, dose, prompt)


def scene(kernel: str = "gaussian", h: float = 0.45, x_query: float = 4.2, **more) -> RegressionScene:
    return RegressionScene(sine(), kernel, h, x_query, **more)


def dosed(doses, **more) -> RegressionScene:
    plain_scene = scene(**more)
    return replace(plain_scene, doses=doses, before=plain_scene)


def show(panel, scene_, last=None, **controls):
    return panel.compute(panel.Spec(scene_, **controls), Task(), last)


def gap() -> RegressionScene:
    """Case 32: a compact kernel with nothing near the query."""
    return RegressionScene(Samples([0, 1, 10], [0, 1, 5]), "epanechnikov", 0.5, 5.0)


def test_reading_lines_are_those_of_the_design():
    f = show(fit, scene()).f
    text = f"−{abs(f):.3f}"
    assert plain(show(fit, scene()).reading) == (
        f"A weighted average: 0.403 of the weight is on the 3 samples within h of ▼ 4.20, so f = {text}"
    )
    assert plain(show(attention, scene()).reading) == "The row at ▼ x = 4.20 looks hardest at ● sample 14 (0.172)"
    assert plain(show(attribution, scene()).reading) == f"Sample 14 moves −0.114 of {text}; the shares sum to f"
    assert plain(show(circuits, scene()).reading).startswith(
        "A Gaussian fit is an attention head: softmax over i, largest difference "
    )
    assert plain(show(dose, scene()).reading).startswith(
        "Hardly: without sample 14 f is −0.715; not renormalised −0.592"
    )
    assert plain(show(prompt, scene()).predicts).startswith(f"Predicts f(4.20) = {text} ± 0.2")


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_the_curve_and_f_are_those_of_kav_fit(kernel):
    here = scene(kernel, h=2.0)
    shown = show(fit, here)
    data = here.samples
    np.testing.assert_allclose(
        shown.curve_f, kernel_fit(data.x, data.y, shown.curve_at, 2.0, kernel), atol=1e-12, equal_nan=True
    )
    assert shown.f == pytest.approx(kernel_fit(data.x, data.y, [4.2], 2.0, kernel)[0], abs=1e-12)
    np.testing.assert_allclose(shown.points.weight, smoother_matrix(data.x, [4.2], 2.0, kernel)[0], atol=1e-14)
    assert shown.points.weight @ shown.points.y == pytest.approx(shown.f, abs=1e-12)


def test_the_grey_band_is_the_fit_and_its_standard_errors():
    here = scene()
    shown, data = show(fit, here), here.samples
    sigma = spread(observe(data.x, data.y, 0.45, "gaussian")).sigma
    S = smoother_matrix(data.x, shown.curve_at, 0.45)
    half = 1.96 * sigma * np.sqrt((S**2).sum(axis=1))
    np.testing.assert_allclose(shown.ci_high - shown.curve_f, half, atol=1e-12)
    np.testing.assert_allclose(shown.curve_f - shown.ci_low, half, atol=1e-12)


def test_the_table_beside_the_fit_says_what_the_picture_shows():
    here = scene()
    rows = {row.key: row for row in show(fit, here).rows}
    assert rows["query"].value == "x = 4.20"
    assert (rows["kernel"].value, rows["kernel"].note) == ("h = 0.45", "Gaussian, units of x")
    assert (rows["key"].value, rows["key"].note) == ("x = 4.30", "sample 14")
    assert rows["weight"].value == "0.172"
    w = smoother_matrix(here.samples.x, [4.2], 0.45)[0]
    assert rows["effective"].value == f"{1 / (w @ w):.1f}"
    assert rows["effective"].note == f"degrees of freedom {number(degrees_of_freedom(here.samples.x, 0.45))}"


def test_fit_stays_inside_the_band():
    for kernel in KERNELS:
        shown = show(fit, scene(kernel, h=1.0))
        inside = shown.curve_f[np.isfinite(shown.curve_f)]
        assert shown.band_holds
        assert inside.min() >= shown.band[0] - 1e-12
        assert inside.max() <= shown.band[1] + 1e-12
    assert not show(fit, dosed(((14, -0.5),))).band_holds


def test_raw_weights_are_the_kernel_itself():
    here = scene()
    shown = show(fit, here, weights="raw")
    np.testing.assert_allclose(shown.points.weight, np.exp(-(((4.2 - here.samples.x) / 0.45) ** 2) / 2), atol=1e-14)
    assert {row.key: row.note for row in shown.rows}["weight"] == "K(u)"


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_the_kernel_drawn_at_the_query_peaks_at_one_inside_its_support(kernel):
    shown = show(fit, scene(kernel))
    assert shown.kernel_y.max() == pytest.approx(1)
    assert shown.kernel_y.min() >= 0
    if KERNELS[kernel].compact:
        assert np.ptp(shown.kernel_x) == pytest.approx(0.9)


def test_loo_minimum_is_reused_only_for_the_same_samples_and_kernel(monkeypatch):
    first = show(fit, scene())
    assert first.loo_h == pytest.approx(kav.regression.bandwidth.select_bandwidth(sine().x, sine().y), rel=0.02)
    here = scene()
    before = show(fit, here)
    from kav.views.regression import fit as module

    monkeypatch.setattr(module, "loo_curve", lambda *a, **k: replace(before.loo, best=99.0))
    assert show(fit, replace(here, h=1.0, x_query=2.0), before).loo is before.loo
    assert show(fit, replace(here, kernel="laplace"), before).loo_h == 99.0
    assert show(fit, replace(here, samples=here.samples.moved(0, 0.5, 0.5)), before).loo_h == 99.0


@pytest.mark.parametrize("name", ["mean", "ols", "ridge", "krr", "local-linear", "knn"])
def test_a_baseline_is_drawn_over_the_same_places(name):
    shown = show(fit, scene(), baseline=name)
    words, x, y = shown.baseline
    assert words
    assert x.shape == y.shape == shown.curve_at.shape
    assert np.isfinite(y).all()
    assert show(fit, scene()).baseline is None


def test_no_support_is_a_gap_with_a_reason_in_every_panel():
    for panel in PANELS:
        show(panel, gap())
    shown = show(fit, gap())
    assert math.isnan(shown.f)
    assert np.isnan(shown.curve_f).any()
    assert np.isfinite(shown.curve_f).any()
    assert shown.notice == "no data within bandwidth"
    assert plain(shown.reading) == "Undefined at ▼ x = 5.00: no observation has positive weight"
    assert show(attribution, gap()).parts == ()
    matrix = show(attention, gap())
    assert not matrix.visible[matrix.query].any()
    assert np.isfinite(matrix.values).all()
    assert "undefined" in plain(show(prompt, gap()).predicts)


def test_axes_do_not_move_while_a_sample_moves_inside_them():
    here = scene()
    shown = show(fit, here)
    for x, y in ((1.0, 0.0), (5.0, 1.9), (9.99, -1.99), (0.01, 0.3)):
        moved = show(fit, replace(here, samples=here.samples.moved(14, x, y)))
        assert (moved.x_range, moved.y_range) == (shown.x_range, shown.y_range) == ((0.0, 10.0), (-2.0, 2.0))


def test_attention_rows_are_the_samples_and_the_query_itself():
    here = scene()
    shown, data = show(attention, here), here.samples
    assert shown.values.shape == (49, 48)
    assert shown.query_axis[shown.query] == 4.2
    assert np.all(np.diff(shown.query_axis) >= 0)
    assert np.all(np.diff(shown.key_axis) >= 0)
    np.testing.assert_allclose(shown.weights, smoother_matrix(shown.key_axis, shown.query_axis, 0.45), atol=1e-14)
    assert shown.sample_of_key[shown.key] == 14
    np.testing.assert_array_equal(data.x[shown.sample_of_key], shown.key_axis)
    assert shown.values[shown.query, shown.key] == pytest.approx(0.172, abs=5e-4)


def test_attention_columns_name_the_samples_whatever_their_order():
    data = sine().moved(0, 9.99, 1.0)
    shown = show(attention, RegressionScene(data, "gaussian", 0.45, 4.2))
    assert shown.sample_of_key[-1] == 0
    assert shown.key_labels[-1].text == "sample 0"


def test_attention_times_response_sums_to_the_fit_in_every_row():
    here = scene()
    shown = show(attention, here, weighting="logits")
    data = here.samples
    np.testing.assert_allclose(shown.values.sum(axis=1), kernel_fit(data.x, data.y, shown.query_axis, 0.45), atol=1e-12)
    assert shown.diverging
    assert np.all(np.abs(shown.shade) <= 1)


def test_many_samples_share_columns_and_their_weights_still_sum_to_one():
    data = sine(1000)
    shown = show(attention, RegressionScene(data, "gaussian", 0.2, 4.2, selected=700), weighting="logits")
    assert shown.values.shape == (401, 400)
    np.testing.assert_allclose(shown.weights.sum(axis=1), 1, atol=1e-12)
    expected = kernel_fit(data.x, data.y, shown.query_axis, 0.2)
    np.testing.assert_allclose(shown.values.sum(axis=1), expected, atol=1e-12)
    assert shown.sample_of_key[shown.key] == 700


def test_gallery_shows_every_kernel_and_is_reused():
    shown = show(attention, scene())
    assert [shape.title for shape in shown.gallery][:3] == ["Gaussian", "Epanechn.", "uniform"]
    assert [shape.kernel for shape in shown.gallery] == list(KERNELS)
    assert all(shape.K.max() == pytest.approx(1) for shape in shown.gallery)
    assert show(attention, scene("laplace"), shown).gallery is shown.gallery


@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize("doses", [(), ((14, 0.0), (3, 2.0)), ((14, -0.5),)])
def test_shares_sum_to_f(kernel, doses):
    here = dosed(doses, kernel=kernel, h=1.5) if doses else scene(kernel, h=1.5)
    shown = show(attribution, here)
    assert math.fsum(part.value for part in shown.parts) == pytest.approx(shown.total, abs=1e-12)
    assert shown.total == pytest.approx(show(fit, here).f, abs=1e-14)
    sizes = [abs(part.value) for part in shown.parts]
    assert sizes == sorted(sizes, reverse=True)
    for one, following in zip(shown.parts, shown.parts[1:], strict=False):
        assert following.start == pytest.approx(one.start + one.value, abs=1e-12)


def test_scaling_a_weight_changes_every_panel_and_says_what_it_was():
    here = dosed(((14, 0.0),))
    shown = show(fit, here)
    data = here.samples
    without = kernel_fit(np.delete(data.x, 14), np.delete(data.y, 14), [4.2], 0.45)[0]
    assert shown.f == pytest.approx(without, abs=1e-12)
    assert shown.before_f == pytest.approx(show(fit, scene()).f)
    assert shown.selected == 14
    assert plain(shown.reading).endswith(", was −0.706")
    assert show(prompt, here).edits_text == ("sample 14 × 0.00",)
    assert show(prompt, here).weights[14] == 0
    assert show(prompt, here).weights_before[14] == pytest.approx(0.172, abs=5e-4)
    assert show(attribution, here).total_before == pytest.approx(shown.before_f)
    assert show(attention, here).weights[:, show(attention, here).key].max() == 0


def test_dose_one_is_the_fit_and_dose_zero_the_fit_without_the_sample():
    here = scene()
    data = here.samples
    curve = show(dose, here).curve
    f = kernel_fit(data.x, data.y, [4.2], 0.45)[0]
    without = kernel_fit(np.delete(data.x, 14), np.delete(data.y, 14), [4.2], 0.45)[0]
    at = {round(float(d), 9): i for i, d in enumerate(curve.doses)}
    assert curve.response[at[1.0]] == pytest.approx(f, abs=1e-12)
    assert curve.response[at[0.0]] == pytest.approx(without, abs=1e-12)
    assert curve.direct[at[1.0]] == curve.tangent[at[1.0]] == pytest.approx(f, abs=1e-12)


@pytest.mark.parametrize("n", [4, 6000])
def test_without_a_sample_that_has_all_the_weight_the_others_have_it(n):
    # Sample 0 at dose 0 stands 5 bandwidths from the query, the others 45: everything was scaled by the removed
    # sample's own kernel, beside which that of the others is 0. f was 1.0, its objective "undefined", and the curve had
    # no value at dose 0.
    x = np.append(0.0, np.linspace(1, 3, n - 1))
    y = np.append(5.0, np.full(n - 1, 1.0))
    base = RegressionScene(Samples(x, y), "gaussian", 0.02, 0.1, 0)
    removed = replace(base, doses=((0, 0.0),), before=base)
    shown = show(fit, removed)
    assert shown.f == shown.objective.f == pytest.approx(1.0)
    assert shown.objective.notice == ""
    assert np.isfinite(shown.objective.log_mass)
    for here in (base, removed):
        curve = show(dose, here).curve
        np.testing.assert_allclose(curve.response[20:22], [1.0, 5.0])
    assert show(dose, removed).value == pytest.approx(1.0)
    assert plain(show(dose, base).reading).startswith("Yes: without sample 0 f is +1.00")
    assert show(attribution, removed).total == pytest.approx(1.0)
    assert np.nansum(show(attention, removed).weights[show(attention, removed).query]) == pytest.approx(1.0)
    table = samples_table(removed, Task())
    assert (table["weight"][0], table["weight"].sum()) == (0.0, pytest.approx(1.0))


def test_of_two_removed_samples_neither_hides_the_others():
    # The dose curve of the far one was scaled by the near one, which is not there: no value at any dose.
    samples = Samples([0.0, 1.0, 2.0, 3.0], [5.0, 4.0, 1.0, 1.0])
    base = RegressionScene(samples, "gaussian", 0.02, 0.1, 0)
    scene_ = replace(base, doses=((0, 0.0), (1, 0.0)), before=base)
    np.testing.assert_allclose(show(dose, scene_).curve.response[[20, 21, 40]], [1.0, 4.0, 4.0])


def test_tangent_is_the_slope_of_the_refit_at_one():
    curve = show(dose, scene()).curve
    slope = (curve.tangent[-1] - curve.tangent[0]) / 4
    i = int(np.argmin(np.abs(curve.doses - 1)))
    assert slope == pytest.approx((curve.response[i + 1] - curve.response[i - 1]) / 0.1, rel=1e-3)


def test_not_renormalised_is_the_response_scaled():
    here = scene()
    weight = show(dose, here).curve
    response = show(dose, here, scope="response")
    np.testing.assert_allclose(response.curve.response, weight.direct, atol=1e-14)
    scaled = here.samples.moved(14, float(here.samples.x[14]), 3 * float(here.samples.y[14]))
    assert response.curve.response[-1] == pytest.approx(kernel_fit(scaled.x, scaled.y, [4.2], 0.45)[0], abs=1e-12)


@pytest.mark.parametrize("own", [1.0, 0.0, 2.5])
@pytest.mark.parametrize("n", [60, 6000])
def test_a_scaled_response_is_a_sample_elsewhere(n, own):
    """Every panel shows the sample where its scaled response puts it; the curve is that of the sample as it is."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 10, n))
    samples = Samples(x, np.sin(x) + 0.3 * rng.standard_normal(n))
    base = RegressionScene(samples, "gaussian", 0.45, 4.2)
    heavy = int(np.argmin(np.abs(x - 4.2)))
    doses = () if own == 1.0 else ((heavy, own),)
    first = show(dose, replace(base, doses=doses, before=base if doses else None, selected=heavy), scope="response")

    def f_at(scale):
        y = samples.y.copy()
        y[heavy] *= scale
        weights = np.exp(-0.5 * ((x - 4.2) / 0.45) ** 2) * np.where(np.arange(n) == heavy, own, 1.0)
        return float(weights @ y / weights.sum())

    for at in (0, 20, 80):
        assert first.curve.response[at] == pytest.approx(f_at(first.curve.doses[at]), abs=1e-6)
    moved = samples.moved(heavy, float(x[heavy]), -0.5 * float(samples.y[heavy]))
    edited = RegressionScene(moved, "gaussian", 0.45, 4.2, heavy, doses, ((heavy, -0.5),), base)
    shown = show(dose, edited, first, scope="response")
    assert (shown.dose, shown.component.sample) == (-0.5, heavy)
    assert shown.curve is first.curve
    assert shown.value == pytest.approx(f_at(-0.5), abs=1e-6)
    assert shown.before == pytest.approx(f_at(1.0), abs=1e-6)
    picture = show(fit, edited)
    assert picture.f == pytest.approx(f_at(-0.5), abs=1e-6)
    assert picture.points.y[picture.selected] == pytest.approx(-0.5 * samples.y[heavy])
    assert picture.before.y[picture.selected] == pytest.approx(samples.y[heavy])
    assert show(prompt, edited).edits_text[-1] == f"response of sample {heavy} × −0.50"


def test_dose_curve_is_reused_while_only_the_handle_moves():
    first = show(dose, scene())
    here = first.curve_spec
    scaled = dosed(((14, 2.0),))
    moved = show(dose, replace(scaled, samples=here[0], before=replace(scaled.before, samples=here[0])), first)
    assert moved.curve is first.curve
    assert moved.dose == 2.0
    assert moved.value == pytest.approx(float(np.interp(2.0, first.curve.doses, first.curve.response)), abs=1e-9)
    assert moved.before == pytest.approx(first.value)
    assert show(dose, replace(scene(), x_query=4.3), first).curve is not first.curve


def test_dose_of_another_component_is_the_one_asked_for():
    shown = show(dose, scene(), component=dose.Component(sample=3))
    assert shown.component_text == "weight of sample 3"
    assert shown.choices[0] == ("weight of sample 3", dose.Component(sample=3))
    assert plain(show(dose, scene("epanechnikov"), component=dose.Component(sample=40)).reading).startswith(
        "Not at all: sample 40 has no weight"
    )


def test_dose_is_undefined_where_the_kernel_mass_is_not_positive():
    lone = RegressionScene(Samples([0.0, 5.0], [1.0, 2.0]), "epanechnikov", 1.0, 0.2)
    shown = show(dose, lone)
    assert np.isnan(shown.curve.response[shown.curve.doses <= 0]).all()
    assert (shown.curve.response[shown.curve.doses > 0] == 1.0).all()
    assert plain(shown.reading) == "Yes: without sample 0 f is undefined"
    assert shown.names[0] == f"refit (none below {shown.curve.doses[shown.curve.doses > 0][0]:.2f})"
    assert show(dose, scene()).names[0] == "refit (renormalised)"
    assert np.isfinite(shown.y_range).all()


def test_gaussian_circuit_shows_the_small_matrix_and_its_exactness():
    shown = show(circuits, scene(), circuit="qk")
    assert shown.formula.exact
    assert shown.formula.difference < 1e-10
    np.testing.assert_allclose(shown.values, [[0, 0, -2.469], [0, 4.938, 0], [0, 0, 0]], atol=1e-3)
    assert [label.text for label in shown.row_labels] == ["1", "x", "x²"]
    assert show(circuits, scene(), circuit="ov").values.tolist() == [[1.0]]
    assert plain(shown.formula.lines[0]) == "features (1, x, x²)   q = (x/h, 1)   k = (xᵢ/h, −xᵢ²/2h²)"


def test_other_kernels_say_that_they_are_no_head():
    shown = show(circuits, scene("tricube"), circuit="qk")
    assert not shown.formula.exact
    assert shown.values is None
    assert plain(shown.reading) == "No attention head: the tricube kernel is not exp(bilinear)"
    assert plain(show(circuits, scene("exp-dot-product", h=2.0)).reading).startswith("An exp-dot-product fit is")


def test_selection_outside_the_samples_falls_back_on_the_heaviest():
    assert show(fit, scene(selected=999)).selected == 14
    assert show(fit, scene(selected=3)).selected == 3
    reading = plain(show(attention, scene(selected=3)).reading)
    assert reading == "The row at ▼ x = 4.20 looks hardest at sample 14 (0.172), hardly at ● sample 3 (<0.001)"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"h": -0.02}, "bandwidth h must be > 0"),
        ({"h": math.nan}, "bandwidth h must be > 0"),
        ({"kernel": "sinc"}, "kernel must be one of"),
        ({"x_query": math.inf}, "the query must be a finite x"),
        ({"samples": Samples([], [])}, "at least one sample"),
    ],
)
def test_impossible_scenes_are_refused_in_one_sentence(changes, message):
    for panel in PANELS:
        with pytest.raises(KavError, match=message):
            show(panel, replace(scene(), **changes))


def test_head_scene_is_not_for_these_modules():
    with pytest.raises(KavError, match="scene must be a regression scene"):
        as_regression("a head")


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_samples_are_enough_for_every_panel(n):
    few = RegressionScene(Samples([1.0, 2.0][:n], [3.0, 4.0][:n]), "gaussian", 0.5, 1.2)
    for panel in PANELS:
        show(panel, few)
    assert np.isfinite(show(fit, few).curve_f).all()


def test_a_kernel_that_is_not_local_names_its_heaviest_sample():
    """Another sample was selected, and the sentence gave its mark to the heaviest one."""
    shown = show(fit, scene("exp-dot-product", h=1.0))
    weight = shown.points.weight
    start = f"A weighted average: {weight.max():.3f} of the weight is on "
    assert plain(shown.reading).startswith(f"{start}● sample {weight.argmax()}, so f")
    assert "within h" not in plain(shown.reading)
    other = replace(scene("exp-dot-product", h=1.0), selected=3)
    assert plain(show(fit, other).reading).startswith(f"{start}sample {weight.argmax()}, so f")


def test_a_response_reads_the_same_in_every_panel():
    """Of samples up to 1003 a person read `y = +10`, `+10.50` and 10.5, and `moves +6` beside `+5.91`."""
    samples = Samples([1.0, 2.0, 3.0, 4.0, 5.0], [20.25, 1003.0, 10.5, 7.0, 12.0])
    here = RegressionScene(samples, "gaussian", 0.7, 3.0, selected=2)
    hero, moved = show(fit, here), show(attribution, here)
    f, own = signed(hero.f), signed(float(hero.points.weight[2] * 10.5))
    assert [row.value for row in hero.rows if row.key == "response"] == ["+10.5"]
    assert plain(moved.reading) == f"Sample 2 moves {own} of {f}; the shares sum to f"
    assert [part.text for part in moved.parts if part.is_key] == [own]
    assert attribution.collapse(moved, 9)[-1].text == hero.f_text.removeprefix("f = ") == f
    assert plain(show(prompt, here).predicts).startswith(f"Predicts f(3.00) = {f} ± ")
    assert [row.value for row in fit.formula(hero) if plain(row.formula).startswith("f =")] == [f]


def test_the_exp_dot_product_tile_is_straight_in_logarithms():
    (tile,) = (shape for shape in show(attention, scene()).gallery if shape.kernel == "exp-dot-product")
    assert tile.title == "exp(x·xᵢ)"
    np.testing.assert_allclose(np.diff(np.log(tile.K)), np.diff(tile.u))


def test_columns_of_a_table_name_the_axes_and_the_rows_of_the_table_beside():
    """Imported `Temperatur °C` and `Verbrauch (kWh)` became x and "response y"."""
    names = ("Temperatur °C", "Verbrauch (kWh)")
    shown = show(fit, RegressionScene(Samples([1.0, 2.0, 3.0], [1.0, 4.0, 2.0], axes=names), "gaussian", 1.0, 2.0))
    notes = {row.key: row.note for row in shown.rows}
    assert (shown.x_title, plain(shown.y_title)) == ("Temperatur °C →", "↑ Verbrauch (kWh)")
    assert (notes["query"], notes["response"]) == ("Temperatur °C where we ask", "its Verbrauch (kWh)")
    usual = show(fit, scene())
    assert (usual.x_title, plain(usual.y_title)) == ("x →", "↑ response y")
    long = RegressionScene(Samples([1.0, 2.0], [1.0, 4.0], axes=("t" * 300, "y")), "gaussian", 1.0, 2.0)
    assert len(show(fit, long).x_title) < 50


TAKEN = (*COLUMNS, *CURVES, "axes", *(words for words, _ in BASELINES.values()))


@pytest.mark.parametrize(
    "axes", [("day of year", "wind"), *((name, name) for name in TAKEN), ("f", "f (x)"), ("", "x")]
)
def test_a_table_of_imported_samples_has_their_names_and_loses_no_column(axes):
    """Story: an exported file called the columns of an imported one x and y."""
    imported = Samples([1.0, 2.0, 4.0], [1.0, 0.0, 2.0], axes=axes)
    scene_ = RegressionScene(imported, "gaussian", 1.0, 2.0, 0)
    rest = dict.fromkeys((*CURVES, *(words for words, _ in BASELINES.values())), np.zeros(2))
    table = samples_table(scene_, Task(), rest)
    assert len(table) == len(COLUMNS) + len(rest) + 2
    assert set(rest) | set(COLUMNS) < set(table)
    x_name, y_name = list(table)[1:3]
    assert (x_name, y_name) == axes_columns(imported)
    assert x_name.startswith(axes[0])
    assert y_name.startswith(axes[1])
    np.testing.assert_array_equal(table[x_name], imported.x)
    np.testing.assert_array_equal(table[y_name], imported.y)
    if axes == ("day of year", "wind"):
        assert (x_name, y_name) == axes


@pytest.mark.parametrize(("share", "whole"), [(0.1, True), (0.3, True), (0.4, True), (0.48, False), (0.7, False)])
def test_the_refit_is_seen_below_dose_0_until_its_denominator_vanishes(share, whole):
    """Story: the axis held the refit from dose 0 on only, and the curve left the picture where a hand may drag it."""
    K = share / (1 - share)  # of the sample at the query, relative to the other one
    far = 0.5 * math.sqrt(-2 * math.log(K)) if K < 1 else 0.0
    near = 0.0 if K < 1 else 0.5 * math.sqrt(2 * math.log(K))
    samples = Samples([far, -near], [2.0, 1.0])
    result = show(dose, RegressionScene(samples, "gaussian", 0.5, 0.0, 0), component=dose.Component(sample=0))
    curve, (low, high) = result.curve, result.y_range
    d = curve.doses
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = (K * d * 2 + 1) / (K * d + 1)
    held = np.isfinite(curve.response)
    np.testing.assert_allclose(curve.response[held], exact[held], rtol=1e-6)
    seen = (curve.response >= low) & (curve.response <= high)
    assert np.all(seen[d >= 0])
    assert bool(np.all(seen[held])) is whole
    upper = np.concatenate([exact[d >= 0], curve.direct])
    assert high - low <= 3.6 * np.ptp(upper), "what matters is not squeezed flat by a pole"


def test_a_sample_without_weight_leaves_the_dose_curve_flat_on_an_axis_of_few_digits():
    """Story: a change in the seventh digit filled the plot, under ticks that all read −0.706017."""
    result = show(dose, scene(), component=dose.Component(sample=3))
    low, high = result.y_range
    response = result.curve.response
    assert 0 < np.ptp(response) < 1e-4
    assert np.all((response > low) & (response < high))
    assert high - low >= 0.005 * abs(response).max()
