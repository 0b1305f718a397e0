"""Roles of heads on a prompt: heads that are made to do one thing, and samples against all rows."""

import numpy as np
import pytest

import kav
from kav.circuits.head_scores import wanted_keys
from kav.circuits.roles import judged, prompt_roles, rows_at
from kav.model.edits import MaskKeys, ScaleEdge, SetScore, SetTemperature
from kav.model.trace import run
from tests.kav.model_factory import some_ids, tiny_model


@pytest.fixture(scope="module")
def bundled():
    return kav.open_model("bundled")


def test_heads_of_the_bundled_model_are_named_by_what_they_do_on_a_prompt(bundled):
    text = "When the red fox met the grey owl, the red fox met the grey"
    roles = prompt_roles(kav.run(bundled, bundled.encode(text)))
    assert roles[0][0].name == "previous"
    assert [role.name for role in roles[1][:2]] == ["induction", "induction"]
    assert all(role.score >= 0.5 for role in (roles[0][0], *roles[1][:2]))


@pytest.mark.parametrize(("offset", "name"), [(0, "itself"), (1, "previous"), (2, "induction"), (3, "duplicate")])
def test_a_head_that_only_looks_at_one_offset_is_named_by_it(offset, name):
    model = tiny_model()
    trace = run(model, model.tokens([1, 2, 3] * 3), [SetScore(0, 1, i, i - offset, 50.0) for i in range(offset, 9)])
    assert prompt_roles(trace)[0][1].name == name


def test_a_head_without_preference_is_mixed_and_one_on_the_first_token_is_named_so():
    model = tiny_model()
    edits = [SetTemperature(0, 0, 0.0), *(SetScore(1, 2, i, 0, 50.0) for i in range(1, 12))]
    roles = prompt_roles(run(model, model.tokens(range(12)), edits))
    assert roles[0][0].name == "mixed"
    assert roles[1][2].name == "first token"
    assert roles[1][2].score == pytest.approx(1.0)


def test_an_induction_head_that_rests_on_the_first_token_elsewhere_is_an_induction_head():
    # on ordinary text most tokens are new, and induction heads of real models were named "first token"
    model, ids = tiny_model(), [0, *range(1, 20), 3, 9]
    resting = [SetScore(0, 1, i, 0, 50.0) for i in range(1, 20)]
    trace = run(model, model.tokens(ids), [*resting, SetScore(0, 1, 20, 4, 50.0), SetScore(0, 1, 21, 10, 50.0)])
    assert prompt_roles(trace)[0][1].name == "induction"
    assert prompt_roles(trace)[0][1].score == pytest.approx(1.0)


def test_a_head_on_the_first_token_is_no_duplicate_head_because_that_token_comes_again():
    model = tiny_model()
    trace = run(model, model.tokens([5, 1, 2, 3, 4, 5]), [SetScore(0, 1, i, 0, 50.0) for i in range(1, 6)])
    assert prompt_roles(trace)[0][1].name == "first token"


def test_one_token_prompt_has_roles_without_nan():
    model = tiny_model()
    for row in prompt_roles(run(model, model.tokens(some_ids(1)))):
        assert all(role.name == "mixed" and role.score == 0.0 for role in row)


def test_long_prompt_is_judged_by_its_last_queries():
    model = tiny_model(n_layers=1, n_ctx=700)
    trace = run(model, model.tokens(some_ids(600)), [SetScore(0, 0, i, i - 1, 50.0) for i in range(100, 600)])
    assert prompt_roles(trace)[0][0].name == "previous"


@pytest.mark.parametrize("edits", [(), (MaskKeys(0, 1, (3,)), ScaleEdge(0, 2, 5, 2.0), SetTemperature(1, 0, 3.0))])
@pytest.mark.parametrize("causal", [True, False])
def test_judged_rows_are_those_of_the_pattern(xp, edits, causal):
    model = tiny_model(xp, dtype="float64", n_ctx=200, causal=causal)
    trace = run(model, model.tokens(some_ids(150)), edits)
    queries = judged(trace.tokens.ids)
    assert len(queries.queries) <= 96
    for layer in (0, 1):
        rows = rows_at(trace, layer, queries)
        for head in range(4):
            np.testing.assert_allclose(rows[head], trace.pattern(layer, head)[queries.queries], atol=1e-12)
        np.testing.assert_allclose(rows_at(trace, layer, queries, slice(2, 4)), rows[2:], atol=1e-12)


def test_every_query_of_a_short_prompt_is_judged():
    queries = judged(some_ids(64))
    assert queries.queries.tolist() == list(range(64))
    assert queries.even.all()
    assert queries.repeated.all()


def test_queries_of_a_long_prompt_are_spread_and_some_of_them_have_met_their_token_before():
    ids = [*range(300), 5, 6, 7, *range(400, 700)]
    queries = judged(ids)
    assert queries.queries[queries.even].tolist() == np.linspace(0, 602, 64).astype(int).tolist()
    assert queries.queries[queries.repeated].tolist() == [300, 301, 302]
    assert len(judged(list(range(300))).queries) == 64


def test_scores_from_samples_are_close_to_those_of_all_queries():
    model = tiny_model(n_ctx=512, dtype="float64")
    trace = run(model, model.tokens([*some_ids(120), *some_ids(120), *some_ids(120)]))
    keys = wanted_keys(trace.tokens.ids, np.arange(360))
    names = {"previous": "previous_token", "induction": "prefix_matching", "first token": "first_token"}
    for layer, roles in enumerate(prompt_roles(trace)):
        for head, role in enumerate(roles):
            wanted = keys[names[role.name]] if role.name in names else None
            if wanted is not None:
                rows = wanted.any(axis=-1)
                exact = (trace.pattern(layer, head) * wanted).sum(axis=-1)[rows].mean()
                assert role.score == pytest.approx(exact, abs=0.1)
