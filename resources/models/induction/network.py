"""The model as torch trains it: two layers of attention, rotary positions, optionally a small MLP, and its export.

Words and shapes are those of kav: vectors are rows, ``q = x @ W_Q + b_Q``. The exported folder is a Qwen2 checkpoint,
which has exactly this arithmetic; without MLP its width is 1 and its weights are zero.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

D_MODEL, D_HEAD, N_HEADS, N_LAYERS, N_CTX = 192, 48, 4, 2, 256
ROTARY_BASE = 500.0
NORM_EPS = 1e-5
INIT_STD = 0.04  # of the matrices inside the layers
UNEMBED_STD = 0.02  # the output matrix starts as a small copy of the embedding, whose std is 1
PREVIOUS_START = 4.0  # size of the biases with which head 0.0 starts as a kernel of distance 1
TINY = 1e-30  # smallest probability whose logarithm is taken
CHUNK = 256  # positions whose logits are held at once


class Block(nn.Module):
    """One layer; all heads side by side in each matrix."""

    def __init__(self, d_mlp: int) -> None:
        super().__init__()
        self.gain1 = nn.Parameter(torch.ones(D_MODEL))
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            setattr(self, name, nn.Parameter(torch.randn(D_MODEL, D_MODEL) * INIT_STD))
        self.b_Q = nn.Parameter(torch.zeros(N_HEADS * D_HEAD))
        self.b_K = nn.Parameter(torch.zeros(N_HEADS * D_HEAD))
        self.n_active = N_HEADS  # heads from here on are silenced
        self.d_mlp = d_mlp
        if d_mlp:
            self.gain2 = nn.Parameter(torch.ones(D_MODEL))
            self.W_gate = nn.Parameter(torch.randn(D_MODEL, d_mlp) * D_MODEL**-0.5)
            self.W_in = nn.Parameter(torch.randn(D_MODEL, d_mlp) * D_MODEL**-0.5)
            self.W_out = nn.Parameter(torch.zeros(d_mlp, D_MODEL))  # starts as if it were not there

    def forward(self, resid: Tensor, table: tuple[Tensor, Tensor]) -> Tensor:
        """Return the stream after this layer, (n_rows, n_tokens, d_model)."""
        x = rms_norm(resid, self.gain1)
        q, k, v = (
            (x @ W if b is None else x @ W + b).unflatten(-1, (N_HEADS, D_HEAD)).transpose(1, 2)
            for W, b in ((self.W_Q, self.b_Q), (self.W_K, self.b_K), (self.W_V, None))
        )  # (n_rows, n_heads, n_tokens, d_head)
        z = functional.scaled_dot_product_attention(rotate(q, table), rotate(k, table), v, is_causal=True)
        z = z.transpose(1, 2)  # (n_rows, n_tokens, n_heads, d_head)
        if self.n_active < N_HEADS:
            z = z * (torch.arange(N_HEADS) < self.n_active)[:, None]
        resid = resid + z.flatten(-2) @ self.W_O
        if not self.d_mlp:
            return resid
        x = rms_norm(resid, self.gain2)
        return resid + (functional.silu(x @ self.W_gate) * (x @ self.W_in)) @ self.W_out


class Network(nn.Module):
    """Embedding, two layers, final norm, output matrix."""

    def __init__(self, d_vocab: int, d_mlp: int = 0) -> None:
        super().__init__()
        self.d_mlp = d_mlp
        self.W_E = nn.Parameter(torch.randn(d_vocab, D_MODEL))
        self.blocks = nn.ModuleList(Block(d_mlp) for _ in range(N_LAYERS))
        self.gain_final = nn.Parameter(torch.ones(D_MODEL))
        self.W_U = nn.Parameter(self.W_E.detach() * UNEMBED_STD)  # (d_vocab, d_model)
        start_previous_token(self.blocks[0])

    def forward(self, ids: Tensor) -> Tensor:
        """Return the normalised final stream, (n_rows, n_tokens, d_model)."""
        resid = functional.embedding(ids, self.W_E)
        table = rotary_table(ids.shape[1])
        for block in self.blocks:
            resid = block(resid, table)
        return rms_norm(resid, self.gain_final)

    def loss(self, ids: Tensor, weights: Tensor) -> Tensor:
        """Return the weighted mean loss in nats of predicting ids[:, 1:]; positions of weight 0 cost nothing."""
        x = self(ids[:, :-1])
        counted = weights > 0
        return WeightedLoss.apply(x[counted], self.W_U, ids[:, 1:][counted], weights[counted] / weights.sum())

    @torch.no_grad()
    def export(self, folder: Path) -> None:
        """Write config.json and model.safetensors (float16).

        The output matrix is centred over the vocabulary. No probability changes, for all logits of a prediction move
        together; but what all tokens share, most of the matrix after training, is no longer read as copying.
        """
        from safetensors.torch import save_file

        tensors = {
            "model.embed_tokens.weight": self.W_E,
            "lm_head.weight": self.W_U - self.W_U.mean(dim=0),
            "model.norm.weight": self.gain_final,
        }
        for layer, block in enumerate(self.blocks):
            tensors |= {f"model.layers.{layer}.{name}": tensor for name, tensor in _stored(block).items()}
        folder.mkdir(parents=True, exist_ok=True)
        half = {name: tensor.detach().to(torch.float16).contiguous().clone() for name, tensor in tensors.items()}
        save_file(half, str(folder / "model.safetensors"), metadata={"format": "pt"})
        config = _config(self.W_E.shape[0], self.d_mlp)
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")

    @torch.no_grad()
    def load(self, folder: Path) -> None:
        """Take over the weights of an exported folder; an MLP that it has not keeps its start."""
        from safetensors.torch import load_file

        found = load_file(str(folder / "model.safetensors"))
        self.W_E.copy_(found["model.embed_tokens.weight"])
        self.W_U.copy_(found["lm_head.weight"])
        self.gain_final.copy_(found["model.norm.weight"])
        for layer, block in enumerate(self.blocks):
            for name, tensor in _stored(block).items():
                source = found[f"model.layers.{layer}.{name}"]
                if source.shape == tensor.shape and not ("mlp" in name and source.shape[0] == 1):
                    tensor.copy_(source)  # a transposed view writes through to its parameter


def _stored(block: Block) -> dict[str, Tensor]:
    """A layer's tensors under the checkpoint's names, matrices as (out, in) views."""
    named = {
        "input_layernorm.weight": block.gain1,
        "self_attn.q_proj.weight": block.W_Q.T,
        "self_attn.k_proj.weight": block.W_K.T,
        "self_attn.v_proj.weight": block.W_V.T,
        "self_attn.o_proj.weight": block.W_O.T,
        "self_attn.q_proj.bias": block.b_Q,
        "self_attn.k_proj.bias": block.b_K,
        "self_attn.v_proj.bias": torch.zeros(N_HEADS * D_HEAD),
    }
    gain2, W_gate, W_in, W_out = (
        (block.gain2, block.W_gate, block.W_in, block.W_out)
        if block.d_mlp
        else (torch.ones(D_MODEL), torch.zeros(D_MODEL, 1), torch.zeros(D_MODEL, 1), torch.zeros(1, D_MODEL))
    )
    return named | {
        "post_attention_layernorm.weight": gain2,
        "mlp.gate_proj.weight": W_gate.T,
        "mlp.up_proj.weight": W_in.T,
        "mlp.down_proj.weight": W_out.T,
    }


def _config(d_vocab: int, d_mlp: int) -> dict[str, object]:
    return {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "hidden_size": D_MODEL,
        "num_hidden_layers": N_LAYERS,
        "num_attention_heads": N_HEADS,
        "num_key_value_heads": N_HEADS,
        "head_dim": D_HEAD,
        "intermediate_size": d_mlp or 1,
        "vocab_size": d_vocab,
        "max_position_embeddings": N_CTX,
        "rope_theta": ROTARY_BASE,
        "rope_parameters": {"rope_type": "default", "rope_theta": ROTARY_BASE},
        "rms_norm_eps": NORM_EPS,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "attention_dropout": 0.0,
        "use_sliding_window": False,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "initializer_range": INIT_STD,
        "torch_dtype": "float16",
        "kav": {"attention_only": d_mlp == 0, "prepend_bos": True},
    }


def rms_norm(x: Tensor, gain: Tensor) -> Tensor:
    """Return ``x / rms(x) * gain``."""
    return functional.rms_norm(x, (D_MODEL,), gain, NORM_EPS)


def rotary_table(n_tokens: int) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of every position's angles, each (n_tokens, d_head / 2)."""
    angles = torch.arange(n_tokens)[:, None] * frequencies()
    return torch.cos(angles), torch.sin(angles)


