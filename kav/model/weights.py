"""From a checkpoint's tensors to `Weights`: what a family's row expects, checked, cut by head and turned over.

Matrices come out in kav's convention: vectors are rows, weights stand on the right. Where the tensors come from does
not matter here: safetensors files and GGUF files both answer by the names and shapes of the Hugging Face layout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from kav.arrays import Array
from kav.errors import ModelError
from kav.model.config import Block, Config, Mlp, Norm, Weights
from kav.model.families import Family, Raw, has_bias
from kav.task import Task

IGNORED = ("rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias")
"""Ends of the names of stored tables that hold no weights."""


class Tensors(Protocol):
    """Named tensors that can be read one by one: `kav.model.tensors.Folder` or `kav.model.gguf.GgufTensors`."""

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors."""

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor, without reading it."""

    def read(self, name: str) -> np.ndarray:
        """Return a tensor as float32."""


@dataclass(frozen=True)
class Reader:
    """Turns a folder's tensors into `Weights`, as the family's row says."""

    folder: Tensors
    family: Family
    raw: Raw
    config: Config
    not_finite: dict[str, int] = field(default_factory=dict)  # tensors read so far: how many NaN or infinite numbers

    def expected(self) -> dict[str, tuple[int, ...]]:
        """Every tensor that the config asks for, with its stored shape."""
        c, names, found = self.config, self.family.names, dict[str, tuple[int, ...]]()
        d_q, d_kv = c.n_heads * c.d_head, c.n_kv_heads * c.d_head
        found[f"{names.embed}.weight"] = (c.d_vocab, c.d_model)
        if names.positions:
            found[f"{names.positions}.weight"] = (c.n_ctx, c.d_model)
        if not c.tied:
            found[f"{names.unembed}.weight"] = (c.d_vocab, c.d_model)
        self._norm(found, names.norm_final)
        widths = (d_q, d_kv, d_kv) if len(names.attn_in) == 3 else (d_q + 2 * d_kv,)
        for layer in range(c.n_layers):
            for name, width in zip(names.attn_in, widths, strict=True):
                self._linear(found, name.format(layer), (c.d_model, width), self.family.qkv_bias)
            self._linear(found, names.attn_out.format(layer), (d_q, c.d_model), self.family.out_bias)
            self._linear(found, names.mlp_in.format(layer), (c.d_model, c.d_mlp), self.family.mlp_bias)
            self._linear(found, names.mlp_out.format(layer), (c.d_mlp, c.d_model), self.family.mlp_bias)
            if names.mlp_gate:
                self._linear(found, names.mlp_gate.format(layer), (c.d_model, c.d_mlp), self.family.mlp_bias)
            self._norm(found, names.norm1.format(layer))
            self._norm(found, names.norm2.format(layer))
        return found

    def _norm(self, found: dict[str, tuple[int, ...]], name: str) -> None:
        found[f"{name}.weight"] = (self.config.d_model,)
        if self.config.norm == "layer":
            found[f"{name}.bias"] = (self.config.d_model,)

    def _linear(self, found: dict[str, tuple[int, ...]], name: str, shape: tuple[int, int], bias: bool | str) -> None:
        found[f"{name}.weight"] = shape[::-1] if self.family.transposed else shape
        if has_bias(self.raw, bias):
            found[f"{name}.bias"] = shape[1:]

    def stored(self, name: str) -> str:
        """The name that a tensor has in the file: some files leave the family's prefix out."""
        bare = name.removeprefix(self.family.names.prefix)
        return bare if name not in self.folder.names and bare in self.folder.names else name

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
            if not name.endswith(IGNORED):
                raise ModelError(f"tensors must be those of family {self.config.family}, got {name[:120]!r} besides")

    def _refuse_missing(self, name: str) -> None:
        if name == f"{self.family.names.unembed}.weight":
            raise ModelError(
                f"the output matrix {name} must be in the file, got none",
                'set "tie_word_embeddings": true in config.json to use the embedding instead',
            )
        raise ModelError(f"tensor {name} must be in the file, got none", "is it a checkpoint of this family?")

    def read(self, name: str) -> np.ndarray:
        """One tensor by its full name, float32; what is not finite in it is counted."""
        array = self.folder.read(self.stored(name))
        n_bad = array.size - int(np.count_nonzero(np.isfinite(array)))
        if n_bad:
            self.not_finite[name] = n_bad
        return array

    def matrix(self, name: str) -> np.ndarray:
        """A stored matrix as (in, out)."""
        array = self.read(f"{name}.weight")
        return array.T if self.family.transposed else array

    def bias(self, name: str, rule: bool | str) -> np.ndarray | None:
        """A stored bias, None where the rule says that there is none."""
        return self.read(f"{name}.bias") if has_bias(self.raw, rule) else None

    def weights(self, put: Callable[[np.ndarray], Array], task: Task | None) -> tuple[Config, Weights]:
        """All weights on the device, and the config with what only the weights can tell."""
        c, names = self.config, self.family.names
        embedding = self.read(f"{names.embed}.weight")
        blocks = []
        for layer in range(c.n_layers):
            blocks.append(self.block(layer, put))
            if task is not None:
                task.report((layer + 1) / c.n_layers, f"layer {layer + 1} of {c.n_layers}")
        unembedding = embedding.T if c.tied else self.read(f"{names.unembed}.weight").T
        weights = Weights(
            W_E=put(embedding),
            blocks=tuple(blocks),
            norm_final=self.norm(names.norm_final, put),
            W_U=put(unembedding),
            W_pos=put(self.read(f"{names.positions}.weight")) if names.positions else None,
        )
        silent = all(block.mlp is None for block in blocks)
        return (replace(c, attention_only=True, d_mlp=0) if silent else c), weights

    def norm(self, name: str, put: Callable[[np.ndarray], Array]) -> Norm:
        """A norm's gain, and its bias where the family has one."""
        return Norm(
            put(self.read(f"{name}.weight")),
            put(self.read(f"{name}.bias")) if self.config.norm == "layer" else None,
        )

    def block(self, layer: int, put: Callable[[np.ndarray], Array]) -> Block:
        """One layer; an MLP that writes exactly zero is left out."""
        names, family = self.family.names, self.family
        mlp = self.mlp(layer, put)
        out = names.attn_out.format(layer)
        return Block(
            norm1=self.norm(names.norm1.format(layer), put),
            **self.attention_in(layer, put),
            W_O=put(self.matrix(out).reshape(self.config.n_heads, self.config.d_head, self.config.d_model)),
            b_O=_maybe(self.bias(out, family.out_bias), put),
            norm2=None if mlp is None else self.norm(names.norm2.format(layer), put),
            mlp=mlp,
        )

    def attention_in(self, layer: int, put: Callable[[np.ndarray], Array]) -> dict[str, Any]:
        """W_Q, W_K, W_V split by head, and their biases."""
        c = self.config
        matrices = [self.matrix(name.format(layer)) for name in self.family.names.attn_in]
        biases = [self.bias(name.format(layer), self.family.qkv_bias) for name in self.family.names.attn_in]
        cuts = [c.n_heads * c.d_head, (c.n_heads + c.n_kv_heads) * c.d_head]
        if len(matrices) == 1:
            matrices = np.split(matrices[0], cuts, axis=1)
            biases = [None] * 3 if biases[0] is None else list(np.split(biases[0], cuts))
        found: dict[str, Any] = {}
        for letter, matrix, bias in zip("QKV", matrices, biases, strict=True):
            by_head = matrix.reshape(c.d_model, -1, c.d_head).transpose(1, 0, 2)  # (n_heads, d_model, d_head)
            found[f"W_{letter}"] = put(np.ascontiguousarray(by_head))
            found[f"b_{letter}"] = None if bias is None else put(bias.reshape(-1, c.d_head))
        return found

    def mlp(self, layer: int, put: Callable[[np.ndarray], Array]) -> Mlp | None:
        """A layer's MLP, None if it writes exactly zero."""
        names, rule = self.family.names, self.family.mlp_bias
        place, gate = names.mlp_in.format(layer), names.mlp_gate.format(layer)
        out = names.mlp_out.format(layer)
        W_out, b_out = self.matrix(out), self.bias(out, rule)
        if not W_out.any() and (b_out is None or not b_out.any()):
            return None
        return Mlp(
            W_in=put(np.ascontiguousarray(self.matrix(place))),
            W_out=put(np.ascontiguousarray(W_out)),
            W_gate=put(np.ascontiguousarray(self.matrix(gate))) if gate else None,
            b_in=_maybe(self.bias(place, rule), put),
            b_gate=_maybe(self.bias(gate, rule), put) if gate else None,
            b_out=_maybe(b_out, put),
        )


def _maybe(array: np.ndarray | None, put: Callable[[np.ndarray], Array]) -> Array | None:
    return None if array is None else put(array)
