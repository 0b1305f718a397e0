"""Each example prompt still makes its point on the model that ships."""

import numpy as np
import pytest

import kav
from kav.examples import EXAMPLES, LIST, NAME, NO_EFFECT, WRONG


@pytest.fixture(scope="module")
def model():
    return kav.open_model("bundled", device="cpu")


@pytest.fixture
def shown(model):
    """An example as it runs: trace, weights of its head at its query, target id."""

    def run(example):
        trace = kav.run(model, model.encode(example.prompt))
        row = trace.pattern(example.layer, example.head)[example.query]
        return trace, row, model.find_token(example.target)

    return run


def p(trace, position, token):
    return float(np.exp(trace.log_probs(position)[token]))


def removal(model, example, token, *, head=None):
    """By how much the token's logit changes when a head (the example's own) is removed."""
    tokens = model.encode(example.prompt)
    without = kav.run(model, tokens, [kav.ScaleHead(*(head or (example.layer, example.head)), 0.0)])
    intact = kav.run(model, tokens)
    return float(without.logits(example.query)[token] - intact.logits(example.query)[token])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_example_names_a_head_a_query_and_tokens_of_the_model(model, example):
    tokens = model.encode(example.prompt)
    model.config.check_head(example.layer, example.head)
    assert -len(tokens) <= example.query < len(tokens) <= 40
    assert model.label(model.find_token(example.target)) == example.target
    assert not example.foil or model.label(model.find_token(example.foil)) == example.foil
    assert example.look.endswith(".")


def test_titles_differ():
    assert len({example.title for example in EXAMPLES}) == len(EXAMPLES) >= 4


def test_name_comes_back_through_the_induction_head(model, shown):
    trace, row, target = shown(NAME)
    source = int(np.argmax(row))
    assert trace.tokens.ids[source] == target
    assert trace.tokens.ids[source - 1] == trace.tokens.ids[NAME.query]
    assert row[source] >= 0.7
    assert p(trace, NAME.query, target) >= 0.7
    assert removal(model, NAME, target) < -2
    assert removal(model, NAME, target, head=(0, 0)) < -5


def test_every_word_of_the_second_list_is_predicted_by_looking_at_the_first(shown):
    trace, row, target = shown(LIST)
    ids = trace.tokens.ids
    n_list = ids[2:].index(ids[1]) + 1
    for query in range(n_list + 1, len(ids)):
        source = query - n_list + 1
        assert p(trace, query, ids[source]) >= 0.5
        assert trace.pattern(LIST.layer, LIST.head)[query, source] >= 0.5
    assert ids[int(np.argmax(row))] == target


def test_large_weight_of_a_head_moves_nothing(model, shown):
    trace, row, target = shown(NO_EFFECT)
    assert row.max() >= 0.5
    assert int(np.argmax(trace.logits(NO_EFFECT.query))) == target
    change = removal(model, NO_EFFECT, target)
    others = [removal(model, NO_EFFECT, target, head=(1, head)) for head in (0, 1)]
    assert abs(change) <= 0.3
    assert max(abs(other) for other in others) >= 10 * abs(change)


def test_induction_head_looks_at_a_word_that_is_not_the_answer(model, shown):
    trace, row, target = shown(WRONG)
    source = int(np.argmax(row))
    foil = model.find_token(WRONG.foil)
    assert row[source] >= 0.5
    assert trace.tokens.ids[source] == foil != target
    assert target in trace.tokens.ids  # the answer stands in the prompt
    assert int(np.argmax(trace.logits(WRONG.query))) == foil
    assert p(trace, WRONG.query, target) < 0.5 * p(trace, WRONG.query, foil)
