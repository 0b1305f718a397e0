"""Reruns of altered rows only: against reruns of all rows."""

import numpy as np
import pytest

from kav.effects import dose, rerun
from kav.effects.component import as_edit, injection
from kav.effects.dose import dose_response
from kav.effects.rerun import along, first_altered
from kav.model.edits import MoveQuery, ScaleEdge, ScaleHead, ScaleMlp, SetTemperature
from kav.model.trace import run
from tests.kav.model_factory import some_ids, tiny_model

DOSES = [-1.0, 0.0, 0.5, 1.0, 3.0]
COMPONENTS = [
    ScaleHead(0, 1, 1.0, positions=(4, 6)),
    ScaleHead(1, 2, 1.0, "mean", (5,)),
    ScaleMlp(0, 1.0, positions=(-1,)),
    ScaleEdge(0, 3, 2, 1.0),
    ScaleEdge(1, 0, 2, 1.0, query=6),
    ScaleHead(2, 0, 1.0, positions=(3,)),
]


@pytest.mark.parametrize("component", COMPONENTS, ids=str)
@pytest.mark.parametrize("position", [-1, 3])
def test_curve_from_altered_rows_is_that_of_all_rows(xp, monkeypatch, component, position):
    model = tiny_model(xp, dtype="float64", n_layers=3)
    tokens = model.tokens(some_ids(8))
    edits = (SetTemperature(2, 1, 1.5), MoveQuery(1, 0, 3, 6, 0.5), ScaleHead(2, 2, 0.3, positions=(5,)))
    fast = dose_response(model, tokens, component, DOSES, position=position, target=5, edits=edits)
    for module in (rerun, dose):
        monkeypatch.setattr(module, "first_altered", lambda trace, place: 0)
    plain = dose_response(model, tokens, component, DOSES, position=position, target=5, edits=edits)
    np.testing.assert_allclose(fast.response, plain.response, atol=1e-11)
    assert fast.slope == pytest.approx(plain.slope, abs=1e-11)


@pytest.mark.parametrize(
    ("component", "edits", "options", "first"),
    [
        (ScaleHead(0, 1, 1.0), (), {}, 0),
        (ScaleHead(0, 1, 1.0, positions=(4, 6)), (), {}, 4),
        (ScaleEdge(0, 1, 5, 1.0), (), {}, 5),
        (ScaleHead(0, 1, 1.0, positions=(4,)), (), {"causal": False}, 0),
        (ScaleHead(0, 1, 1.0, positions=(4,)), (ScaleHead(2, 0, 0.5, "mean"),), {}, 0),
        (ScaleHead(0, 1, 1.0, positions=(4,)), (MoveQuery(1, 0, 3, 6, 0.5), MoveQuery(2, 0, 2, 3, 0.5)), {}, 2),
        (ScaleHead(1, 1, 1.0, positions=(4,)), (MoveQuery(0, 0, 1, 6, 0.5),), {}, 4),
    ],
)
def test_first_altered_row_is_where_component_and_later_edits_reach(component, edits, options, first):
    model = tiny_model(n_layers=3, **options)
    trace = run(model, model.tokens(some_ids(8)), edits)
    found = first_altered(trace, injection(trace, as_edit(model, component, n_tokens=8)))
    assert found == first


def test_dose_1_is_the_run_itself_and_is_not_run_again(xp, monkeypatch):
    model = tiny_model(xp, dtype="float64", n_layers=3)
    trace = run(model, model.tokens(some_ids(8)))
    place = injection(trace, as_edit(model, (0, 1), n_tokens=8))
    asked = []
    plain = rerun._along

    def noted(trace, place, doses, **options):
        asked.extend(xp.get(doses).tolist())
        return plain(trace, place, doses, **options)

    monkeypatch.setattr(rerun, "_along", noted)
    found = xp.get(along(trace, place, xp.put([1.0, 0.0, 1.0, 2.0]), position=5))
    assert asked == [0.0, 2.0]
    assert found[0].tolist() == found[2].tolist() == trace.resid(3)[5].tolist()
    others = xp.get(along(trace, place, xp.put([0.0, 2.0]), position=5))
    np.testing.assert_allclose(found[[1, 3]], others, atol=1e-12)
    assert xp.get(along(trace, place, xp.put([1.0, 1.0]), position=5)).tolist() == [found[0].tolist()] * 2
