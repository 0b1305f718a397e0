"""Which tensors a checkpoint must hold, and in which shapes, as the family's row and the config say.

Nothing is read here: names and shapes are checked first, so that a file of another kind is refused at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kav.errors import ModelError, NoOutputMatrixError
from kav.model.config import Config
from kav.model.family import Family
from kav.model.family_config import Raw, holds


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
class Expected:
    """What the tensors of a folder must be."""

    folder: Tensors
    family: Family
    raw: Raw
    config: Config

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
        if self.has(bias):
            found[f"{name}.bias"] = shape[1:]

    def has(self, rule: bool | str) -> bool:
        """Return whether a bias is there, by a rule of the family's row."""
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
