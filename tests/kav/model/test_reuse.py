"""Runs that stand on earlier runs: the same numbers from fewer rows, and no memory that grows with the typing."""

import gc
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kav.errors import KavError
from kav.model import reuse
from kav.model import trace as trace_module
from kav.model.edits import MoveQuery, ScaleEdge, ScaleHead, SetTemperature
from kav.model.model import Model
from kav.model.reuse import JOINED, Grown
from kav.model.suffix import suffix
from kav.model.trace import run
from tests.kav.model_factory import some_ids, tiny_model


def assert_same(trace, fresh, atol=1e-10):
    np.testing.assert_allclose(trace.logits(), fresh.logits(), atol=atol)
    for layer, expected in zip(trace.layers, fresh.layers, strict=True):
        for name in JOINED:
            np.testing.assert_allclose(getattr(layer, name), getattr(expected, name), atol=atol)


def test_appended_token_computes_one_row_and_copies_nothing():
    model = tiny_model(n_ctx=512)
    base = run(model, model.tokens(some_ids(300)))
    longer = run(model, model.tokens((*some_ids(300), 5)), base=base)
    for layer, before in zip(longer.layers, base.layers, strict=True):
        assert isinstance(layer, Grown)
        assert not set(JOINED) & set(vars(layer))  # nothing is joined yet
        old, new = layer.pieces("k", 301)
        assert old.base is before.k or old is before.k
        assert new.shape[-2] == 1


def test_fields_are_joined_when_read_and_the_earlier_run_is_let_go():
    model = tiny_model(n_ctx=512, dtype="float64")
    base = run(model, model.tokens(some_ids(300)))
    longer = run(model, model.tokens((*some_ids(300), 5)), base=base)
    assert_same(longer, run(model, longer.tokens))
    assert all(vars(layer)["_sources"] is None for layer in longer.layers)
    with pytest.raises(AttributeError):
        _ = longer.layers[0].nothing


typing = st.lists(
    st.one_of(
        st.tuples(st.just("type"), st.integers(0, 30)),
        st.tuples(st.just("delete"), st.integers(1, 4)),
        st.tuples(st.just("change"), st.integers(0, 39)),
        st.tuples(
            st.just("edit"), st.sampled_from([None, ScaleHead(0, 1, 0.3, positions=(-1,)), ScaleEdge(1, 0, 2, 0.0)])
        ),
        st.tuples(st.just("read"), st.integers(0, 1)),
    ),
    max_size=14,
)


@settings(max_examples=40, deadline=None)
@given(steps=typing, seed=st.integers(0, 3))
def test_any_typing_gives_the_numbers_of_a_fresh_run(steps, seed):
    model = tiny_model(dtype="float64", seed=seed)
    ids, edits = list(some_ids(40)), ()
    trace = run(model, model.tokens(ids))
    for what, value in steps:
        if what == "type":
            ids.append(value)
        elif what == "delete":
            del ids[-value:]
        elif what == "change":
            ids[value % len(ids)] = (ids[value % len(ids)] + 1) % 31
        elif what == "edit":
            edits = () if value is None else (value,)
        else:
            trace.pattern(value, 0)
        trace = run(model, model.tokens(ids), edits, base=trace)
    assert_same(trace, run(model, trace.tokens, edits))


def test_rows_grow_in_place_of_whole_runs_on_every_device(xp):
    model = tiny_model(xp)
    trace = run(model, model.tokens(some_ids(40)))
    for n in range(41, 54):
        trace = run(model, model.tokens(some_ids(60)[:n]), base=trace)
    assert max(getattr(layer, "depth", 0) for layer in trace.layers) <= reuse.DEEPEST
    np.testing.assert_allclose(trace.logits(), run(model, trace.tokens).logits(), atol=1e-5)


def test_memory_does_not_climb_while_one_letter_changes_again_and_again():
    # Memory climbed with every run of a comparable program (nnsight#389).
    model = tiny_model(n_ctx=128, d_model=32)
    ids = list(some_ids(50))
    trace = run(model, model.tokens(ids))
    tracemalloc.start()
    for n in range(200):
        ids[40 + n % 10] = n % 31
        trace = run(model, model.tokens(ids), base=trace)
        trace.pattern(1, n % 4)
        if n == 20:
            gc.collect()
            early = tracemalloc.get_traced_memory()[0]
    gc.collect()
    late = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert late - early < 1 << 20