def frequencies() -> Tensor:
    """Return the angle per position of each pair of coordinates, (d_head / 2,)."""
    return ROTARY_BASE ** (-torch.arange(0, D_HEAD, 2) / D_HEAD)


def rotate(x: Tensor, table: tuple[Tensor, Tensor]) -> Tensor:
    """Return x with pair (i, i + d_head / 2) turned by its position's angle."""
    first, second = x.chunk(2, dim=-1)
    cos, sin = table
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@torch.no_grad()
def start_previous_token(block: Block) -> None:
    """Set the biases of head 0 so that, before any training, they alone peak one token back.

    Every pair of b_K points along its first axis, and of b_Q one step behind: the score of query i and key j is
    ``c**2 sum_f cos(f (i - j - 1))``, largest at j = i - 1.
    """
    half = D_HEAD // 2
    block.b_K[:half] = PREVIOUS_START
    block.b_Q[:half] = PREVIOUS_START * torch.cos(frequencies())
    block.b_Q[half:D_HEAD] = -PREVIOUS_START * torch.sin(frequencies())


class WeightedLoss(torch.autograd.Function):
    """Weighted cross-entropy of ``x @ W_U.T`` whose gradients are made in the forward pass, chunk by chunk.

    All logits at once would be the largest array of the whole training; products are in bfloat16, sums in float32.
    """

    @staticmethod
    def forward(ctx: object, x: Tensor, W_U: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Return ``-sum_i weights_i * log softmax(logits_i)[target_i]``."""
        half_x, half_W = x.to(torch.bfloat16), W_U.to(torch.bfloat16)
        total = torch.zeros(())
        grad_x, grad_W = torch.empty_like(x), torch.zeros_like(W_U)
        for start in range(0, len(x), CHUNK):
            part = slice(start, start + CHUNK)
            chosen = targets[part, None]
            probs = torch.softmax(half_x[part] @ half_W.T, dim=-1, dtype=torch.float32)  # (chunk, d_vocab)
            total -= (probs.gather(1, chosen)[:, 0].clamp_min(TINY).log() * weights[part]).sum()
            probs.scatter_add_(1, chosen, torch.full((len(probs), 1), -1.0))
            grad = probs.mul_(weights[part, None]).to(torch.bfloat16)
            grad_x[part] = (grad @ half_W).float()
            grad_W += grad.T @ half_x[part]
        ctx.save_for_backward(grad_x, grad_W)
        return total

    @staticmethod
    def backward(ctx: object, upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients made in the forward pass."""
        grad_x, grad_W = ctx.saved_tensors
        return grad_x * upstream, grad_W * upstream, None, None


def mean_loss(network: Network, ids: Tensor) -> float:
    """Return the mean loss over rows of ids, in nats per token."""
    with torch.no_grad():
        losses = [float(network.loss(row, torch.ones(row.shape[0], row.shape[1] - 1))) for row in ids.split(8)]
    return sum(losses) / max(1, math.ceil(len(ids) / 8))
