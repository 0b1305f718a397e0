"""What differs between model families: one row per family, with the arithmetic they share written once elsewhere.

A new family with the same arithmetic is one more row of `FAMILIES`; nothing else knows families by name.
`kav.model.family_config` and `kav.model.weights` read the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from kav.model.family import Family, Names
from kav.model.llama_families import (
    GEMMA,
    GEMMA2,
    KEYS,
    LLAMA,
    MISTRAL,
    OF_LAYER,
    OLMO2,
    PHI3,
    QWEN2,
    QWEN3,
)

_PHI = Family(
    names=Names(
        embed="model.embed_tokens",
        norm_final="model.final_layernorm",
        unembed="lm_head",
        norm1=OF_LAYER + "input_layernorm",
        norm2=OF_LAYER + "input_layernorm",
        attn_in=LLAMA.names.attn_in,
        attn_out=OF_LAYER + "self_attn.dense",
        mlp_in=OF_LAYER + "mlp.fc1",
        mlp_out=OF_LAYER + "mlp.fc2",
        prefix="model.",
        ignored=("rotary_emb.inv_freq",),
    ),
    keys=KEYS,
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
    keys=MappingProxyType({**KEYS, "n_layers": "num_layers", "n_heads": "num_heads"}),
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
    keys=KEYS,
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
    keys=KEYS,
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
        "gemma": GEMMA,
        "gemma2": GEMMA2,
        "gpt2": _GPT2,
        "gpt_neo": _GPT_NEO,
        "gpt_neox": _GPT_NEOX,
        "llama": LLAMA,
        "mistral": MISTRAL,
        "olmo2": OLMO2,
        "phi": _PHI,
        "phi3": PHI3,
        "qwen2": QWEN2,
        "qwen3": QWEN3,
    }
)
"""Families by the model_type of config.json."""
