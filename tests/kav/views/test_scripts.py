""" "Copy as Python" runs as it is and finds the numbers on screen; tables hold them; formula cards show them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kav.model.edits import MaskKeys, MoveQuery, ScaleHead, SetScore, SetTemperature
from kav.regression.samples import Samples, sine
from kav.task import Task
from kav.views import attention, attribution, circuits, dose, fit
from kav.views.head.dose import PIXELS
from kav.views.regression.samples_table import samples_table
from kav.views.scene import RegressionScene
from kav.views.tables import write_table
from kav.views.words import plain

VIEWS = (fit, attention, attribution, circuits, dose)
EDITS = (ScaleHead(0, 0, 0.25), SetTemperature(1, 0, 1.5), MaskKeys(1, 0, (1,)), SetScore(1, 0, -1, 2, 1.0))


def _regression(**changes: Any) -> RegressionScene:
    return RegressionScene(**({"samples": sine(), "h": 0.45, "x_query": 4.2} | changes))


def _dosed() -> RegressionScene:
    plain_ = _regression()
    return _regression(samples=plain_.samples, doses=((3, 0.5), (17, 0.0)), before=plain_)


def _scaled() -> RegressionScene:
    """The response of a heavy sample scaled, and the weight of another."""
    plain_ = _regression()
    x, y = plain_.samples.pair(16)
    edits = {"doses": ((3, 0.5),), "responses": ((16, -2.0),), "before": plain_}
    return _regression(samples=plain_.samples.moved(16, x, -2 * y), **edits)


def _ran(view, scene, capsys, **controls):
    """Names that the panel's script defines, after checking that it printed something."""
    spec = view.Spec(scene, **controls)
    names: dict[str, Any] = {}
    exec(view.python(spec), names)  # noqa: S102 - the script is what is tested
    assert capsys.readouterr().out.strip()
    return names, view.compute(spec, Task())


@pytest.mark.parametrize("edits", [(), EDITS, (MoveQuery(1, 0, -1, 3, 0.5),)])
def test_fit_script_finds_f_weights_and_messages(scene, capsys, edits):
    names, result = _ran(fit, scene(*edits, foil=5), capsys)
    assert names["f"] == pytest.approx(result.f, abs=1e-5)
    np.testing.assert_allclose(names["weights"], result.points.weight, atol=1e-6)
    heavy = result.points.weight > 1e-3
    np.testing.assert_allclose(names["messages"][heavy], result.points.y[heavy], atol=1e-2)


@pytest.mark.parametrize("weighting", ["weight", "message", "logits"])
def test_attention_script_finds_the_matrix(scene, capsys, weighting):
    names, result = _ran(attention, scene(SetTemperature(1, 0, 0.5)), capsys, weighting=weighting)
    np.testing.assert_allclose(names["values"], result.values, atol=1e-4)


def test_attention_script_finds_the_scores(scene, capsys):
    names, result = _ran(attention, scene(), capsys, stage="masked")
    np.testing.assert_allclose(names["values"][result.visible], result.values[result.visible], atol=1e-5)


def test_attribution_script_finds_the_parts(scene, capsys):
    names, result = _ran(attribution, scene(*EDITS), capsys)
    assert names["total"] == pytest.approx(result.total)
    assert names["from_key"] == pytest.approx(next(part.value for part in result.parts if part.is_key))


@pytest.mark.parametrize("circuit", ["ov", "qk"])
def test_circuits_script_finds_table_and_spectrum(scene, capsys, circuit):
    names, result = _ran(circuits, scene(), capsys, circuit=circuit)
    np.testing.assert_allclose(names["values"], result.values, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(names["singular_values"], result.singular_values, rtol=1e-4)


@pytest.mark.parametrize("response", ["logit", "prob", "kl"])
def test_dose_script_finds_the_curve(scene, capsys, response):
    names, result = _ran(dose, scene(*EDITS, foil=5), capsys, response=response)
    again = np.interp(names["doses"], result.curve.doses, result.curve.response)
    pixel = (result.y_range[1] - result.y_range[0]) / PIXELS  # the curve is a line through fewer reruns
    np.testing.assert_allclose(names["curve"].response, again, rtol=0, atol=1.5 * pixel)


@pytest.mark.parametrize("make", [_regression, _dosed, _scaled])
def test_regression_scripts_find_fit_parts_matrix_and_curve(make, capsys):
    names, result = _ran(fit, make(), capsys)
    assert names["f"] == pytest.approx(result.f, abs=1e-9)
    names, result = _ran(attribution, make(), capsys)
    assert names["total"] == pytest.approx(result.total, abs=1e-9)
    for scope in ("weight", "response"):
        names, result = _ran(dose, make(), capsys, scope=scope)
        known = np.isfinite(result.curve.response)
        np.testing.assert_allclose(names["response"][known], result.curve.response[known], rtol=1e-6, atol=1e-9)
    _ran(attention, make(), capsys)


@pytest.mark.parametrize("kernel", ["gaussian", "exp-dot-product", "epanechnikov"])
def test_regression_circuits_script_writes_the_fit_as_a_head(capsys, kernel):
    names, result = _ran(circuits, _regression(kernel=kernel), capsys, circuit="qk")
    if result.formula.exact:
        np.testing.assert_allclose(names["W_QK"], result.formula.W_QK)
        assert names["difference"] < 1e-10


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.__name__.rpartition(".")[2])
@pytest.mark.parametrize("suffix", ["csv", "npz", "json"])
def test_tables_of_both_scenes_can_be_written(scene, tmp_path, view, suffix):
    for name, chosen in (("head", scene(*EDITS)), ("regression", _dosed())):
        path = tmp_path / f"{name}.{suffix}"
        write_table(view.table(view.compute(view.Spec(chosen), Task())), str(path))
        assert path.stat().st_size > 20


