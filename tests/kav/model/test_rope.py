"""How positions are stretched for long contexts: against the published rules, and at their ends."""

import math

import numpy as np
import pytest

from kav.errors import ModelError
from kav.model.rope import rotary_fields


def fields(spec, *, d_head=32, n_ctx=64, share=1.0, **raw):
    return rotary_fields({"rope_parameters": spec, **raw}, d_head=d_head, n_ctx=n_ctx, share=share)


def test_llama3_slows_slow_pairs_only():
    spec = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
    divisors = fields({"rope_type": "llama3", "rope_theta": 500000.0, **spec})["rotary_divisors"]
    assert divisors[0] == 1
    assert divisors[-1] == pytest.approx(8)
    assert (np.diff(divisors) >= -1e-12).all()


def test_yarn_interpolates_pairs_that_never_turn_once_and_keeps_those_that_turn_often():
    found = fields({"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096}, d_head=128)
    theta = 10000.0 ** (-np.arange(64) / 64)
    turns = 4096 * theta / (2 * math.pi)
    divisors = np.array(found["rotary_divisors"])
    assert divisors[turns > 33] == pytest.approx(1)
    assert divisors[turns < 0.9] == pytest.approx(16)
    assert found["rotary_gain"] == pytest.approx(0.1 * math.log(16) + 1)


def test_yarn_takes_a_gain_or_two_scales_from_the_file():
    spec = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 64}
    assert fields({**spec, "attention_factor": 1.5})["rotary_gain"] == 1.5
    both = fields({**spec, "mscale": 0.7, "mscale_all_dim": 0.7})
    assert both["rotary_gain"] == pytest.approx(1.0)


def test_linear_divides_all_and_dynamic_makes_room_for_longer_prompts():
    assert fields({"rope_type": "linear", "factor": 4.0})["rotary_divisors"] == (4.0,) * 16
    found = fields({"rope_type": "dynamic", "factor": 4.0})
    assert (found["rotary_growth"], found["rotary_n_ctx"], found["n_ctx"]) == (4.0, 64, 256)


@pytest.mark.parametrize(
    ("spec", "raw", "dims"),
    [
        ({"partial_rotary_factor": 0.25}, {}, 8),
        ({}, {"partial_rotary_factor": 0.5}, 16),
        ({}, {"rotary_pct": 0.75}, 24),
        ({}, {}, 32),
    ],
)
def test_part_of_a_head_that_rotates(spec, raw, dims):
    assert fields(spec, **raw)["rotary_dims"] == dims


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"rope_type": "su"}, "rope_type must be one of default, dynamic, linear, llama3, yarn, got 'su'"),
        ({"type": "default", "mrope_section": [2, 3, 3]}, "rope_type must be one of"),
        ({"rope_theta": 0}, "rope_theta must be a number > 0, got 0"),
        ({"rope_theta": True}, "rope_theta must be a number > 0, got True"),
        ({"partial_rotary_factor": 0.03}, "must be even and in 2..32, got 0.03 of 32"),
        ({"partial_rotary_factor": 1.5}, "must be even and in 2..32, got 1.5 of 32"),
        ({"rope_type": "dynamic", "factor": 0.5}, "factor must be >= 1"),
        ({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0}, "must be <"),
        ({"rope_type": "yarn", "factor": 4.0, "beta_fast": "x"}, "beta_fast must be a number > 0, got x"),
        ([1], "one object for all layers"),
    ],
    ids=str,
)
def test_what_is_not_known_is_refused(spec, said):
    with pytest.raises(ModelError, match=said):
        fields(spec)
