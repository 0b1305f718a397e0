"""GGUF files in the words of the Hugging Face layout: one row per architecture.

A row says which family of `kav.model.families` an architecture is, what its keys and tensors are called there, and in
which ways the tensors were rearranged when the file was written. `kav.model.gguf_settings` gives what config.json would
say, `kav.model.gguf_tensors` the tensors as the Hugging Face checkpoint holds them; nothing behind them knows GGUF.

Two layouts of rotary positions exist. Architectures of the llama kind rotate neighbouring numbers (2r, 2r + 1) of a
head, so their query and key rows were permuted from the half-split order; the others are stored as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kav.errors import ModelError
from kav.model.gguf import GgufFile

_SIZES = {
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "context_length": "max_position_embeddings",
}
_RMS = {**_SIZES, "attention.layer_norm_rms_epsilon": "rms_norm_eps"}
_LAYER = {**_SIZES, "attention.layer_norm_epsilon": "layer_norm_eps"}
_GPT2 = {
    "block_count": "n_layer",
    "attention.head_count": "n_head",
    "embedding_length": "n_embd",
    "feed_forward_length": "n_inner",
    "context_length": "n_positions",
    "attention.layer_norm_epsilon": "layer_norm_epsilon",
}

_ENDS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_ATTENTION = {
    "attn_q": "model.layers.{}.self_attn.q_proj",
    "attn_k": "model.layers.{}.self_attn.k_proj",
    "attn_v": "model.layers.{}.self_attn.v_proj",
    "attn_output": "model.layers.{}.self_attn.o_proj",
}
_QK_NORMS = {
    "attn_q_norm": "model.layers.{}.self_attn.q_norm",
    "attn_k_norm": "model.layers.{}.self_attn.k_norm",
}
_GATED = {
    "ffn_gate": "model.layers.{}.mlp.gate_proj",
    "ffn_up": "model.layers.{}.mlp.up_proj",
    "ffn_down": "model.layers.{}.mlp.down_proj",
}
_PRE_NORMS = {
    "attn_norm": "model.layers.{}.input_layernorm",
    "ffn_norm": "model.layers.{}.post_attention_layernorm",
}
_LLAMA = {**_ENDS, **_ATTENTION, **_GATED, **_PRE_NORMS}


@dataclass(frozen=True)
class Architecture:
    """One row: how to read a GGUF architecture as a family of the Hugging Face layout."""

    family: str
    names: Mapping[str, str]  # GGUF's name, without "blk.N." and ".weight" -> the name there, "{}" for the layer
    keys: Mapping[str, str] = field(default_factory=lambda: _RMS)  # GGUF's key, without the architecture -> key there
    constants: Mapping[str, Any] = field(default_factory=dict)  # what every such model has, stored nowhere
    neighbours: bool = False  # rotary pairs are neighbours: query and key rows are permuted
    gain_plus_one: bool = False  # norms are stored as 1 + w
    in_out: bool = False  # the family stores matrices (in, out)
    by_head: bool = False  # the family fuses q, k, v head by head, the file part by part


ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType(
    {
        "llama": Architecture("llama", _LLAMA, constants={"hidden_act": "silu"}, neighbours=True),
        "qwen2": Architecture("qwen2", _LLAMA, constants={"hidden_act": "silu"}),
        "qwen3": Architecture("qwen3", {**_LLAMA, **_QK_NORMS}, constants={"hidden_act": "silu"}),
        "gemma": Architecture("gemma", _LLAMA, constants={"hidden_act": "gelu_pytorch_tanh"}, gain_plus_one=True),
        "gemma2": Architecture(
            "gemma2",
            {
                **_LLAMA,
                "post_attention_norm": "model.layers.{}.post_attention_layernorm",
                "ffn_norm": "model.layers.{}.pre_feedforward_layernorm",
                "post_ffw_norm": "model.layers.{}.post_feedforward_layernorm",
            },
            {
                **_RMS,
                "attention.sliding_window": "sliding_window",
                "attn_logit_softcapping": "attn_logit_softcapping",
                "final_logit_softcapping": "final_logit_softcapping",
            },
            {"hidden_activation": "gelu_pytorch_tanh"},
            gain_plus_one=True,
        ),
        "olmo2": Architecture(
            "olmo2",
            {
                **_ENDS,
                **_ATTENTION,
                **_QK_NORMS,
                **_GATED,
                "post_attention_norm": "model.layers.{}.post_attention_layernorm",
                "post_ffw_norm": "model.layers.{}.post_feedforward_layernorm",
            },
            constants={"hidden_act": "silu"},
        ),
        "phi2": Architecture(
            "phi",
            {
                "token_embd": "model.embed_tokens",
                "output_norm": "model.final_layernorm",
                "output": "lm_head",
                **_ATTENTION,
                "attn_output": "model.layers.{}.self_attn.dense",
                "attn_norm": "model.layers.{}.input_layernorm",
                "ffn_up": "model.layers.{}.mlp.fc1",
                "ffn_down": "model.layers.{}.mlp.fc2",
            },
            _LAYER,
            {"hidden_act": "gelu_new"},
        ),
        "phi3": Architecture(
            "phi3",
            {
                **_ENDS,
                **_PRE_NORMS,
                "attn_qkv": "model.layers.{}.self_attn.qkv_proj",
                "attn_output": "model.layers.{}.self_attn.o_proj",
                "ffn_up": "model.layers.{}.mlp.gate_up_proj",
                "ffn_down": "model.layers.{}.mlp.down_proj",
            },
            {**_RMS, "attention.sliding_window": "sliding_window"},
            {"hidden_act": "silu"},
        ),
        "gptneox": Architecture(
            "gpt_neox",
            {
                "token_embd": "gpt_neox.embed_in",
                "output_norm": "gpt_neox.final_layer_norm",
                "output": "embed_out",
                "attn_norm": "gpt_neox.layers.{}.input_layernorm",
                "ffn_norm": "gpt_neox.layers.{}.post_attention_layernorm",
                "attn_qkv": "gpt_neox.layers.{}.attention.query_key_value",
                "attn_output": "gpt_neox.layers.{}.attention.dense",
                "ffn_up": "gpt_neox.layers.{}.mlp.dense_h_to_4h",
                "ffn_down": "gpt_neox.layers.{}.mlp.dense_4h_to_h",
            },
            {**_LAYER, "use_parallel_residual": "use_parallel_residual"},
            {"hidden_act": "gelu"},
            by_head=True,
        ),
        "gpt2": Architecture(
            "gpt2",
            {
                "token_embd": "transformer.wte",
                "position_embd": "transformer.wpe",
                "output_norm": "transformer.ln_f",
                "output": "lm_head",
                "attn_norm": "transformer.h.{}.ln_1",
                "ffn_norm": "transformer.h.{}.ln_2",
                "attn_qkv": "transformer.h.{}.attn.c_attn",
                "attn_output": "transformer.h.{}.attn.c_proj",
                "ffn_up": "transformer.h.{}.mlp.c_fc",
                "ffn_down": "transformer.h.{}.mlp.c_proj",
            },
            _GPT2,
            {"activation_function": "gelu_new"},
            in_out=True,
        ),
        "bert": Architecture(
            "bert",
            {
                "token_embd": "bert.embeddings.word_embeddings",
                "position_embd": "bert.embeddings.position_embeddings",
                "token_types": "bert.embeddings.token_type_embeddings",
                "token_embd_norm": "bert.embeddings.LayerNorm",
                "attn_q": "bert.encoder.layer.{}.attention.self.query",
                "attn_k": "bert.encoder.layer.{}.attention.self.key",
                "attn_v": "bert.encoder.layer.{}.attention.self.value",
                "attn_output": "bert.encoder.layer.{}.attention.output.dense",
                "attn_output_norm": "bert.encoder.layer.{}.attention.output.LayerNorm",
                "ffn_up": "bert.encoder.layer.{}.intermediate.dense",
                "ffn_down": "bert.encoder.layer.{}.output.dense",
                "layer_output_norm": "bert.encoder.layer.{}.output.LayerNorm",
            },
            _LAYER,
            {"hidden_act": "gelu", "architectures": ["BertModel"]},
        ),
    }
)
"""Architectures by ``general.architecture``."""

NEUTRAL: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "expert_count": (0,),
        "attention.scale": (0,),
        "attention.clamp_kqv": (0,),
        "attention.max_alibi_bias": (0,),
        "residual_scale": (0, 1),
        "embedding_scale": (0, 1),
        "logit_scale": (0, 1),
    }
)
"""Keys that change the arithmetic in ways kav does not compute, with the values that change nothing."""

UNUSED = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")
"""Tensors that hold settings, not weights."""


def architecture_of(file: GgufFile) -> Architecture:
    """Return the row for a file.

    Raises
    ------
    ModelError
        If the architecture is not known, the file is part of a model, or a key changes its arithmetic.
    """
    values = file.values
    name = values.get("general.architecture")
    if not isinstance(name, str) or name not in ARCHITECTURES:
        known = ", ".join(sorted(ARCHITECTURES))
        raise ModelError(f"general.architecture must be one of {known}, got {str(name)[:60]!r}")
    kind = values.get("general.type", "model")
    if kind != "model":
        raise ModelError(f"general.type of {file.name} must be model, got {str(kind)[:60]!r}", "open the model itself")
    if values.get("split.count", 1) not in (0, 1):
        raise ModelError(
            f"a model must be in one GGUF file, got part of {str(values['split.count'])[:20]}", "merge them"
        )
    for key, neutral in NEUTRAL.items():
        value = values.get(f"{name}.{key}", neutral[0])
        if not isinstance(value, int | float) or value not in neutral:
            raise ModelError(f"{name}.{key} must be {neutral[-1]}, got {str(value)[:40]}", "kav does not compute that")
    return ARCHITECTURES[name]
