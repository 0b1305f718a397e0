"""The first matrices of an MLP once for all doses: against the MLP run at every dose."""

import numpy as np
import pytest

from kav.effects import first_mlp
from kav.effects.component import as_edit, injection
from kav.effects.first_mlp import FirstMlp, meets_mlp
from kav.model.edits import ScaleMlp
from kav.model.forward import mlp_half
from kav.model.trace import run
from tests.kav.model_factory import FAMILY_FEATURES, some_ids, tiny_model

MODELS = {
    "llama": {},
    "gpt2": {"norm": "layer", "position": "learned", "gated": False, "activation": "gelu_tanh"},
    "layer norm, gated": {"norm": "layer"},
}
DOSES = np.linspace(-1, 3, 9)


def placed(xp, name, edits=(), rows=(0, 8)):
    model = tiny_model(xp, dtype="float64", **MODELS[name])
    trace = run(model, model.tokens(some_ids(8)), edits)
    return trace, injection(trace, as_edit(model, (0, 1), n_tokens=8)).rows(*rows)


def one_by_one(xp, trace, place, first):
    doses = xp.put(DOSES)
    streams = place.moved((doses - 1)[:, None, None] * place.direction[None, :, :])
    block, edits = trace.model.weights.blocks[0], trace.edits_of(0)
    return xp.get(mlp_half(trace.model.config, block, streams, streams, edits=edits, first=first))


@pytest.mark.parametrize("rows", [(0, 8), (3, 8), (7, 8)])
@pytest.mark.parametrize("name", MODELS)
def test_streams_after_it_are_those_of_the_mlp_run_at_every_dose(xp, name, rows):
    edits = (ScaleMlp(0, 0.3, positions=(5, 7)),)
    trace, place = placed(xp, name, edits, rows)
    assert meets_mlp(trace, place)
    found = xp.get(FirstMlp(trace, place, xp.put(DOSES), rows[0]).streams(2, 7))
    np.testing.assert_allclose(found, one_by_one(xp, trace, place, rows[0])[2:7], atol=1e-11)


def test_small_groups_of_streams_are_the_same(monkeypatch, xp):
    trace, place = placed(xp, "llama")
    whole = xp.get(FirstMlp(trace, place, xp.put(DOSES), 0).streams(0, 9))
    monkeypatch.setattr(first_mlp, "ROWS", 16)
    np.testing.assert_allclose(xp.get(FirstMlp(trace, place, xp.put(DOSES), 0).streams(0, 9)), whole, atol=1e-12)


@pytest.mark.parametrize("name", ["gemma2", "olmo2", "bert", "gpt_neox", "attention only"])
def test_it_is_left_to_the_general_way_where_a_norm_follows_or_no_mlp_is_next(name):
    model = tiny_model(**FAMILY_FEATURES[name])
    trace = run(model, model.tokens(some_ids(5)))
    assert not meets_mlp(trace, injection(trace, as_edit(model, (0, 0), n_tokens=5)))