def test_fit_table_holds_tokens_and_what_is_drawn(scene):
    result = fit.compute(fit.Spec(scene()), Task())
    table = fit.table(result)
    assert table["observation"][4] == "4 carriage"
    assert table["exact"][4] == '" carriage"'
    assert float(table["weight"] @ table["message"]) == pytest.approx(float(table["f"][0]))


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.__name__.rpartition(".")[2])
def test_formula_cards_of_both_scenes_show_numbers(scene, view):
    for chosen in (scene(*EDITS), _dosed()):
        rows = view.formula(view.compute(view.Spec(chosen), Task()))
        assert len(rows) >= 2
        assert all(plain(row.formula) for row in rows)
        assert "nan" not in " ".join(plain(row.formula) + row.value for row in rows)


def test_fit_card_has_shapes_and_adds_up_to_f(scene):
    result = fit.compute(fit.Spec(scene()), Task())
    rows = fit.formula(result)
    assert [row.shape for row in rows[:3]] == ["(16,)", "(16, 48) · (48,)", "(16, 48) (48, 192) (192,)"]
    f, key, others = (float(rows[i].value.replace("−", "-")) for i in (4, 5, 6))
    assert key + others == pytest.approx(f, abs=0.011)
    assert plain(rows[5].formula).startswith("● at 4 carriage   s ")


@pytest.mark.parametrize("axes", [("x", "y"), ("wind, m/s", "weight"), ("file", "file"), ('a"b\n', "")])
def test_a_script_about_many_samples_reads_the_exported_table(tmp_path, monkeypatch, capsys, axes):
    """Story: a copied script spelled a million samples out, tens of megabytes on the clipboard."""
    samples = sine(3000)
    scene = _regression(samples=Samples(samples.x, samples.y, axes=axes))
    spec = fit.Spec(scene)
    script = fit.python(spec)
    assert len(script) < 4000
    monkeypatch.chdir(tmp_path)
    write_table(samples_table(scene, Task()), "samples.npz")
    exec(script, {})  # noqa: S102 - the script is what is tested
    assert f"{fit.compute(spec, Task()).f:.3f}" in capsys.readouterr().out


@pytest.mark.parametrize("weighting", ["message", "logits"])
@pytest.mark.parametrize(
    "edit", [ScaleHead(1, 0, 0.3), ScaleHead(1, 0, 0.0, "mean"), ScaleHead(1, 0, -1.0, "zero", (3, 5))]
)
def test_attention_script_counts_a_scaled_head_as_the_panel_does(scene, capsys, weighting, edit):
    # The script's messages were those of the head as it runs.
    names, result = _ran(attention, scene(edit), capsys, weighting=weighting)
    np.testing.assert_allclose(names["values"], result.values, atol=1e-4)


def test_script_opens_a_model_with_its_embedding_as_output_matrix_again(scene):
    made = scene()
    tied = replace(made, trace=replace(made.trace, model=replace(made.trace.model, tied=True)))
    assert "kav.open_model('bundled', tied=True)" in fit.python(fit.Spec(tied))
    assert "tied" not in fit.python(fit.Spec(made))


def test_a_script_about_imported_samples_says_what_x_and_y_are_called():
    imported = Samples([1.0, 2.0, 3.0], [1.0, 0.0, 2.0], axes=("day\nof year", "wind"))
    lines = fit.python(fit.Spec(_regression(samples=imported))).splitlines()
    assert "x = np.array([1.0, 2.0, 3.0])  # day of year" in lines
    assert "y = np.array([1.0, 0.0, 2.0])  # wind" in lines
    assert "#" not in fit.python(fit.Spec(_regression())).split("scale")[0]


def test_fit_table_of_imported_samples_has_their_names():
    imported = Samples([1.0, 2.0, 3.0], [1.0, 0.0, 2.0], axes=("day", "weight"))
    plain_ = _regression(samples=imported)
    dosed = _regression(samples=imported, doses=((0, 0.5),), before=plain_)
    table = fit.table(fit.compute(fit.Spec(dosed), Task()))
    assert {"day", "weight (y)", "day_before", "weight (y)_before"} <= set(table)
    assert table["weight"].sum() == pytest.approx(1)
    np.testing.assert_array_equal(table["weight (y)"], [1.0, 0.0, 2.0])
