"""Small random checkpoints of families, and what transformers says about them; see README.md beside this file."""

import sys
from pathlib import Path

import numpy as np
import torch
import transformers as tf

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 64,
    "max_position_embeddings": 64,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
GROUPED = {**SIZES, "num_key_value_heads": 2}


def rope(kind, **more):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 10000.0, **more}}


MODELS = {
    "gpt_neo": lambda: tf.GPTNeoForCausalLM(
        tf.GPTNeoConfig(
            **{
                key: SIZES[key] for key in ("hidden_size", "vocab_size", "max_position_embeddings", "intermediate_size")
            },
            num_layers=2,
            num_heads=4,
            attention_types=[[["global", "local"], 1]],
            window_size=6,
            bos_token_id=0,
            eos_token_id=0,
        )
    ),
    "gpt_neox_sequential": lambda: tf.GPTNeoXForCausalLM(
        tf.GPTNeoXConfig(
            **SIZES, use_parallel_residual=False, hidden_act="gelu_new", **rope("default"), attention_bias=False
        )
    ),
    "mistral": lambda: tf.MistralForCausalLM(tf.MistralConfig(**GROUPED, sliding_window=6, head_dim=12)),
    "qwen2_sliding": lambda: tf.Qwen2ForCausalLM(
        tf.Qwen2Config(**GROUPED, use_sliding_window=True, sliding_window=5, max_window_layers=1)
    ),
    "phi": lambda: tf.PhiForCausalLM(tf.PhiConfig(**GROUPED)),
    "phi3": lambda: tf.Phi3ForCausalLM(tf.Phi3Config(**GROUPED, sliding_window=7)),
    "olmo2": lambda: tf.Olmo2ForCausalLM(tf.Olmo2Config(**GROUPED)),
    "llama_linear": lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**GROUPED, **rope("linear", factor=4.0))),
    "llama_dynamic": lambda: tf.LlamaForCausalLM(
        tf.LlamaConfig(**{**GROUPED, "max_position_embeddings": 12}, **rope("dynamic", factor=4.0))
    ),
    "llama_yarn": lambda: tf.LlamaForCausalLM(
        tf.LlamaConfig(
            **GROUPED,
            head_dim=16,
            **rope("yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=2.0, beta_slow=0.25),
        )
    ),
    "gpt2_scaled": lambda: tf.GPT2LMHeadModel(
        tf.GPT2Config(
            n_embd=32,
            n_layer=3,
            n_head=4,
            vocab_size=64,
            n_positions=64,
            scale_attn_weights=False,
            scale_attn_by_inverse_layer_idx=True,
            bos_token_id=0,
            eos_token_id=0,
        )
    ),
}


def randomise(model):
    """Draw all weights anew: gains around 1, biases around 0, so that none can be left out unnoticed."""
    for name, weight in model.named_parameters():
        with torch.no_grad():
            if weight.ndim > 1:
                weight.normal_(0, 1.5 * weight.shape[-1] ** -0.5)
            else:
                weight.normal_(0, 0.3).add_(1.0 if name.endswith("weight") else 0.0)


def main(folder):
    for seed, (name, make) in enumerate(MODELS.items()):
        torch.manual_seed(seed)
        model = make().eval()
        model.set_attn_implementation("eager")
        randomise(model)
        ids = torch.randint(0, SIZES["vocab_size"], (1, 20))
        with torch.no_grad():
            out = model(ids, output_attentions=True, output_hidden_states=True)
        model.save_pretrained(folder / name)
        (folder / name / "generation_config.json").unlink(missing_ok=True)
        np.savez_compressed(
            folder / name / "reference.npz",
            ids=ids[0].numpy(),
            logits=out.logits[0].numpy(),
            attentions=torch.stack(out.attentions)[:, 0].numpy(),
            hidden_states=torch.stack(out.hidden_states)[:, 0].numpy(),
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
