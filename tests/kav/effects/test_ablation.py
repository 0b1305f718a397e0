import numpy as np
import pytest

from kav.effects.ablation import ablation_map
from kav.errors import Cancelled, KavError
from kav.model.edits import ScaleHead, ScaleMlp
from kav.model.trace import run
from kav.task import Task
from tests.kav.model_factory import some_ids, tiny_model


@pytest.mark.parametrize("baseline", ["zero", "mean", "resample"])
def test_map_is_that_of_one_run_per_component(xp, baseline):
    model = tiny_model(xp, n_layers=3, norm="layer")
    tokens = model.tokens(some_ids(7))
    found = ablation_map(model, tokens, target=5, foil=6, baseline=baseline)

    def value(*edits):
        logits = run(model, tokens, edits).logits(-1)
        return logits[5] - logits[6]

    for layer in range(3):
        for head in range(4):
            drop = value() - value(ScaleHead(layer, head, 0.0, baseline))
            assert found.heads[layer, head] == pytest.approx(drop, abs=2e-5)
        assert found.mlps[layer] == pytest.approx(value() - value(ScaleMlp(layer, 0.0, baseline)), abs=2e-5)


def test_edits_stay_active_while_each_component_is_removed():
    model = tiny_model(dtype="float64")
    tokens = model.tokens(some_ids(7))
    edits = (ScaleHead(0, 1, 0.5), ScaleMlp(0, 2.0))
    found = ablation_map(model, tokens, target=5, metric="log_prob", edits=edits, position=4)
    gone = (ScaleHead(0, 1, 0.5), ScaleMlp(0, 2.0), ScaleHead(1, 3, 0.0))
    drop = run(model, tokens, edits).log_probs(4)[5] - run(model, tokens, gone).log_probs(4)[5]
    assert found.heads[1, 3] == pytest.approx(drop, abs=1e-10)
    without = run(model, tokens, (ScaleHead(0, 1, 0.0), ScaleMlp(0, 2.0))).log_probs(4)[5]
    assert found.heads[0, 1] == pytest.approx(found.value - without, abs=1e-10)


def test_layers_without_an_mlp_have_none_to_remove():
    model = tiny_model(attention_only=True)
    found = ablation_map(model, model.tokens(some_ids(5)))
    assert np.isnan(found.mlps).all()
    assert np.isfinite(found.heads).all()


def test_divergence_never_falls_when_something_is_removed():
    model = tiny_model(dtype="float64")
    found = ablation_map(model, model.tokens(some_ids(5)), metric="kl")
    assert found.value == pytest.approx(0.0, abs=1e-12)
    assert (found.heads < 0).all()


def test_map_reports_as_layers_are_done_and_can_be_cancelled():
    model, seen = tiny_model(n_layers=4), []
    ablation_map(model, model.tokens(some_ids(5)), task=Task(lambda fraction, text: seen.append(fraction)))
    assert seen == sorted(seen)
    assert len(seen) > 8
    assert seen[-1] == 1.0
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        ablation_map(model, model.tokens(some_ids(5)), task=task)


def test_unknown_baseline_is_refused():
    model = tiny_model()
    with pytest.raises(KavError, match="baseline"):
        ablation_map(model, model.tokens(some_ids(5)), baseline="median")
