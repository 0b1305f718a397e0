"""What a row about a model family says: how config.json and the tensors of its checkpoints are to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Names:
    """Tensor names without ".weight" or ".bias"; "{}" stands for the layer. "" = the family has none."""

    embed: str
    norm_final: str
    unembed: str
    attn_in: tuple[str, ...]  # three of q, k, v, or one of them fused
    attn_out: str
    mlp_in: str
    mlp_out: str
    mlp_gate: str = ""  # the name of mlp_in where both are fused, gate first
    norm1: str = ""
    norm2: str = ""  # the name of norm1 where both halves read the same
    norm1_out: str = ""
    norm2_out: str = ""
    norm_q: str = ""
    norm_k: str = ""
    norm_embed: str = ""
    positions: str = ""
    types: str = ""  # token types, of which only the first is used
    dense: str = ""  # before the final norm
    prefix: str = ""  # may be missing from a file's names
    ignored: tuple[str, ...] = ()  # ends of the names of tensors that no prediction reads


@dataclass(frozen=True)
class Family:
    """One row: how to read a family's checkpoints. Rules with "or str" name a key of config.json that decides."""

    names: Names
    keys: Mapping[str, str]  # our word -> key of config.json
    norm: str
    position: str
    norm_eps: str  # key of config.json
    activation: tuple[str, ...]  # keys of config.json, the first that is given counts
    norm_place: str = "before"
    transposed: bool = True  # matrices are stored (out, in), as torch.nn.Linear does
    fused: str = ""  # one tensor holds q, k and v: in "blocks" one after the other, or by "heads"
    qkv_bias: bool | str = False
    out_bias: bool | str = False
    mlp_bias: bool | str = False
    unembed_bias: str = ""  # full name of b_U
    parallel: bool | str = False
    causal: bool = True
    windows: str = ""  # which layers have a window: "all", "late", "even", or as "types" lists; "" = none
    window: str = "sliding_window"  # key of config.json
    qk_norm: str = ""
    gain_offset: float = 0.0  # gains are stored less this
    embed_scaled: bool = False  # by sqrt(d_model)
    scale: float = 0.0  # scores are q.k times this; 0 = 1/sqrt(d_head)
    scale_key: str = ""  # key of config.json: scores are divided by its root
    scale_rule: bool | str = True  # where it does not hold, scores are not scaled
    flattened: bool | str = False  # where it holds, scores are divided by the layer's number besides, from 1
    rotary_share: float = 1.0
    tied: bool = False
    headless: bool = False  # checkpoints without output matrix are usual
    defaults: Mapping[str, Any] = field(default_factory=dict)  # what missing keys of config.json mean
    reads: tuple[str, ...] = ()  # keys of `kav.model.family_config.NEUTRAL` that are computed with
    refused: tuple[tuple[str, Any], ...] = ()  # settings of config.json that change the arithmetic
