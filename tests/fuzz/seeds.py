"""Whole, small models made by code: what the mutators spoil, one field at a time."""

import json
import random
from pathlib import Path

import numpy as np

from tests.kav.model import gguf_maker as made

GPT2 = Path(__file__).resolve().parents[1] / "data" / "tiny" / "gpt2"
N_LAYERS, N_HEADS, N_KV, D_MODEL, D_MLP, D_VOCAB, N_CTX = 2, 4, 2, 32, 32, 16, 16


def config():
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": N_LAYERS,
        "num_attention_heads": N_HEADS,
        "num_key_value_heads": N_KV,
        "hidden_size": D_MODEL,
        "intermediate_size": D_MLP,
        "vocab_size": D_VOCAB,
        "max_position_embeddings": N_CTX,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "bos_token_id": 1,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        "head_dim": 8,
        "sliding_window": None,
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 10000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8,
        },
    }


def tensors():
    rng = np.random.default_rng(0)
    d_kv = N_KV * D_MODEL // N_HEADS
    shapes = {"model.embed_tokens": (D_VOCAB, D_MODEL), "model.norm": (D_MODEL,), "lm_head": (D_VOCAB, D_MODEL)}
    for layer in range(N_LAYERS):
        for name, shape in (
            ("input_layernorm", (D_MODEL,)),
            ("post_attention_layernorm", (D_MODEL,)),
            ("self_attn.q_proj", (D_MODEL, D_MODEL)),
            ("self_attn.k_proj", (d_kv, D_MODEL)),
            ("self_attn.v_proj", (d_kv, D_MODEL)),
            ("self_attn.o_proj", (D_MODEL, D_MODEL)),
            ("mlp.gate_proj", (D_MLP, D_MODEL)),
            ("mlp.up_proj", (D_MLP, D_MODEL)),
            ("mlp.down_proj", (D_MODEL, D_MLP)),
        ):
            shapes[f"model.layers.{layer}.{name}"] = shape
    return {f"{name}.weight": rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def tokenizer():
    vocab = {"<unk>": 0, "<s>": 1} | {letter: number for number, letter in enumerate("abcdefghi Ġ", start=2)}
    vocab |= {"ab": 13, "abc": 14, "de": 15}
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": [
            {"id": 1, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": True}
        ],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "\\p{N}+| ?\\p{L}+"}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        ]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": vocab, "merges": [["a", "b"], ["ab", "c"], ["d", "e"]],
        },
    }  # fmt: skip


def lists():
    """A vocabulary of 320 entries and its merges, as GPT-2's older files hold them."""
    model = json.loads((GPT2 / "tokenizer.json").read_text("utf-8"))["model"]
    return model["vocab"], [" ".join(pair) for pair in model["merges"]]


def tokenizer_config():
    """Settings of an older tokenizer, with a token beside its vocabulary."""
    return {"add_prefix_space": False, "added_tokens_decoder": {"319": {"content": "<y>", "special": True}}}


def safetensors(arrays):
    """Header as a dictionary, and body."""
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, array in arrays.items():
        start = len(body)
        body += array.tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [start, len(body)]}
    return header, body


def safetensors_bytes(header, body, n_header=None):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(raw) if n_header is None else n_header).to_bytes(8, "little") + raw + body


def gguf(seed):
    """Keys and tensors of a GGUF file as lists that can be spoilt; one of three kinds of vocabulary."""
    words = [
        ("tokenizer.ggml.tokens", ["<unk>", "<s>", *"abcdefghi", "▁", "ab", "abc", "de", "<0x0A>"]),
        ("tokenizer.ggml.token_type", [2, 3, *[1] * 13, 6]),
        ("tokenizer.ggml.scores", [0.0] * 11 + [-9.0, -1.0, -2.0, -3.0, 0.0]),
        ("tokenizer.ggml.bos_token_id", 1),
        ("tokenizer.ggml.unknown_token_id", 0),
        ("tokenizer.ggml.cls_token_id", 1),
        ("tokenizer.ggml.seperator_token_id", 1),
        ("tokenizer.ggml.add_bos_token", True),
        ("tokenizer.ggml.merges", ["a b", "ab c", "d e"]),
        ("tokenizer.ggml.pre", "llama-bpe"),
    ]
    kind = random.Random(seed).choice(["gpt2", "llama", "bert", "t5"])
    settings = made.settings(config() | {"rope_parameters": {"rope_theta": 10000.0}})
    keys = [*settings.items(), ("tokenizer.ggml.model", kind), *words]
    keys += [("general.name", "seed"), ("tokenizer.chat_template", "{{ messages }}"), ("extra.nested", [1, 2, 3])]
    arrays = made.rearranged(config(), tensors())
    rng, stored = np.random.default_rng(1), {}
    for number, (name, array) in enumerate(arrays.items()):
        if array.ndim == 2 and number % 3 == 1:  # some blocks of Q8_0, some of Q4_K (rows of 256 do not fit: F16)
            scale = np.float16(0.01).tobytes()
            blocks = array.size // 32
            body = b"".join(scale + rng.integers(0, 256, 32, dtype=np.uint8).tobytes() for _ in range(blocks))
            stored[name] = (8, array.shape, body)
        elif array.ndim == 2 and number % 3 == 2:
            stored[name] = (1, array.shape, array.astype(np.float16).tobytes())
        else:
            stored[name] = (0, array.shape, array.tobytes())
    return keys, stored
