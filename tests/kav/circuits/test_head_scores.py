from dataclasses import fields

import numpy as np
import pytest

import kav
from kav.circuits.copying import copying_score
from kav.circuits.head_scores import head_scores, repeated_ids
from kav.errors import KavError
from kav.model.trace import run
from tests.kav.model_factory import tiny_model


@pytest.fixture(scope="module")
def bundled():
    return kav.open_model("bundled")


def test_bundled_model_has_a_previous_token_head_and_induction_heads(bundled):
    scores = kav.head_scores(bundled, n_repeats=4, seed=3)
    assert scores.previous_token[0].max() >= 0.90
    assert scores.prefix_matching[1].max() >= 0.80
    assert scores.copying[1][scores.prefix_matching[1].argmax()] >= 0.90


def test_scores_on_random_repeats_agree_with_a_plain_loop():
    model = tiny_model()
    ids = repeated_ids(model, 3, np.random.default_rng(5))
    scores = head_scores(model, 3, 5, n_samples=1)
    trace = run(model, model.tokens(ids))
    n = len(ids)
    for layer in range(2):
        for head in range(4):
            pattern = trace.pattern(layer, head)
            prefix, duplicate = [], []
            for i in range(n):
                earlier = [j for j in range(i) if ids[j] == ids[i]]
                if earlier:
                    duplicate.append(sum(pattern[i, j] for j in earlier))
                    prefix.append(sum(pattern[i, j + 1] for j in earlier))
            previous = np.mean([pattern[i, i - 1] for i in range(1, n)])
            assert scores.previous_token[layer, head] == pytest.approx(previous)
            assert scores.prefix_matching[layer, head] == pytest.approx(np.mean(prefix))
            assert scores.duplicate_token[layer, head] == pytest.approx(np.mean(duplicate))
            assert scores.copying[layer, head] == pytest.approx(copying_score(model, layer, head), abs=1e-5)


def test_every_score_has_one_number_per_head_and_depends_on_the_seed_only(xp):
    model = tiny_model(xp)
    first, again = head_scores(model, 2, 1, n_samples=2), head_scores(model, 2, 1, n_samples=2)
    for item in fields(first):
        scores = getattr(first, item.name)
        assert scores.shape == (2, 4)
        np.testing.assert_array_equal(scores, getattr(again, item.name))


def test_sample_repeats_a_block_of_different_tokens(bundled):
    ids = repeated_ids(bundled, 3, np.random.default_rng(0))
    assert ids[0] == bundled.tokenizer.bos_id
    block = ids[1:26]
    assert ids[1:] == block * 3
    assert len(set(block)) == 25


def test_too_few_repeats_are_refused():
    with pytest.raises(KavError, match="n_repeats must be >= 2"):
        head_scores(tiny_model(), 1)


@pytest.mark.parametrize("n_ctx", [5, 64])
def test_more_repeats_than_the_context_has_room_for_are_refused(n_ctx):
    # All scores were 0.
    with pytest.raises(KavError, match=f"n_repeats must fit the context of {n_ctx} tokens, got 300"):
        head_scores(tiny_model(n_ctx=n_ctx), n_repeats=300)
