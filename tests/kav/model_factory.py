"""Small random models on any array namespace, for tests of everything that reads a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kav.model.config import Block, Config, Mlp, Norm, Weights
from kav.model.model import Model

Put = Callable[[np.ndarray], Any]


def tiny_model(
    xp: Any = None,
    *,
    seed: int = 0,
    n_layers: int = 2,
    n_heads: int = 4,
    n_kv_heads: int = 2,
    d_model: int = 16,
    d_head: int = 6,
    d_mlp: int = 20,
    d_vocab: int = 31,
    n_ctx: int = 64,
    norm: str = "rms",
    position: str = "rotary",
    activation: str = "silu",
    gated: bool = True,
    attention_only: bool = False,
    biases: bool = True,
    causal: bool = True,
    dtype: str = "float32",
) -> Model:
    """Return a random model without tokenizer; every gain and bias is random too, so that none can be forgotten.

    Parameters
    ----------
    xp : Backend or None
        What the `xp` fixture gives (its `put` places host arrays); None = NumPy.
    """
    rng = np.random.default_rng(seed)

    def put(*shape: int, scale: float = 1.0, around: float = 0.0) -> Any:
        array = (around + scale * rng.normal(size=shape)).astype(dtype)
        return array if xp is None else xp.put(array)

    def maybe(*shape: int) -> Any:
        return put(*shape, scale=0.3) if biases else None

    def some_norm() -> Norm:
        return Norm(put(d_model, scale=0.3, around=1.0), put(d_model, scale=0.3) if norm == "layer" else None)

    def some_mlp() -> Mlp:
        return Mlp(
            W_in=put(d_model, d_mlp, scale=d_model**-0.5),
            W_out=put(d_mlp, d_model, scale=d_mlp**-0.5),
            W_gate=put(d_model, d_mlp, scale=d_model**-0.5) if gated else None,
            b_in=maybe(d_mlp),
            b_gate=maybe(d_mlp) if gated else None,
            b_out=maybe(d_model),
        )

    def some_block() -> Block:
        return Block(
            norm1=some_norm(),
            W_Q=put(n_heads, d_model, d_head, scale=1.5 * d_model**-0.5),
            W_K=put(n_kv_heads, d_model, d_head, scale=1.5 * d_model**-0.5),
            W_V=put(n_kv_heads, d_model, d_head, scale=d_model**-0.5),
            W_O=put(n_heads, d_head, d_model, scale=d_head**-0.5),
            b_Q=maybe(n_heads, d_head),
            b_K=maybe(n_kv_heads, d_head),
            b_V=maybe(n_kv_heads, d_head),
            b_O=maybe(d_model),
            norm2=None if attention_only else some_norm(),
            mlp=None if attention_only else some_mlp(),
        )

    config = Config(
        family="tiny",
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_model=d_model,
        d_head=d_head,
        d_mlp=0 if attention_only else d_mlp,
        d_vocab=d_vocab,
        n_ctx=n_ctx,
        norm=norm,
        position=position,
        rotary_dims=d_head if position == "rotary" else 0,
        activation=activation,
        gated=gated,
        attention_only=attention_only,
        causal=causal,
    )
    weights = Weights(
        W_E=put(d_vocab, d_model),
        blocks=tuple(some_block() for _ in range(n_layers)),
        norm_final=some_norm(),
        W_U=put(d_model, d_vocab, scale=d_model**-0.5),
        b_U=maybe(d_vocab),
        W_pos=put(n_ctx, d_model, scale=0.5) if position == "learned" else None,
    )
    return Model(config, weights, name="tiny")


def some_ids(n_tokens: int, *, d_vocab: int = 31, seed: int = 1) -> Sequence[int]:
    """Return random token ids, the same at every call."""
    return tuple(int(number) for number in np.random.default_rng(seed).integers(0, d_vocab, n_tokens))
