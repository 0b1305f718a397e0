"""From a checkpoint's tensors to `Weights`: what a family's row expects, checked, cut by head and turned over.

Matrices come out in kav's convention: vectors are rows, weights stand on the right. Where the tensors come from does
not matter here: safetensors files and GGUF files both answer by the names and shapes of the Hugging Face layout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array

from kav.arrays import Array, namespace
from kav.errors import Cancelled
from kav.model.config import Block, Config, Dense, Mlp, Norm, Weights
from kav.model.expected import Expected
from kav.model.products import laid
from kav.model.tensors import n_not_finite
from kav.task import Task
from kav.threads import each, n_workers

Put = Callable[[np.ndarray], Array]
"""Brings a host array to the model's device and dtype."""

SoFar = Callable[[Config, Weights], None]
"""Takes config and weights of the model that the layers read so far are."""


@dataclass(frozen=True)
class Reader(Expected):
    """Turns a folder's tensors into `Weights`, as the family's row says."""

    task: Task | None = None
    not_finite: dict[str, int] = field(default_factory=dict)  # tensors read so far: how many NaN or infinite numbers

    def read(self, name: str, *, kept: bool = True) -> np.ndarray:
        """One tensor by its full name, float32; what is not finite in it is counted.

        Raises
        ------
        Cancelled
            If the work is no longer wanted: a layer of a large model takes seconds, so it ends between two tensors.
        """
        if self.task is not None and self.task.cancelled:
            raise Cancelled
        array = self.folder.read(self.stored(name), kept=kept)
        n_bad = n_not_finite(array)
        if n_bad:
            self.not_finite[name] = n_bad
        return array

    def matrix(self, name: str, *, kept: bool = True) -> np.ndarray:
        """A stored matrix as (in, out)."""
        array = self.read(f"{name}.weight", kept=kept)
        return array.T if self.family.transposed else array

    def bias(self, name: str, rule: bool | str) -> np.ndarray | None:
        """A stored bias, None where the rule says that there is none."""
        return self.read(f"{name}.bias") if self.has(rule) else None

    def weights(self, put: Put, so_far: SoFar | None = None) -> tuple[Config, Weights]:
        """All weights on the device, and the config with what only the weights can tell.

        `so_far` is told whenever some more layers are read, but for the last.
        """
        c, names, task = self.config, self.family.names, self.task
        if task is not None:
            task.report(0.0, "embedding")
        W_E = put(self.read(f"{names.embed}.weight"))
        below = {"W_E": W_E, "W_pos": _maybe(self.positions(), put), "norm_embed": self.norm(names.norm_embed, put)}
        blocks: list[Block] = []
        while len(blocks) < c.n_layers:  # as many layers at a time as there are threads
            some = range(len(blocks), min(c.n_layers, len(blocks) + n_workers()))
            blocks += each(lambda layer: self.block(layer, put), some, shared=is_numpy_array(W_E))
            if task is not None:
                for layer in some:
                    task.report((layer + 1) / c.n_layers, f"layer {layer + 1} of {c.n_layers}")
            if so_far is not None and len(blocks) < c.n_layers:
                partial = replace(c, n_layers=len(blocks), has_logits=False)
                so_far(partial, Weights(**below, blocks=tuple(blocks), norm_final=None, W_U=None))
        weights = Weights(**below, blocks=tuple(blocks), **self.head(W_E, put))
        silent = all(block.mlp is None for block in blocks)
        c = replace(c, has_logits=not self.headless)
        return (replace(c, attention_only=True, d_mlp=0) if silent else c), weights

    def positions(self) -> np.ndarray | None:
        """Learned positions; where tokens have types, all are of the first, whose row is added to every position."""
        names = self.family.names
        if not names.positions:
            return None
        table = self.read(f"{names.positions}.weight")
        return table + self.read(f"{names.types}.weight")[0, :] if names.types else table

    def head(self, W_E: Array, put: Put) -> dict[str, Any]:
        """The fields of `Weights` between the last layer and the logits."""
        names = self.family.names
        if self.headless:
            return {"norm_final": None, "W_U": None}
        dense = None
        if names.dense:
            dense = Dense(put(laid(self.matrix(names.dense))), put(self.read(f"{names.dense}.bias")))
        # Turned over as a view: a copy of the largest matrix would cost time and memory and make no product faster.
        rows = W_E if self.config.tied else put(self.read(f"{names.unembed}.weight"))  # (d_vocab, d_model)
        return {
            "norm_final": self.norm(names.norm_final, put),
            "W_U": namespace(rows).matrix_transpose(rows),
            "b_U": put(self.read(self.family.unembed_bias)) if self.family.unembed_bias else None,
            "dense": dense,
        }

    def norm(self, name: str, put: Put) -> Norm | None:
        """A norm's gain, and its bias where the family has one; None for a norm that the family does not have."""
        if not name:
            return None
        return Norm(
            put(self.read(f"{name}.weight") + np.float32(self.family.gain_offset)),
            put(self.read(f"{name}.bias")) if self.config.norm == "layer" else None,
        )

    def heads_norm(self, name: str, put: Put) -> Norm | None:
        """The norm of queries or keys, its gain by head where it is over all heads."""
        if not name:
            return None
        gain = self.read(f"{name}.weight")
        return Norm(put(gain if self.config.qk_norm == "head" else gain.reshape(-1, self.config.d_head)))

    def block(self, layer: int, put: Put) -> Block:
        """One layer; an MLP that writes exactly zero is left out, unless a norm makes something of that."""
        names, family = self.family.names, self.family
        mlp = self.mlp(layer, put)
        out = names.attn_out.format(layer)
        return Block(
            norm1=self.norm(names.norm1.format(layer), put),
            **self.attention_in(layer, put),
            W_O=put(laid(self.matrix(out)).reshape(self.config.n_heads, self.config.d_head, self.config.d_model)),
            b_O=_maybe(self.bias(out, family.out_bias), put),
            norm2=None if mlp is None else self.norm(names.norm2.format(layer), put),
            mlp=mlp,
            norm_Q=self.heads_norm(names.norm_q.format(layer), put),
            norm_K=self.heads_norm(names.norm_k.format(layer), put),
            norm1_out=self.norm(names.norm1_out.format(layer), put),
            norm2_out=self.norm(names.norm2_out.format(layer), put),
        )

    def attention_in(self, layer: int, put: Put) -> dict[str, Any]:
        """W_Q, W_K, W_V split by head, and their biases."""
        names, rule = [name.format(layer) for name in self.family.names.attn_in], self.family.qkv_bias
        kept = self.family.transposed or not self.family.fused  # else `laid` copies each head
        matrices = self._by_head([self.matrix(name, kept=kept) for name in names])  # (d_model, n_heads, d_head) each
        biases = [self.bias(name, rule) for name in names]
        split = [None] * 3 if biases[0] is None else self._by_head([bias for bias in biases if bias is not None])
        found: dict[str, Any] = {}
        for letter, matrix, bias in zip("QKV", matrices, split, strict=True):
            found[f"W_{letter}"] = put(laid(matrix.transpose(1, 0, 2)))  # (n_heads, d_model, d_head)
            found[f"b_{letter}"] = None if bias is None else put(np.ascontiguousarray(bias))
        return found

    def _by_head(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Queries, keys and values with their last axis cut by head, as views: copies would stay beside the file's."""
        c = self.config
        if self.family.fused == "heads":
            heads = arrays[0].reshape(*arrays[0].shape[:-1], c.n_heads, 3, c.d_head)
            return [heads[..., i, :] for i in range(3)]
        if self.family.fused:
            arrays = np.split(arrays[0], [c.n_heads * c.d_head, (c.n_heads + c.n_kv_heads) * c.d_head], axis=-1)
        return [array.reshape(*array.shape[:-1], -1, c.d_head) for array in arrays]

    def mlp(self, layer: int, put: Put) -> Mlp | None:
        """A layer's MLP, None if it writes exactly zero."""
        names, rule = self.family.names, self.family.mlp_bias
        place, gate = names.mlp_in.format(layer), names.mlp_gate.format(layer)
        out = names.mlp_out.format(layer)
        W_out, b_out = self.matrix(out), self.bias(out, rule)
        if not names.norm2_out and not W_out.any() and (b_out is None or not b_out.any()):
            return None
        W_in, d_mlp = self.matrix(place), self.config.d_mlp
        fused = gate == place  # one tensor, gate first
        W_gate = W_in[:, :d_mlp] if fused else self.matrix(gate) if gate else None
        return Mlp(
            W_in=put(laid(W_in[:, d_mlp:] if fused else W_in)),
            W_out=put(laid(W_out)),
            W_gate=None if W_gate is None else put(laid(W_gate)),
            b_in=_maybe(self.bias(place, rule), put),
            b_gate=_maybe(self.bias(gate, rule), put) if gate else None,
            b_out=_maybe(b_out, put),
        )


def _maybe(array: np.ndarray | None, put: Put) -> Array | None:
    return None if array is None else put(array)
