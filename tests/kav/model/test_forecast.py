"""How much memory a model takes: asked before it is opened, and refused when it cannot fit."""

from pathlib import Path

import numpy as np
import pytest

import kav
from kav.errors import ModelError
from kav.model import forecast
from kav.model.checkpoint import checkpoint
from kav.model.forecast import Forecast, free_memory
from tests.kav.model import gguf_maker as made

TINY = Path(__file__).resolve().parents[2] / "data" / "tiny"


def n_numbers(weights):
    """Numbers held by nested dataclasses of arrays, views of one array counted once."""
    held, waiting = {}, [weights]
    while waiting:
        value = waiting.pop()
        if isinstance(value, np.ndarray):
            held[value.__array_interface__["data"][0]] = value.size
        else:
            waiting.extend(
                value if isinstance(value, tuple) else vars(value).values() if hasattr(value, "__dict__") else ()
            )
    return sum(held.values())


@pytest.mark.parametrize("name", ["llama_gqa", "gpt2", "gguf/llama_gqa_q8_0.gguf"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forecast_covers_what_is_held_afterwards(name, dtype):
    found = checkpoint(TINY / name)
    needed = found.forecast(dtype=dtype).n_bytes
    held = n_numbers(kav.open_model(TINY / name, device="cpu", dtype=dtype).weights) * np.dtype(dtype).itemsize
    passing = 12 * max(np.prod(found.tensors.shape(tensor)) for tensor in found.tensors.names)
    assert held <= needed <= held + passing


def test_free_memory_is_a_number_of_bytes_that_a_machine_can_have():
    assert 1 << 20 < free_memory() < 1 << 50


def test_share_tells_when_to_ask_and_what_cannot_fit():
    assert Forecast(6, 10).share == 0.6
    assert Forecast(6, 10).fits
    assert not Forecast(11, 10).fits
    assert Forecast(11, None).fits


def test_model_that_cannot_fit_is_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(forecast, "free_memory", lambda: 1000)
    with pytest.raises(ModelError, match=r"llama_gqa must fit in memory on cpu, got 0\.0 GB for 0\.0 GB that are free"):
        kav.open_model(TINY / "llama_gqa", device="cpu")


def test_file_that_promises_more_than_any_machine_has_is_refused(tmp_path):
    # Sizes that agree with each other and with the file's length, which is a hole: nothing is written, nothing is read.
    values = made.settings({"model_type": "llama", "hidden_size": 65536, "num_attention_heads": 64})
    values |= {f"llama.{key}": number for key, number in (("block_count", 1), ("context_length", 8))}
    values |= {"llama.feed_forward_length": 1 << 20, "llama.attention.layer_norm_rms_epsilon": 1e-5}
    d, wide = 65536, 1 << 20
    shapes = {"token_embd": (wide, d), "output_norm": (d,), "output": (wide, d)} | {
        f"blk.0.{name}": shape
        for name, shape in (
            ("attn_norm", (d,)), ("ffn_norm", (d,)), ("attn_q", (d, d)), ("attn_k", (d, d)), ("attn_v", (d, d)),
            ("attn_output", (d, d)), ("ffn_up", (wide, d)), ("ffn_gate", (wide, d)), ("ffn_down", (d, wide)),
        )
    }  # fmt: skip
    places, at = [], 0
    for name, shape in shapes.items():
        places.append(made.place(f"{name}.weight", shape[::-1], 0, at))
        at += 4 * int(np.prod(shape, dtype=object))
    path = tmp_path / "a.gguf"
    raw = made.padded(made.head([made.key(name, value) for name, value in values.items()], places))
    with path.open("wb") as file:
        file.write(raw)
        file.truncate(len(raw) + at)
    assert checkpoint(path).forecast().n_bytes > 1 << 40
    with pytest.raises(ModelError, match="must fit in memory"):
        kav.open_model(path, device="cpu")
