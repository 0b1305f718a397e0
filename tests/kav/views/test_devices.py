"""Every head panel gives the same host numbers wherever the model lives."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import kav
from kav.model.edits import MaskKeys, MoveQuery, ScaleHead, SetTemperature
from kav.task import Task
from kav.views import attention, attribution, circuits, dose, fit, prompt
from kav.views.scene import HeadScene, Selection
from tests.kav.model_factory import tiny_model

EDITS = (ScaleHead(1, 2, 0.5, "mean"), MoveQuery(1, 2, -1, 3, 0.4), MaskKeys(1, 2, (1,)), SetTemperature(0, 1, 2.0))
PANELS = {
    "fit": (fit, {}),
    "attention": (attention, {"weighting": "message"}),
    "attention in logits": (attention, {"weighting": "logits"}),
    "attribution": (attribution, {}),
    "ov": (circuits, {}),
    "qk": (circuits, {"circuit": "qk", "offset": 2}),
    "dose": (dose, {"response": "kl"}),
    "prompt": (prompt, {}),
}


def _result(view, controls, xp=None):
    model = tiny_model(xp, norm="layer")
    base = kav.run(model, model.tokens([3, 1, 4, 1, 5, 9]))
    trace = kav.run(model, base.tokens, EDITS, base=base)
    scene = HeadScene(trace, Selection(1, 2, target=7, foil=8), EDITS, base)
    return view.compute(view.Spec(scene, **controls), Task())


def _arrays(value, path=""):
    """All arrays and numbers inside a result, by path."""
    if isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind in "fc":
        yield path, np.asarray(value)
    elif is_dataclass(value) and type(value).__module__.startswith("kav.views"):
        for field in fields(value):
            yield from _arrays(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _arrays(item, f"{path}[{index}]")


@pytest.mark.parametrize(("view", "controls"), PANELS.values(), ids=PANELS.keys())
def test_results_are_host_arrays_equal_to_those_of_numpy(xp, view, controls):
    found, expected = dict(_arrays(_result(view, controls, xp))), dict(_arrays(_result(view, controls)))
    assert found.keys() == expected.keys()
    for path, array in found.items():
        if path == ".eigenvalues":  # their order is free where moduli tie
            array, expected[path] = np.sort_complex(array), np.sort_complex(expected[path])
        np.testing.assert_allclose(array, expected[path], rtol=1e-3, atol=1e-3, err_msg=path)


@pytest.mark.parametrize(("view", "controls"), PANELS.values(), ids=PANELS.keys())
def test_nothing_that_is_drawn_is_nan(view, controls):
    for path, array in _arrays(_result(view, controls)):
        if path != ".scores":  # -inf says masked there
            assert np.isfinite(array).all(), path
        assert not np.isnan(array).any(), path
