"""A run that takes long shows its first layers as they are, and says how long the rest will take."""

from dataclasses import replace

import numpy as np
import pytest

import kav
from kav.model.model import Model
from kav.task import Task
from kav.views import attention
from kav.views.scene import HeadScene, Selection
from kav.views.so_far import FirstLayers, SoFar, teller, time_left
from tests.kav.model_factory import some_ids, tiny_model


class Clock:
    """Every look at it costs some seconds."""

    def __init__(self, seconds):
        self.seconds, self.now = seconds, 0.0

    def __call__(self):
        self.now += self.seconds
        return self.now


def _told(seconds, n_layers=4):
    model, seen = tiny_model(n_layers=n_layers), []
    tokens = model.tokens(some_ids(12))
    trace = kav.run(model, tokens, so_far=teller(seen.append, clock=Clock(seconds)))
    return trace, seen


def test_layers_are_shown_as_they_are_done_and_as_the_whole_run_has_them():
    trace, seen = _told(2.0)
    assert [len(one.thumbs) for one in seen] == [1, 2, 3]
    whole = attention.compute(attention.Spec(HeadScene(trace, Selection())), Task()).thumbs
    for layer, heads in enumerate(seen[-1].thumbs):
        for thumb, final in zip(heads, whole[layer], strict=True):
            assert (thumb.layer, thumb.head, thumb.role) == (final.layer, final.head, final.role)
            np.testing.assert_array_equal(thumb.cells, final.cells)


def test_rest_of_the_run_is_forecast_from_the_last_layer():
    seen = _told(10.0)[1]
    assert [one.seconds_left for one in seen] == [30.0, 20.0, 10.0]
    assert seen[0].text() == "12 tokens: layer 0 of 4 so far, about 30 s left"
    assert seen[1].text() == "12 tokens: layers 0–1 of 4 so far, about 20 s left"
    assert seen[1].fraction == 0.5


def test_fast_run_is_not_told_about():
    assert _told(0.01)[1] == []


@pytest.mark.parametrize(
    ("seconds", "words"), [(3, "a few seconds"), (8, "about 10 s"), (61, "about 60 s"), (170, "about 3 min")]
)
def test_time_left_in_words(seconds, words):
    assert time_left(seconds) == f"{words} left"


def test_large_prompt_is_written_with_separators():
    assert SoFar(4096, 30, ((),) * 3, 40).text().startswith("4,096 tokens: layers 0–2 of 30")


def _read(first, model, n_layers=4):
    """Tell of a model's layers as they would be read, one by one."""
    for n in range(1, n_layers):
        config = replace(model.config, n_layers=n, has_logits=False)
        weights = replace(model.weights, blocks=model.weights.blocks[:n], norm_final=None, W_U=None)
        first(Model(config, weights), n_layers)


def test_heads_of_a_model_are_shown_while_it_is_read():
    model, seen = tiny_model(n_layers=4), []
    first = FirstLayers(seen.append, "3 1 4 1 5 9 2 6", clock=iter([0, 5, 6, 6, 11, 12, 12, 17, 18, 18]).__next__)
    _read(first, model)
    assert [len(one.thumbs) for one in seen] == [1, 2, 3]
    assert [one.seconds_left for one in seen] == [15, 10, 5]
    assert {(one.n_tokens, one.n_layers) for one in seen} == {(8, 4)}
    trace = kav.run(model, model.encode("3 1 4 1 5 9 2 6"))
    whole = attention.compute(attention.Spec(HeadScene(trace, Selection())), Task()).thumbs
    for layer, heads in enumerate(seen[-1].thumbs):
        for thumb, final in zip(heads, whole[layer], strict=True):
            np.testing.assert_array_equal(thumb.cells, final.cells)
    assert len(first.trace.layers) == 3
    assert first.seconds == 3
    assert model.starts_with(first.trace.model)


def test_what_is_read_before_the_layers_does_not_make_a_model_slow():
    """Story: an embedding that took half a second made a model of many small layers look like one of seconds."""
    seen = []
    first = FirstLayers(seen.append, "3 1 4", clock=iter([0, 3, 3, 3.5, 3.5, 4, 4]).__next__)
    _read(first, tiny_model(n_layers=4))
    assert (seen, first.trace) == ([], None)


def test_model_that_is_read_soon_is_not_run_meanwhile():
    seen = []
    first = FirstLayers(seen.append, "3 1 4", clock=Clock(0.5))
    _read(first, tiny_model(n_layers=4))
    assert (seen, first.trace) == ([], None)


def test_prompt_that_would_hold_up_the_reading_is_given_up_after_one_look():
    seen = []
    first = FirstLayers(seen.append, "3 1 4", clock=iter([0, 5, 15, 15, 20, 20, 25, 25]).__next__)
    _read(first, tiny_model(n_layers=4))
    assert len(seen) == 1


@pytest.mark.parametrize("prompt", ["not ids", "", "1 " * 200])
def test_prompt_that_the_model_refuses_is_left_to_the_whole_model(prompt):
    seen = []
    first = FirstLayers(seen.append, prompt, True, clock=Clock(10))
    _read(first, tiny_model(n_layers=4))
    assert (seen, first.trace) == ([], None)
