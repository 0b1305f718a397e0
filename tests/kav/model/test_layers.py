"""Norms, rotations and activations at numbers worked out by hand."""

import math

import numpy as np
import pytest

from kav.model.activations import ACTIVATIONS, erf, opening
from kav.model.config import Norm
from kav.model.layers import Rotary, cap, normalise, rotary, rotate
from tests.kav.model import plain
from tests.kav.model_factory import tiny_model


def config(**changes):
    return tiny_model(**changes).config


def test_rms_norm_does_not_centre(xp):
    # A layer norm's folding was applied to a root-mean-square norm (TransformerLens#372). 5 / sqrt 3 by hand.
    from dataclasses import replace

    norm = Norm(xp.put([2.0, 1.0, 0.5]))
    x = xp.put([[1.0, 2.0, 2.0]])
    scaled = normalise(replace(config(), norm_eps=0.0), norm, x)
    assert xp.get(scaled).sum() == pytest.approx(5 / np.sqrt(3), abs=1e-12)


def test_layer_norm_ignores_a_constant_and_leaves_the_bias(xp):
    norm = Norm(xp.put([2.0, 1.0, 0.5]), xp.put([0.0, 1.0, 2.0]))
    x = xp.put([[1.0, 2.0, 4.0]])
    at, shifted = (xp.get(normalise(config(norm="layer"), norm, v)) for v in (x, x + 7.0))
    np.testing.assert_allclose(at, shifted, atol=1e-12)
    np.testing.assert_allclose((at - [[0, 1, 2]]) / [[2, 1, 0.5]] @ np.ones(3), 0, atol=1e-12)


def test_rotation_pairs_the_first_half_with_the_second(xp):
    # Adjacent pairs instead of halves turn a model's text to gibberish (TinyLlama#24).
    c = config(d_head=4)
    x = xp.put([[1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(xp.get(rotate(x, rotary(c, 2, like_=x), 1)), [[0.5403, 0, 0.8415, 0]], atol=5e-5)


def test_rotated_scores_depend_on_the_offset_only(xp):
    c = config(d_head=6)
    rng = np.random.default_rng(0)
    q, k = xp.put(rng.normal(size=(1, 6))), xp.put(rng.normal(size=(1, 6)))
    table = rotary(c, 40, like_=q)
    scores = [xp.get(rotate(q, table, at + 3) @ rotate(k, table, at).T)[0, 0] for at in (0, 7, 30)]
    np.testing.assert_allclose(scores, scores[0], atol=1e-12)


def test_rotation_leaves_what_is_beyond_the_rotated_part(xp):
    x = xp.put(np.arange(8.0)[None, :])
    table = Rotary(cos=xp.put([[0.0]]), sin=xp.put([[1.0]]))  # a quarter turn of the first pair
    assert xp.get(rotate(x, table)).tolist() == [[-1, 0, 2, 3, 4, 5, 6, 7]]


def test_error_function_is_exact_to_rounding(xp):
    x = np.linspace(-7, 7, 2001)
    exact = np.array([math.erf(value) for value in x])
    np.testing.assert_allclose(xp.get(erf(xp.put(x))), exact, atol=1e-14)
    np.testing.assert_allclose(xp.get(erf(xp.put(x, "float32"))), exact, atol=2e-7)
    assert xp.get(erf(xp.put([-1e30, 1e30]))).tolist() == [-1, 1]


def test_soft_cap_keeps_small_numbers_and_holds_large_ones(xp):
    # Capped logits of 60, 30 and 0 with cap 30 (TransformerLens#828); by hand.
    np.testing.assert_allclose(xp.get(cap(xp.put([60.0, 30.0, 0.0]), 30.0)), [28.9208, 22.8478, 0], atol=5e-5)
    assert xp.get(cap(xp.put([60.0]), 0.0)).tolist() == [60]


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_what_an_activation_lets_through_is_it_over_its_input(xp, name):
    x = np.array([-3.0, -0.5, 0.0, 1e-9, 0.5, 3.0])
    let = xp.get(opening(name, xp.put(x)))
    np.testing.assert_allclose(let * x, plain.act(name, x), atol=1e-12)
    assert np.isfinite(let).all()


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_activations_agree_with_their_plain_form_and_do_not_overflow(xp, name):
    x = np.array([-30.0, -3.0, -0.5, 0.0, 0.5, 3.0, 30.0])
    np.testing.assert_allclose(xp.get(ACTIVATIONS[name](xp.put(x), xp)), plain.act(name, x), atol=1e-12)
    assert xp.get(ACTIVATIONS[name](xp.put(np.array([-1e4, 1e4], "float32")), xp)).tolist() == [0, 1e4]
