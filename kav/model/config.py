"""The frozen description of a model: sizes and the few choices in which transformer families differ.

Read it beside `kav.model.families`, which fills it from a checkpoint's own config, and `kav.model.forward`, which is
the only code that acts on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kav.arrays import Array
from kav.errors import KavError


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
    norm_place: str = "before"  # of a half of a layer; "around" it, at its "output", or on the "stream" after adding
    norm_eps: float = 1e-5
    position: str = "rotary"  # "rotary" or "learned"
    rotary_base: float = 10000.0
    rotary_dims: int = 0  # how many of d_head are rotated; 0 without rotary positions
    rotary_divisors: tuple[float, ...] = ()  # what each pair's angle is divided by for long contexts; () = 1
    rotary_gain: float = 1.0  # rotated queries and keys are longer by this
    rotary_growth: float = 0.0  # dynamic: the base grows by this factor with the prompt beyond rotary_n_ctx
    rotary_n_ctx: int = 0  # dynamic only
    activation: str = "silu"  # of the MLP: a name of `kav.model.activations.ACTIVATIONS`
    gated: bool = True  # MLP with a gate matrix
    parallel: bool = False  # attention and MLP of a layer read the same stream
    attention_only: bool = False  # every MLP is absent (or exactly zero)
    causal: bool = True
    windows: tuple[int, ...] = ()  # per layer: how many keys up to itself a query sees; 0 = all; () = all in all layers
    qk_norm: str = ""  # queries and keys are normalised per "head", or over all heads' "width"; "" = not
    score_cap: float = 0.0  # scores are capped softly, cap * tanh(s / cap), before the mask; 0 = not
    logit_cap: float = 0.0  # logits likewise
    embed_scale: float = 1.0  # rows of W_E are multiplied by this where they enter the stream
    has_logits: bool = True  # False: the checkpoint has no output matrix, and there is nothing to predict with
    tied: bool = False  # W_U is the transpose of W_E
    scales: tuple[float, ...] = ()  # per layer: what q.k is multiplied by; () = 1/sqrt(d_head) in all layers
    extra: tuple[tuple[str, str], ...] = field(default=())  # what the panels may show but nothing computes with

    def check_head(self, layer: int, head: int) -> None:
        """Raise KavError if the model has no such head."""
        if not (0 <= layer < self.n_layers and 0 <= head < self.n_heads):
            last = f"{self.n_layers - 1}.{self.n_heads - 1}"
            raise KavError(f"head must be in 0.0..{last}, got {layer}.{head}", "heads are written layer.head")

    def score_scale(self, layer: int) -> float:
        """Return what q.k is multiplied by in `layer`: ``1 / sqrt(d_head)`` if the model does not set it."""
        return self.scales[layer] if self.scales else self.d_head**-0.5

    def kv_head(self, head: int) -> int:
        """Return the key/value head that query head `head` reads: groups of neighbours share one."""
        return head // (self.n_heads // self.n_kv_heads)

    def window(self, layer: int) -> int:
        """Return how many keys, itself the last, a query of `layer` sees; 0 = all that came before."""
        return self.windows[layer] if self.windows else 0

    def sees(self, layer: int, query: int, key: int) -> bool:
        """Return whether a query of `layer` sees a key, by their positions."""
        window = self.window(layer)
        return not self.causal or (key <= query and (window == 0 or query - key < window))


@dataclass(frozen=True)
class Norm:
    """A norm: gain and bias (or None), of the width that is normalised; (n_heads, d_head) for queries or keys."""

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
    """Weights of one layer, as the forward pass uses them (gains not folded), rows convention ``q = x @ W_Q``.

    Which of the norms exist follows from `Config.norm_place` and `Config.qk_norm`.
    """

    norm1: Norm | None  # of what attention reads
    W_Q: Array  # (n_heads, d_model, d_head)
    W_K: Array  # (n_kv_heads, d_model, d_head)
    W_V: Array  # (n_kv_heads, d_model, d_head)
    W_O: Array  # (n_heads, d_head, d_model)
    b_Q: Array | None = None  # (n_heads, d_head)
    b_K: Array | None = None  # (n_kv_heads, d_head)
    b_V: Array | None = None  # (n_kv_heads, d_head)
    b_O: Array | None = None  # (d_model,)
    norm2: Norm | None = None  # of what the MLP reads
    mlp: Mlp | None = None  # None in an attention-only block
    norm_Q: Norm | None = None  # gain (d_head,) or (n_heads, d_head)
    norm_K: Norm | None = None  # gain (d_head,) or (n_kv_heads, d_head)
    norm1_out: Norm | None = None  # of attention's output, or of the stream after adding it
    norm2_out: Norm | None = None  # of the MLP's output, or of the stream after adding it


@dataclass(frozen=True)
class Dense:
    """A layer between the final stream and the final norm, ``act(x W + b)``, as masked language models have it."""

    W: Array  # (d_model, d_model)
    b: Array  # (d_model,)


@dataclass(frozen=True)
class Weights:
    """All weights of one model, on its device."""

    W_E: Array  # (d_vocab, d_model)
    blocks: tuple[Block, ...]
    norm_final: Norm | None
    W_U: Array  # (d_model, d_vocab); None without logits
    b_U: Array | None = None  # (d_vocab,)
    W_pos: Array | None = None  # (n_ctx, d_model), learned positions, with token type 0 where there are types
    norm_embed: Norm | None = None  # of the stream entering layer 0
    dense: Dense | None = None