def test_a_short_prompt_does_not_keep_a_long_one_alive():
    model = tiny_model(n_ctx=512)
    long = run(model, model.tokens(some_ids(400)))
    short = run(model, model.tokens(some_ids(400)[:20]), base=long)
    assert all(vars(layer)["_sources"] is None for layer in short.layers)
    assert_same(short, run(model, short.tokens), atol=1e-5)


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("from_mid", [False, True])
def test_suffix_from_a_row_on_is_the_suffix_of_all_rows(xp, layer, from_mid):
    model = tiny_model(xp, dtype="float64", n_layers=3)
    edits = (SetTemperature(2, 0, 2.0), MoveQuery(2, 1, 7, 2, 0.5), ScaleHead(2, 3, 0.4, positions=(6,)))
    trace = run(model, model.tokens(some_ids(9)), edits)
    whole = trace.layers[layer].resid_mid if from_mid else trace.layers[layer].resid_pre
    change = np.zeros((4, 9, model.config.d_model))
    change[:, 5:, :] = np.random.default_rng(0).normal(size=change[:, 5:, :].shape)
    streams = whole[None, :, :] + xp.put(change)
    plain = suffix(model, streams, layer, edits=edits, positions=(5, -1), from_mid=from_mid)
    fast = suffix(
        model,
        streams[:, 5:, :],
        layer,
        edits=edits,
        positions=(5, -1),
        from_mid=from_mid,
        first=5,
        past=trace.layers,
    )
    np.testing.assert_allclose(xp.get(fast), xp.get(plain), atol=1e-12)


def test_suffix_of_rows_without_the_run_before_them_is_refused():
    model = tiny_model()
    trace = run(model, model.tokens(some_ids(9)))
    rows = trace.resid_pre(0)[None, 5:, :]
    with pytest.raises(KavError, match="first must be 0 without an earlier run"):
        suffix(model, rows, 0, first=5)
    with pytest.raises(KavError, match=r"positions must be among those that are run again, 5..8, got 2"):
        suffix(model, rows, 0, first=5, past=trace.layers, positions=(2, 6))


def first_layers(model, n):
    """The model of a model's first layers, as there is one while the rest is read."""
    config = replace(model.config, n_layers=n, has_logits=False)
    weights = replace(model.weights, blocks=model.weights.blocks[:n], norm_final=None, W_U=None)
    return Model(config, weights, model.device)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("ids", [some_ids(9), (*some_ids(9)[:6], 3, 4), some_ids(9)[:4], (5, *some_ids(9))], ids=len)
def test_run_of_the_first_layers_is_a_base_for_a_run_of_all(xp, n, ids):
    model = tiny_model(xp, dtype="float64", n_layers=3)
    begun = run(first_layers(model, n), model.tokens(some_ids(9)))
    assert_same_on(xp, run(model, model.tokens(ids), base=begun), run(model, model.tokens(ids)))
    edits = (ScaleHead(1, 0, 0.3),)
    assert_same_on(xp, run(model, model.tokens(ids), edits, base=begun), run(model, model.tokens(ids), edits))


def assert_same_on(xp, trace, fresh):
    np.testing.assert_allclose(trace.logits(), fresh.logits(), atol=1e-10)
    assert len(trace.layers) == len(fresh.layers)
    for layer, expected in zip(trace.layers, fresh.layers, strict=True):
        for name in JOINED:
            np.testing.assert_allclose(xp.get(getattr(layer, name)), xp.get(getattr(expected, name)), atol=1e-10)


def test_what_the_first_layers_know_is_not_computed_again(monkeypatch):
    model, computed = tiny_model(n_layers=3), []
    begun = run(first_layers(model, 2), model.tokens(some_ids(9)))
    one = trace_module.one_layer
    monkeypatch.setattr(
        trace_module, "one_layer", lambda *of, **named: (computed.append(of[2].shape[0]), one(*of, **named))[1]
    )
    run(model, model.tokens(some_ids(9)), base=begun)
    assert computed == [0, 0, 9]


def test_another_models_first_layers_are_no_base():
    model, other = tiny_model(n_layers=3), tiny_model(n_layers=3, seed=1)
    assert model.starts_with(model)
    assert model.starts_with(first_layers(model, 2))
    assert not first_layers(model, 2).starts_with(model)
    assert not model.starts_with(other)
    assert not model.starts_with(first_layers(other, 2))
    found = run(model, model.tokens(some_ids(9)), base=run(first_layers(other, 2), other.tokens(some_ids(9))))
    assert_same(found, run(model, model.tokens(some_ids(9))))
