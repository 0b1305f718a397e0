"""The frozen description of a model: sizes and the few choices in which transformer families differ.

Read it beside `kav.model.families`, which fills it from a checkpoint's own config, and `kav.model.forward`, which is
the only code that acts on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kav.arrays import Array


@dataclass(frozen=True)
class Config:
    """Sizes and switches of one model; every field has one meaning for all families."""

    family: str
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_model: int
    d_head: int
    d_mlp: int
    d_vocab: int
    n_ctx: int
    norm: str = "rms"  # "rms" or "layer"
    norm_eps: float = 1e-5
    position: str = "rotary"  # "rotary" or "learned"
    rotary_base: float = 10000.0
    rotary_dims: int = 0  # how many of d_head are rotated; 0 without rotary positions
    rotary_scaling: tuple[float, float, float, float] | None = None  # Llama 3.1: factor, low, high, old n_ctx
    activation: str = "silu"  # of the MLP: "silu", "gelu_tanh" or "relu"
    gated: bool = True  # MLP with a gate matrix
    attention_only: bool = False  # every MLP is absent (or exactly zero)
    causal: bool = True
    tied: bool = False  # W_U is the transpose of W_E
    scale: float = 0.0  # scores are q.k * scale; 1/sqrt(d_head) unless the family says otherwise
    extra: tuple[tuple[str, str], ...] = field(default=())  # what the panels may show but nothing computes with

    @property
    def score_scale(self) -> float:
        """What q.k is multiplied by: `scale`, or ``1 / sqrt(d_head)`` if the family does not set it."""
        return self.scale or self.d_head**-0.5

    def kv_head(self, head: int) -> int:
        """Return the key/value head that query head `head` reads: groups of neighbours share one."""
        return head // (self.n_heads // self.n_kv_heads)


@dataclass(frozen=True)
class Norm:
    """A layer norm: gain (d_model,), bias (d_model,) or None."""

    gain: Array
    bias: Array | None = None


@dataclass(frozen=True)
class Mlp:
    """One MLP: ``act(x W_gate + b) * (x W_in + b_in)`` or ``act(x W_in + b_in)``, then ``@ W_out + b_out``."""

    W_in: Array  # (d_model, d_mlp)
    W_out: Array  # (d_mlp, d_model)
    W_gate: Array | None = None  # (d_model, d_mlp)
    b_in: Array | None = None
    b_gate: Array | None = None
    b_out: Array | None = None


@dataclass(frozen=True)
class Block:
    """Weights of one layer, as the forward pass uses them (gains not folded), rows convention ``q = x @ W_Q``."""

    norm1: Norm
    W_Q: Array  # (n_heads, d_model, d_head)
    W_K: Array  # (n_kv_heads, d_model, d_head)
    W_V: Array  # (n_kv_heads, d_model, d_head)
    W_O: Array  # (n_heads, d_head, d_model)
    b_Q: Array | None = None  # (n_heads, d_head)
    b_K: Array | None = None  # (n_kv_heads, d_head)
    b_V: Array | None = None  # (n_kv_heads, d_head)
    b_O: Array | None = None  # (d_model,)
    norm2: Norm | None = None
    mlp: Mlp | None = None  # None in an attention-only block


@dataclass(frozen=True)
class Weights:
    """All weights of one model, on its device."""

    W_E: Array  # (d_vocab, d_model)
    blocks: tuple[Block, ...]
    norm_final: Norm
    W_U: Array  # (d_model, d_vocab)
    b_U: Array | None = None  # (d_vocab,)
    W_pos: Array | None = None  # (n_ctx, d_model), learned positions
