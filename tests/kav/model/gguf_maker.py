"""GGUF files for tests, written by hand from the format's description, so that every field can lie.

`rearranged` does to a Hugging Face checkpoint what llama.cpp's converter does; it shares no code with kav.
"""

import struct

import numpy as np

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
SIGNS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}


def text(value):
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(raw)) + raw


def number(kind, value):
    return struct.pack("<" + SIGNS[kind], value)


def typed(value):
    """Type number and bytes of a Python value."""
    if isinstance(value, tuple):  # (type, bytes) as they are
        return value
    if isinstance(value, bool):
        return BOOL, number(BOOL, value)
    if isinstance(value, int):
        return (U32, number(U32, value)) if value >= 0 else (I32, number(I32, value))
    if isinstance(value, float):
        return F32, number(F32, value)
    if isinstance(value, str):
        return STRING, text(value)
    items = value.tolist() if isinstance(value, np.ndarray) else list(value)
    kind = typed(items[0])[0] if items else U32
    kind = I32 if kind == U32 else kind
    body = b"".join(text(item) if kind == STRING else number(kind, item) for item in items)
    return ARRAY, struct.pack("<IQ", kind, len(items)) + body


def key(name, value):
    kind, body = typed(value)
    return text(name) + struct.pack("<I", kind) + body


def place(name, dims, kind, offset):
    """A tensor's entry; dims innermost first."""
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def head(keys, places, *, magic=b"GGUF", version=3, n_tensors=None, n_keys=None):
    counts = (len(places) if n_tensors is None else n_tensors, len(keys) if n_keys is None else n_keys)
    return magic + struct.pack("<IQQ", version, *counts) + b"".join(keys) + b"".join(places)


def padded(raw, alignment=32):
    return raw + bytes(-len(raw) % alignment)


def file(values, tensors, alignment=32):
    """A whole file: values by key, tensors by name as float32 or float16 arrays or (type, shape, bytes)."""
    places, body = [], b""
    for name, array in tensors.items():
        if isinstance(array, tuple):
            kind, shape, raw = array
        else:
            kind = {"float32": 0, "float16": 1}[array.dtype.name]
            shape, raw = array.shape, np.ascontiguousarray(array).tobytes()
        places.append(place(name, shape[::-1], kind, len(body)))
        body = padded(body + raw, alignment)
    return padded(head([key(name, value) for name, value in values.items()], places), alignment) + body


