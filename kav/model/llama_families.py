"""Llama and the families that differ from it by a few fields: rows of the table in `kav.model.families`."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from kav.model.family import Family, Names

KEYS = MappingProxyType(
    {
        "n_layers": "num_hidden_layers",
        "n_heads": "num_attention_heads",
        "n_kv_heads": "num_key_value_heads",
        "d_model": "hidden_size",
        "d_head": "head_dim",
        "d_mlp": "intermediate_size",
        "d_vocab": "vocab_size",
        "n_ctx": "max_position_embeddings",
    }
)
OF_LAYER = "model.layers.{}."
LLAMA = Family(
    names=Names(
        embed="model.embed_tokens",
        norm_final="model.norm",
        unembed="lm_head",
        norm1=OF_LAYER + "input_layernorm",
        norm2=OF_LAYER + "post_attention_layernorm",
        attn_in=tuple(OF_LAYER + f"self_attn.{letter}_proj" for letter in "qkv"),
        attn_out=OF_LAYER + "self_attn.o_proj",
        mlp_in=OF_LAYER + "mlp.up_proj",
        mlp_out=OF_LAYER + "mlp.down_proj",
        mlp_gate=OF_LAYER + "mlp.gate_proj",
        prefix="model.",
        ignored=("rotary_emb.inv_freq",),
    ),
    keys=KEYS,
    norm="rms",
    position="rotary",
    norm_eps="rms_norm_eps",
    activation=("hidden_act",),
    qkv_bias="attention_bias",
    out_bias="attention_bias",
    mlp_bias="mlp_bias",
    defaults=MappingProxyType({"rms_norm_eps": 1e-6, "hidden_act": "silu"}),
)
MISTRAL = replace(
    LLAMA,
    qkv_bias=False,
    out_bias=False,
    mlp_bias=False,
    windows="all",
    reads=("sliding_window",),
    defaults=MappingProxyType({**LLAMA.defaults, "sliding_window": 4096}),
)
QWEN2 = replace(MISTRAL, qkv_bias=True, windows="late")
QWEN3 = replace(
    QWEN2,
    names=replace(LLAMA.names, norm_q=OF_LAYER + "self_attn.q_norm", norm_k=OF_LAYER + "self_attn.k_norm"),
    qk_norm="head",
    qkv_bias="attention_bias",
    out_bias="attention_bias",
    defaults=MappingProxyType({**MISTRAL.defaults, "head_dim": 128}),
)
GEMMA = replace(
    LLAMA,
    activation=("hidden_activation", "hidden_act"),
    mlp_bias=False,
    gain_offset=1.0,
    embed_scaled=True,
    tied=True,
    defaults=MappingProxyType({"rms_norm_eps": 1e-6, "hidden_act": "gelu_pytorch_tanh", "head_dim": 256}),
)
GEMMA2 = replace(
    GEMMA,
    names=replace(
        LLAMA.names,
        norm1_out=OF_LAYER + "post_attention_layernorm",
        norm2=OF_LAYER + "pre_feedforward_layernorm",
        norm2_out=OF_LAYER + "post_feedforward_layernorm",
    ),
    norm_place="around",
    windows="even",
    scale_key="query_pre_attn_scalar",
    defaults=MappingProxyType(
        {
            **GEMMA.defaults,
            "sliding_window": 4096,
            "query_pre_attn_scalar": 256,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
        }
    ),
    reads=("sliding_window", "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping"),
)
OLMO2 = replace(
    LLAMA,
    names=replace(
        QWEN3.names,
        norm1="",
        norm2="",
        norm1_out=OF_LAYER + "post_attention_layernorm",
        norm2_out=OF_LAYER + "post_feedforward_layernorm",
    ),
    norm_place="output",
    qk_norm="width",
    mlp_bias=False,
    defaults=MappingProxyType({"rms_norm_eps": 1e-5, "hidden_act": "silu"}),
)
PHI3 = replace(
    MISTRAL,
    names=replace(
        LLAMA.names,
        attn_in=(OF_LAYER + "self_attn.qkv_proj",),
        mlp_in=OF_LAYER + "mlp.gate_up_proj",
        mlp_gate=OF_LAYER + "mlp.gate_up_proj",
    ),
    fused="blocks",
    defaults=MappingProxyType({"rms_norm_eps": 1e-5, "hidden_act": "silu"}),
)
