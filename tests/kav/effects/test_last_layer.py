import numpy as np
import pytest

from kav.effects.component import Injection, as_edit, injection
from kav.effects.last_layer import meets_last_layer, through_last_layer
from kav.effects.rerun import reread
from kav.model.edits import ScaleHead
from kav.model.trace import run
from tests.kav.model_factory import some_ids, tiny_model

MODELS = {
    "llama": {},
    "gpt2": {"norm": "layer", "position": "learned", "gated": False, "activation": "gelu_tanh"},
    "attention only": {"attention_only": True, "biases": False},
    "bidirectional": {"causal": False, "norm": "layer", "attention_only": True},
}


@pytest.mark.parametrize("position", [0, 4, 7])
@pytest.mark.parametrize("name", MODELS)
def test_one_pass_for_all_doses_is_the_last_layer_run_once_per_dose(xp, name, position):
    model = tiny_model(xp, dtype="float64", **MODELS[name])
    trace = run(model, model.tokens(some_ids(8)))
    direction = xp.put(np.random.default_rng(0).normal(size=(8, model.config.d_model)))
    place = Injection(1, False, trace.resid_pre(1), direction, model.config)
    doses = xp.put(np.linspace(-1, 3, 9))

    def streams(start, stop):
        return place.stream[None, :, :] + (doses[start:stop] - 1)[:, None, None] * direction[None, :, :]

    assert meets_last_layer(trace, place)
    fast = through_last_layer(trace, place, doses, position=position)
    slow = reread(trace, streams, 9, n_rows=8, layer=1, from_mid=False, position=position)
    np.testing.assert_allclose(xp.get(fast), xp.get(slow), atol=1e-9)


def test_it_is_left_to_the_general_way_where_the_last_layer_is_edited_or_not_the_next():
    model = tiny_model(attention_only=True, n_layers=3)
    tokens = model.tokens(some_ids(5))
    head = as_edit(model, (1, 0), n_tokens=5)
    assert meets_last_layer(run(model, tokens), injection(run(model, tokens), head))
    edited = run(model, tokens, [ScaleHead(2, 1, 0.0)])
    assert not meets_last_layer(edited, injection(edited, head))
    first = as_edit(model, (0, 0), n_tokens=5)
    assert not meets_last_layer(run(model, tokens), injection(run(model, tokens), first))