def neighbours(array, n_heads):
    """Rows of each head from half-split order to neighbouring pairs."""
    return array.reshape(n_heads, 2, -1, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


LLAMA = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
NAMES = {
    "llama": LLAMA,
    "qwen2": LLAMA,
    "qwen3": LLAMA,
    "gemma": LLAMA,
    "gemma2": LLAMA
    | {
        "post_attention_layernorm": "post_attention_norm",
        "pre_feedforward_layernorm": "ffn_norm",
        "post_feedforward_layernorm": "post_ffw_norm",
    },
    "olmo2": LLAMA | {"post_attention_layernorm": "post_attention_norm", "post_feedforward_layernorm": "post_ffw_norm"},
    "phi": LLAMA
    | {
        "model.final_layernorm": "output_norm",
        "self_attn.dense": "attn_output",
        "mlp.fc1": "ffn_up",
        "mlp.fc2": "ffn_down",
    },
    "phi3": LLAMA | {"self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"},
    "gpt2": {
        "wte": "token_embd",
        "wpe": "position_embd",
        "ln_f": "output_norm",
        "ln_1": "attn_norm",
        "ln_2": "ffn_norm",
        "attn.c_attn": "attn_qkv",
        "attn.c_proj": "attn_output",
        "mlp.c_fc": "ffn_up",
        "mlp.c_proj": "ffn_down",
    },
    "gpt_neox": {
        "embed_in": "token_embd",
        "final_layer_norm": "output_norm",
        "embed_out": "output",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "attention.query_key_value": "attn_qkv",
        "attention.dense": "attn_output",
        "mlp.dense_h_to_4h": "ffn_up",
        "mlp.dense_4h_to_h": "ffn_down",
    },
    "bert": {
        "embeddings.word_embeddings": "token_embd",
        "embeddings.position_embeddings": "position_embd",
        "embeddings.token_type_embeddings": "token_types",
        "embeddings.LayerNorm": "token_embd_norm",
        "attention.self.query": "attn_q",
        "attention.self.key": "attn_k",
        "attention.self.value": "attn_v",
        "attention.output.dense": "attn_output",
        "attention.output.LayerNorm": "attn_output_norm",
        "intermediate.dense": "ffn_up",
        "output.dense": "ffn_down",
        "output.LayerNorm": "layer_output_norm",
    },
}
ARCHITECTURES = {"gpt_neox": "gptneox", "phi": "phi2"}
KEYS = {
    "num_hidden_layers": "block_count",
    "n_layer": "block_count",
    "num_attention_heads": "attention.head_count",
    "n_head": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "hidden_size": "embedding_length",
    "n_embd": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "max_position_embeddings": "context_length",
    "n_positions": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "layer_norm_eps": "attention.layer_norm_epsilon",
    "layer_norm_epsilon": "attention.layer_norm_epsilon",
    "use_parallel_residual": "use_parallel_residual",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
}


def settings(config):
    """The keys that a converted file has for a config.json."""
    family = config["model_type"]
    name = ARCHITECTURES.get(family, family)
    found = {"general.architecture": name, "general.alignment": 32}
    found |= {f"{name}.{theirs}": config[ours] for ours, theirs in KEYS.items() if config.get(ours) is not None}
    rope = config.get("rope_parameters") or {}
    d_model, n_heads = (
        config.get(a) or config.get(b) for a, b in (("hidden_size", "n_embd"), ("num_attention_heads", "n_head"))
    )
    d_head = config.get("head_dim") or d_model // n_heads
    if config.get("head_dim"):
        found |= {f"{name}.attention.key_length": d_head, f"{name}.attention.value_length": d_head}
    if rope:
        found[f"{name}.rope.freq_base"] = float(rope["rope_theta"])
        found[f"{name}.rope.dimension_count"] = int(d_head * rope.get("partial_rotary_factor", 1.0))
    for ours, theirs in (
        ("factor", "factor"),
        ("original_max_position_embeddings", "original_context_length"),
        ("beta_fast", "yarn_beta_fast"),
        ("beta_slow", "yarn_beta_slow"),
    ):
        if rope.get("rope_type") in ("linear", "yarn") and ours in rope:
            found |= {f"{name}.rope.scaling.type": rope["rope_type"], f"{name}.rope.scaling.{theirs}": rope[ours]}
    if family in ("gemma2", "phi3"):
        found[f"{name}.attention.sliding_window"] = config["sliding_window"]
    return found


def _stem(name, names):
    parts = name.split(".")
    kind = parts.pop()
    layer = next((part for part in parts if part.isdecimal()), None)
    tail = ".".join(parts[parts.index(layer) + 1 :]) if layer else ".".join(parts)
    found = names.get(tail) or next((names[key] for key in names if layer is None and tail.endswith(key)), None)
    return found, kind, layer


def rearranged(config, tensors):
    """A Hugging Face checkpoint's tensors as a converter stores them."""
    family, found = config["model_type"], {}
    n_heads = config.get("num_attention_heads") or config.get("n_head")
    n_kv_heads = config.get("num_key_value_heads", n_heads)
    for name, array in tensors.items():
        stem, kind, layer = _stem(name, NAMES[family])
        if stem is None:
            continue  # heads that are not converted
        if family == "llama" and stem in ("attn_q", "attn_k"):
            array = neighbours(array, n_heads if stem == "attn_q" else n_kv_heads)
        if family in ("gemma", "gemma2") and stem.endswith("norm"):
            array = array + np.float32(1)
        if family == "gpt2" and kind == "weight" and stem in ("attn_qkv", "attn_output", "ffn_up", "ffn_down"):
            array = array.T
        if family == "gpt_neox" and stem == "attn_qkv":
            array = array.reshape(n_heads, 3, -1, *array.shape[1:]).swapaxes(0, 1).reshape(array.shape)
        found[f"blk.{layer}.{stem}.{kind}" if layer else f"{stem}.{kind}"] = np.ascontiguousarray(array)
    return found
