"""What differs between model families: one row per family, with the arithmetic they share written once elsewhere.

A new family with the same arithmetic is one more row of `FAMILIES`; nothing else knows families by name.
`kav.model.family_config` and `kav.model.weights` read the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from kav.model.family import Family, Names

_KEYS = MappingProxyType(
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
_OF_LAYER = "model.layers.{}."
_LLAMA = Family(
    names=Names(
        embed="model.embed_tokens",
        norm_final="model.norm",
        unembed="lm_head",
        norm1=_OF_LAYER + "input_layernorm",
        norm2=_OF_LAYER + "post_attention_layernorm",
        attn_in=tuple(_OF_LAYER + f"self_attn.{letter}_proj" for letter in "qkv"),
        attn_out=_OF_LAYER + "self_attn.o_proj",
        mlp_in=_OF_LAYER + "mlp.up_proj",
        mlp_out=_OF_LAYER + "mlp.down_proj",
        mlp_gate=_OF_LAYER + "mlp.gate_proj",
        prefix="model.",
        ignored=("rotary_emb.inv_freq",),
    ),
    keys=_KEYS,
    norm="rms",
    position="rotary",
    norm_eps="rms_norm_eps",
    activation=("hidden_act",),
    qkv_bias="attention_bias",
    out_bias="attention_bias",
    mlp_bias="mlp_bias",
    defaults=MappingProxyType({"rms_norm_eps": 1e-6, "hidden_act": "silu"}),
)
_MISTRAL = replace(
    _LLAMA,
    qkv_bias=False,
    out_bias=False,
    mlp_bias=False,
    windows="all",
    reads=("sliding_window",),
    defaults=MappingProxyType({**_LLAMA.defaults, "sliding_window": 4096}),
)
_QWEN2 = replace(_MISTRAL, qkv_bias=True, windows="late")
_QWEN3 = replace(
    _QWEN2,
    names=replace(_LLAMA.names, norm_q=_OF_LAYER + "self_attn.q_norm", norm_k=_OF_LAYER + "self_attn.k_norm"),
    qk_norm="head",
    qkv_bias="attention_bias",
    out_bias="attention_bias",
    defaults=MappingProxyType({**_MISTRAL.defaults, "head_dim": 128}),
)
_GEMMA = replace(
    _LLAMA,
    activation=("hidden_activation", "hidden_act"),
    mlp_bias=False,
    gain_offset=1.0,
    embed_scaled=True,
    tied=True,
    defaults=MappingProxyType({"rms_norm_eps": 1e-6, "hidden_act": "gelu_pytorch_tanh", "head_dim": 256}),
)
_GEMMA2 = replace(
    _GEMMA,
    names=replace(
        _LLAMA.names,
        norm1_out=_OF_LAYER + "post_attention_layernorm",
        norm2=_OF_LAYER + "pre_feedforward_layernorm",
        norm2_out=_OF_LAYER + "post_feedforward_layernorm",
    ),
    norm_place="around",
    windows="even",
    scale_key="query_pre_attn_scalar",
    defaults=MappingProxyType(
        {
            **_GEMMA.defaults,
            "sliding_window": 4096,
            "query_pre_attn_scalar": 256,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
        }
    ),
    reads=("sliding_window", "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping"),
)
_OLMO2 = replace(
    _LLAMA,
    names=replace(
        _QWEN3.names,
        norm1="",
        norm2="",
        norm1_out=_OF_LAYER + "post_attention_layernorm",
        norm2_out=_OF_LAYER + "post_feedforward_layernorm",
    ),
    norm_place="output",
    qk_norm="width",
    mlp_bias=False,
    defaults=MappingProxyType({"rms_norm_eps": 1e-5, "hidden_act": "silu"}),
)
_PHI = Family(
    names=Names(
        embed="model.embed_tokens",
        norm_final="model.final_layernorm",
        unembed="lm_head",
        norm1=_OF_LAYER + "input_layernorm",
        norm2=_OF_LAYER + "input_layernorm",
        attn_in=_LLAMA.names.attn_in,
        attn_out=_OF_LAYER + "self_attn.dense",
        mlp_in=_OF_LAYER + "mlp.fc1",
        mlp_out=_OF_LAYER + "mlp.fc2",
        prefix="model.",
        ignored=("rotary_emb.inv_freq",),
    ),
    keys=_KEYS,
    norm="layer",
    position="rotary",
    norm_eps="layer_norm_eps",
    activation=("hidden_act",),
    qkv_bias=True,
    out_bias=True,
    mlp_bias=True,
    unembed_bias="lm_head.bias",
    parallel=True,
    rotary_share=0.5,
    defaults=MappingProxyType({"layer_norm_eps": 1e-5, "hidden_act": "gelu_new"}),
    refused=(("qk_layernorm", True),),
)
_PHI3 = replace(
    _MISTRAL,
    names=replace(
        _LLAMA.names,
        attn_in=(_OF_LAYER + "self_attn.qkv_proj",),
        mlp_in=_OF_LAYER + "mlp.gate_up_proj",
        mlp_gate=_OF_LAYER + "mlp.gate_up_proj",
    ),
    fused="blocks",
    defaults=MappingProxyType({"rms_norm_eps": 1e-5, "hidden_act": "silu"}),
)
_GPT2 = Family(
    names=Names(
        embed="transformer.wte",
        norm_final="transformer.ln_f",
        unembed="lm_head",
        norm1="transformer.h.{}.ln_1",
        norm2="transformer.h.{}.ln_2",
        attn_in=("transformer.h.{}.attn.c_attn",),
        attn_out="transformer.h.{}.attn.c_proj",
        mlp_in="transformer.h.{}.mlp.c_fc",
        mlp_out="transformer.h.{}.mlp.c_proj",
        positions="transformer.wpe",
        prefix="transformer.",
        ignored=(".attn.bias", ".attn.masked_bias", ".attn.attention.bias", ".attn.attention.masked_bias"),
    ),
    keys=MappingProxyType(
        {
            "n_layers": "n_layer",
            "n_heads": "n_head",
            "d_model": "n_embd",
            "d_mlp": "n_inner",
            "d_vocab": "vocab_size",
            "n_ctx": "n_positions",
        }
    ),
    norm="layer",
    position="learned",
    norm_eps="layer_norm_epsilon",
    activation=("activation_function",),
    transposed=False,
    fused="blocks",
    qkv_bias=True,
    out_bias=True,
    mlp_bias=True,
    tied=True,
    defaults=MappingProxyType(
        {"layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "scale_attn_weights": True}
    ),
    scale_rule="scale_attn_weights",
    flattened="scale_attn_by_inverse_layer_idx",
)
_GPT_NEO = replace(
    _GPT2,
    names=replace(
        _GPT2.names,
        attn_in=tuple(f"transformer.h.{{}}.attn.attention.{letter}_proj" for letter in "qkv"),
        attn_out="transformer.h.{}.attn.attention.out_proj",
    ),
    keys=MappingProxyType({**_KEYS, "n_layers": "num_layers", "n_heads": "num_heads"}),
    transposed=True,
    fused="",
    qkv_bias=False,
    windows="types",
    window="window_size",
    scale=1.0,
    scale_rule=True,
    flattened=False,
    defaults=MappingProxyType(
        {**_GPT2.defaults, "window_size": 256, "attention_types": [[["global", "local"], 12]], "num_layers": 24}
    ),
)
_GPT_NEOX = Family(
    names=Names(
        embed="gpt_neox.embed_in",
        norm_final="gpt_neox.final_layer_norm",
        unembed="embed_out",
        norm1="gpt_neox.layers.{}.input_layernorm",
        norm2="gpt_neox.layers.{}.post_attention_layernorm",
        attn_in=("gpt_neox.layers.{}.attention.query_key_value",),
        attn_out="gpt_neox.layers.{}.attention.dense",
        mlp_in="gpt_neox.layers.{}.mlp.dense_h_to_4h",
        mlp_out="gpt_neox.layers.{}.mlp.dense_4h_to_h",
        prefix="gpt_neox.",
        ignored=(".attention.bias", ".attention.masked_bias", "rotary_emb.inv_freq"),
    ),
    keys=_KEYS,
    norm="layer",
    position="rotary",
    norm_eps="layer_norm_eps",
    activation=("hidden_act",),
    fused="heads",
    qkv_bias="attention_bias",
    out_bias="attention_bias",
    mlp_bias=True,
    parallel="use_parallel_residual",
    rotary_share=0.25,
    defaults=MappingProxyType(
        {"layer_norm_eps": 1e-5, "hidden_act": "gelu", "attention_bias": True, "use_parallel_residual": True}
    ),
)
_OF_BERT = "bert.encoder.layer.{}."
_BERT = Family(
    names=Names(
        embed="bert.embeddings.word_embeddings",
        norm_final="cls.predictions.transform.LayerNorm",
        unembed="cls.predictions.decoder",
        norm1_out=_OF_BERT + "attention.output.LayerNorm",
        norm2_out=_OF_BERT + "output.LayerNorm",
        attn_in=tuple(_OF_BERT + f"attention.self.{word}" for word in ("query", "key", "value")),
        attn_out=_OF_BERT + "attention.output.dense",
        mlp_in=_OF_BERT + "intermediate.dense",
        mlp_out=_OF_BERT + "output.dense",
        norm_embed="bert.embeddings.LayerNorm",
        positions="bert.embeddings.position_embeddings",
        types="bert.embeddings.token_type_embeddings",
        dense="cls.predictions.transform.dense",
        prefix="bert.",
        ignored=(
            "embeddings.position_ids",
            "pooler.dense.weight",
            "pooler.dense.bias",
            "cls.seq_relationship.weight",
            "cls.seq_relationship.bias",
            "cls.predictions.decoder.bias",
        ),
    ),
    keys=_KEYS,
    norm="layer",
    position="learned",
    norm_eps="layer_norm_eps",
    activation=("hidden_act",),
    norm_place="stream",
    qkv_bias=True,
    out_bias=True,
    mlp_bias=True,
    unembed_bias="cls.predictions.bias",
    causal=False,
    tied=True,
    headless=True,
    defaults=MappingProxyType({"layer_norm_eps": 1e-12, "hidden_act": "gelu"}),
    refused=(("is_decoder", True), ("add_cross_attention", True)),
)

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "bert": _BERT,
        "gemma": _GEMMA,
        "gemma2": _GEMMA2,
        "gpt2": _GPT2,
        "gpt_neo": _GPT_NEO,
        "gpt_neox": _GPT_NEOX,
        "llama": _LLAMA,
        "mistral": _MISTRAL,
        "olmo2": _OLMO2,
        "phi": _PHI,
        "phi3": _PHI3,
        "qwen2": _QWEN2,
        "qwen3": _QWEN3,
    }
)
"""Families by the model_type of config.json."""
