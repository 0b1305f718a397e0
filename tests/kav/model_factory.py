"""Small random models on any array namespace, for tests of everything that reads a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from kav.model.config import Block, Config, Dense, Mlp, Norm, Weights
from kav.model.model import Model

FAMILY_FEATURES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "llama": {},
        "gpt2": {"norm": "layer", "position": "learned", "gated": False, "activation": "gelu_tanh", "n_kv_heads": 4},
        "attention only": {"attention_only": True, "biases": False},
        "bidirectional": {"causal": False, "norm": "layer"},
        "gpt_neo": {"norm": "layer", "position": "learned", "gated": False, "windows": (0, 3), "scales": (1.0,)},
        "gpt_neox": {"norm": "layer", "parallel": True, "gated": False, "activation": "gelu", "rotary_dims": 4},
        "mistral": {"windows": (4, 4), "biases": False},
        "qwen3": {"qk_norm": "head", "rotary_gain": 1.2},
        "gemma2": {
            "norm_place": "around",
            "windows": (3, 0),
            "score_cap": 1.5,
            "logit_cap": 4.0,
            "embed_scale": 4.0,
            "scales": (0.3, 0.15),
            "biases": False,
        },
        "olmo2": {"norm_place": "output", "qk_norm": "width"},
        "bert": {
            "norm_place": "stream",
            "norm": "layer",
            "causal": False,
            "position": "learned",
            "gated": False,
            "activation": "gelu",
            "dense": True,
        },
        "layer norms around": {"norm_place": "around", "norm": "layer", "activation": "relu"},
    }
)
"""What families differ in, by the family that has it: arguments of `tiny_model`."""


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
    attention_only: bool = False,
    gated: bool = True,
    biases: bool = True,
    dense: bool = False,
    has_logits: bool = True,
    dtype: str = "float32",
    **features: Any,
) -> Model:
    """Return a random model without tokenizer; every gain and bias is random too, so that none can be forgotten.

    Parameters
    ----------
    xp : Backend or None
        What the `xp` fixture gives (its `put` places host arrays); None = NumPy.
    dense : bool
        With a layer before the final norm.
    **features
        Further fields of `Config`; `rotary_dims` is d_head if not given, `windows` and `scales` are repeated for all
        layers.
    """
    position = features.pop("position", "rotary")
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
        position=position,
        rotary_dims=features.pop("rotary_dims", d_head) if position == "rotary" else 0,
        windows=(features.pop("windows", ()) * n_layers)[:n_layers],
        scales=(features.pop("scales", ()) * n_layers)[:n_layers],
        attention_only=attention_only,
        gated=gated,
        has_logits=has_logits,
        **features,
    )
    make = _Maker(config, np.random.default_rng(seed), xp, dtype, biases)
    return Model(config, make.weights(dense), name="tiny")


@dataclass(frozen=True)
class _Maker:
    """Draws the weights that a config asks for."""

    config: Config
    rng: np.random.Generator
    xp: Any
    dtype: str
    biases: bool

    def put(self, *shape: int, scale: float = 1.0, around: float = 0.0) -> Any:
        array = (around + scale * self.rng.normal(size=shape)).astype(self.dtype)
        return array if self.xp is None else self.xp.put(array)

    def maybe(self, *shape: int) -> Any:
        return self.put(*shape, scale=0.3) if self.biases else None

    def norm(self, wanted: bool = True) -> Norm | None:
        d_model = self.config.d_model
        if not wanted:
            return None
        gain = self.put(d_model, scale=0.3, around=1.0)
        return Norm(gain, self.put(d_model, scale=0.3) if self.config.norm == "layer" else None)

    def heads_norm(self, n_heads: int) -> Norm | None:
        c = self.config
        shape = {"head": (c.d_head,), "width": (n_heads, c.d_head)}.get(c.qk_norm)
        return None if shape is None else Norm(self.put(*shape, scale=0.3, around=1.0))

    def mlp(self) -> Mlp:
        c = self.config
        d_model, d_mlp = c.d_model, c.d_mlp
        return Mlp(
            W_in=self.put(d_model, d_mlp, scale=d_model**-0.5),
            W_out=self.put(d_mlp, d_model, scale=d_mlp**-0.5),
            W_gate=self.put(d_model, d_mlp, scale=d_model**-0.5) if c.gated else None,
            b_in=self.maybe(d_mlp),
            b_gate=self.maybe(d_mlp) if c.gated else None,
            b_out=self.maybe(d_model),
        )

    def block(self) -> Block:
        c = self.config
        before, after = c.norm_place in ("before", "around"), c.norm_place != "before"
        wide, deep = 1.5 * c.d_model**-0.5, c.d_head**-0.5
        return Block(
            norm1=self.norm(before),
            W_Q=self.put(c.n_heads, c.d_model, c.d_head, scale=wide),
            W_K=self.put(c.n_kv_heads, c.d_model, c.d_head, scale=wide),
            W_V=self.put(c.n_kv_heads, c.d_model, c.d_head, scale=c.d_model**-0.5),
            W_O=self.put(c.n_heads, c.d_head, c.d_model, scale=deep),
            b_Q=self.maybe(c.n_heads, c.d_head),
            b_K=self.maybe(c.n_kv_heads, c.d_head),
            b_V=self.maybe(c.n_kv_heads, c.d_head),
            b_O=self.maybe(c.d_model),
            norm2=self.norm(before and not c.attention_only),
            mlp=None if c.attention_only else self.mlp(),
            norm_Q=self.heads_norm(c.n_heads),
            norm_K=self.heads_norm(c.n_kv_heads),
            norm1_out=self.norm(after),
            norm2_out=self.norm(after and not c.attention_only),
        )

    def weights(self, dense: bool) -> Weights:
        c = self.config
        return Weights(
            W_E=self.put(c.d_vocab, c.d_model),
            blocks=tuple(self.block() for _ in range(c.n_layers)),
            norm_final=self.norm(c.has_logits),
            W_U=self.put(c.d_model, c.d_vocab, scale=c.d_model**-0.5) if c.has_logits else None,
            b_U=self.maybe(c.d_vocab) if c.has_logits else None,
            W_pos=self.put(c.n_ctx, c.d_model, scale=0.5) if c.position == "learned" else None,
            norm_embed=self.norm(c.norm_place == "stream"),
            dense=Dense(self.put(c.d_model, c.d_model, scale=c.d_model**-0.5), self.put(c.d_model)) if dense else None,
        )


def some_ids(n_tokens: int, *, d_vocab: int = 31, seed: int = 1) -> Sequence[int]:
    """Return random token ids, the same at every call."""
    return tuple(int(number) for number in np.random.default_rng(seed).integers(0, d_vocab, n_tokens))
