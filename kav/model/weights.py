"""From a checkpoint's tensors to `Weights`: what a family's row expects, checked, cut by head and turned over.

Matrices come out in kav's convention: vectors are rows, weights stand on the right. Where the tensors come from does
not matter here: safetensors files and GGUF files both answer by the names and shapes of the Hugging Face layout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from array_api_compat import is_numpy_array

from kav.arrays import Array, namespace
from kav.errors import Cancelled, ModelError, NoOutputMatrixError
from kav.model.config import Block, Config, Dense, Mlp, Norm, Weights
from kav.model.family import Family
from kav.model.family_config import Raw, holds
from kav.model.products import laid
from kav.model.tensors import n_not_finite
from kav.task import Task
from kav.threads import each, n_workers

Put = Callable[[np.ndarray], Array]
"""Brings a host array to the model's device and dtype."""


class Tensors(Protocol):
    """Named tensors that can be read one by one: `kav.model.tensors.Folder` or `kav.model.gguf.GgufTensors`."""

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors."""

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor, without reading it."""

    def read(self, name: str, *, kept: bool = True) -> np.ndarray:
        """Return a tensor as float32; not `kept`: it is only copied from, and must not hold up memory of others."""


@dataclass(frozen=True)
class Reader:
    """Turns a folder's tensors into `Weights`, as the family's row says."""

    folder: Tensors
    family: Family
    raw: Raw
    config: Config
    task: Task | None = None
    not_finite: dict[str, int] = field(default_factory=dict)  # tensors read so far: how many NaN or infinite numbers

    def expected(self) -> dict[str, tuple[int, ...]]:
        """Every tensor that the config asks for, with its stored shape."""
        c, names, found = self.config, self.family.names, dict[str, tuple[int, ...]]()
        d_q, d_kv = c.n_heads * c.d_head, c.n_kv_heads * c.d_head
        found[f"{names.embed}.weight"] = (c.d_vocab, c.d_model)
        if names.positions:
            found[f"{names.positions}.weight"] = (c.n_ctx, c.d_model)
        if names.types:
            found[f"{names.types}.weight"] = (self._n_types(), c.d_model)
        self._norm(found, names.norm_embed)
        self._expect_head(found)
        widths = (d_q, d_kv, d_kv) if len(names.attn_in) == 3 else (d_q + 2 * d_kv,)
        fused = names.mlp_gate == names.mlp_in
        for layer in range(c.n_layers):
            for name, width in zip(names.attn_in, widths, strict=True):
                self._linear(found, name.format(layer), (c.d_model, width), self.family.qkv_bias)
            self._linear(found, names.attn_out.format(layer), (d_q, c.d_model), self.family.out_bias)
            self._linear(found, names.mlp_in.format(layer), (c.d_model, c.d_mlp * (1 + fused)), self.family.mlp_bias)
            self._linear(found, names.mlp_out.format(layer), (c.d_mlp, c.d_model), self.family.mlp_bias)
            if names.mlp_gate and not fused:
                self._linear(found, names.mlp_gate.format(layer), (c.d_model, c.d_mlp), self.family.mlp_bias)
            for norm in (names.norm1, names.norm2, names.norm1_out, names.norm2_out):
                self._norm(found, norm.format(layer))
            for norm, n_heads in ((names.norm_q, c.n_heads), (names.norm_k, c.n_kv_heads)):
                if norm:
                    width = c.d_head if c.qk_norm == "head" else n_heads * c.d_head
                    found[f"{norm.format(layer)}.weight"] = (width,)
        return found

    def _expect_head(self, found: dict[str, tuple[int, ...]]) -> None:
        """What stands between the last layer and the logits; nothing where a file without it is usual."""
        c, names = self.config, self.family.names
        if self.headless:
            return
        if not c.tied:
            found[f"{names.unembed}.weight"] = (c.d_vocab, c.d_model)
        if self.family.unembed_bias:
            found[self.family.unembed_bias] = (c.d_vocab,)
        if names.dense:
            self._linear(found, names.dense, (c.d_model, c.d_model), True)
        self._norm(found, names.norm_final)

    @property
    def headless(self) -> bool:
        """Whether the file holds a model without output matrix, where the family has such."""
        marker = f"{self.family.names.dense or self.family.names.unembed}.weight"
        return self.family.headless and self.stored(marker) not in self.folder.names

    def _n_types(self) -> int:
        n_types = self.raw.get("type_vocab_size", 2)
        if type(n_types) is not int or not 1 <= n_types <= 1024:
            raise ModelError(f"type_vocab_size must be a whole number in 1..1024, got {str(n_types)[:60]}")
        return n_types

    def _norm(self, found: dict[str, tuple[int, ...]], name: str) -> None:
        if not name:
            return
        found[f"{name}.weight"] = (self.config.d_model,)
        if self.config.norm == "layer":
            found[f"{name}.bias"] = (self.config.d_model,)

    def _linear(self, found: dict[str, tuple[int, ...]], name: str, shape: tuple[int, int], bias: bool | str) -> None:
        found[f"{name}.weight"] = shape[::-1] if self.family.transposed else shape
        if self._has(bias):
            found[f"{name}.bias"] = shape[1:]

    def _has(self, rule: bool | str) -> bool:
        return holds({**self.family.defaults, **self.raw}, rule)

    def stored(self, name: str) -> str:
        """The name that a tensor has in the file: some leave the family's prefix out, old ones say gamma and beta."""
        bare = name.removeprefix(self.family.names.prefix)
        for known in (name, bare):
            old = known.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            for candidate in (known, old):
                if candidate in self.folder.names:
                    return candidate
        return name

    def check(self) -> None:
        """Refuse missing, misshapen and unknown tensors before anything is read."""
        wanted = self.expected()
        for name, shape in wanted.items():
            stored = self.stored(name)
            if stored not in self.folder.names:
                self._refuse_missing(name)
            if self.folder.shape(stored) != shape:
                raise ModelError(f"{name} must have shape {shape}, got {self.folder.shape(stored)}")
        known = {self.stored(name) for name in wanted} | {f"{self.family.names.unembed}.weight"}
        for name in sorted(self.folder.names - known):
            if not name.endswith(self.family.names.ignored):
                raise ModelError(f"tensors must be those of family {self.config.family}, got {name[:120]!r} besides")

    def _refuse_missing(self, name: str) -> None:
        if name == f"{self.family.names.unembed}.weight":
            hint = "open it with the embedding instead: tied=True"
            raise NoOutputMatrixError(f"the output matrix {name} must be in the file, got none", hint)
        raise ModelError(f"tensor {name} must be in the file, got none", "is it a checkpoint of this family?")

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
        return self.read(f"{name}.bias") if self._has(rule) else None

    def weights(self, put: Put) -> tuple[Config, Weights]:
        """All weights on the device, and the config with what only the weights can tell."""
        c, names, task = self.config, self.family.names, self.task
        if task is not None:
            task.report(0.0, "embedding")
        W_E = put(self.read(f"{names.embed}.weight"))
        blocks: list[Block] = []
        while len(blocks) < c.n_layers:  # as many layers at a time as there are threads
            some = range(len(blocks), min(c.n_layers, len(blocks) + n_workers()))
            blocks += each(lambda layer: self.block(layer, put), some, shared=is_numpy_array(W_E))
            if task is not None:
                for layer in some:
                    task.report((layer + 1) / c.n_layers, f"layer {layer + 1} of {c.n_layers}")
        weights = Weights(
            W_E=W_E,
            blocks=tuple(blocks),
            W_pos=_maybe(self.positions(), put),
            norm_embed=self.norm(names.norm_embed, put),
            **self.head(W_E, put),
        )
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
