"""Opening a model: a folder in Hugging Face layout (config.json, safetensors, tokenizer.json) becomes a `Model`.

Nothing of the folder is executed or unpickled, no network is used, and every size is checked against config.json
before anything is read. Matrices come out in kav's convention: vectors are rows, weights stand on the right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kav.arrays import Array, probe, to_device
from kav.errors import ModelError
from kav.model.config import Block, Config, Mlp, Norm, Weights
from kav.model.families import Family, Raw, config_of, family_of, has_bias
from kav.model.model import Model
from kav.model.tensors import Folder, contained, read_file, read_json
from kav.model.tokenizer import Tokenizer
from kav.paths import resource
from kav.task import Task

MAX_CONFIG = 16 << 20
MAX_TOKENIZER = 64 << 20
PICKLED = (".bin", ".pt", ".pth", ".pkl", ".ckpt", ".npy", ".npz")
IGNORED = ("rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias")
"""Ends of the names of stored tables that hold no weights."""


def open_model(source: str | Path, *, device: str = "auto", dtype: str = "float32", task: Task | None = None) -> Model:
    """Return a model that is ready to run.

    Parameters
    ----------
    source : str or Path
        "bundled", a folder, or a .safetensors file in one.
    device : str
        "cpu", "cuda" or "cuda:N"; "auto" takes a GPU that works, else the CPU.
    dtype : str
        "float32" or "float64": what weights are held and computed in.
    task : Task or None
        Reports after every layer.

    Raises
    ------
    ModelError
        If the source cannot be opened as a model of a known family, for whatever reason.
    """
    if dtype not in ("float32", "float64"):
        raise ModelError(f'dtype must be "float32" or "float64", got {dtype!r}')
    where = _device(device)
    folder, paths = _locate(source)
    raw = read_json(read_file(contained(folder, "config.json"), MAX_CONFIG), "config.json")
    if not isinstance(raw, dict):
        raise ModelError(f"config.json must hold an object, got {type(raw).__name__}")
    family = family_of(raw)
    config = config_of(raw, family)
    reader = _Reader(Folder(paths), family, raw, config)
    reader.check()
    try:
        config, weights = reader.weights(lambda array: to_device(array.astype(dtype, copy=False), where), task)
    except MemoryError as error:
        raise ModelError(f"{folder.name} must fit in memory on {where}, got out of memory") from error
    name = folder.name if source != "bundled" else "induction"
    return Model(config, weights, where, name, _tokenizer(folder, raw), str(source))


def _device(device: str) -> str:
    if device == "cpu":
        return "cpu"
    found, reason = probe()
    if device == "auto":
        return found or "cpu"
    if device.partition(":")[0] != "cuda" or not (device == "cuda" or device[5:].isdecimal()):
        raise ModelError(f'device must be "auto", "cpu", "cuda" or "cuda:N", got {device!r}')
    if found is None:
        raise ModelError(f"device must be one that works, got {device!r}: {reason}", "use the CPU")
    return found if device == "cuda" else device


def _locate(source: str | Path) -> tuple[Path, list[Path]]:
    """The folder of a source and its weight files."""
    path = Path(str(resource("models", "induction"))) if source == "bundled" else Path(source).expanduser()
    if path.suffix == ".gguf":
        raise ModelError(f"a model must be a folder or a .safetensors file, got {path.name}", "GGUF is not read yet")
    if path.suffix in PICKLED:
        raise ModelError(f"weights must be safetensors, got {path.name}", "pickle is not supported, for safety")
    try:
        if path.is_file():
            if path.suffix != ".safetensors":
                raise ModelError(f"a model must be a folder or a .safetensors file, got {path.name}")
            return path.parent, [contained(path.parent, path.name)]
        if not path.is_dir():
            raise ModelError(f"a model must exist, got {str(source)[:200]!r}", 'try "bundled"')
        return path, _weight_files(path)
    except (OSError, ValueError) as error:  # a path with a NUL, too long, or not allowed
        raise ModelError(f"a model must be readable, got {str(source)[:200]!r}: {error}") from error


def _weight_files(folder: Path) -> list[Path]:
    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").is_file():
        return [contained(folder, "model.safetensors")]
    if not index.is_file():
        hint = "pickle is not supported, for safety" if any(folder.glob("*.bin")) else ""
        raise ModelError(f"a model folder must hold model.safetensors, got {folder.name} without it", hint)
    listing = read_json(read_file(contained(folder, index.name), MAX_CONFIG), index.name)
    shards = listing.get("weight_map") if isinstance(listing, dict) else None
    if not isinstance(shards, dict) or not all(isinstance(name, str) for name in shards.values()):
        raise ModelError(f"{index.name} must map tensor names to file names, got something else")
    return [contained(folder, name) for name in sorted(set(shards.values()))]


def _tokenizer(folder: Path, raw: Raw) -> Tokenizer | None:
    """The folder's tokenizer; None without tokenizer.json."""
    if not (folder / "tokenizer.json").is_file():
        return None
    source = read_file(contained(folder, "tokenizer.json"), MAX_TOKENIZER).decode("utf-8", "replace")
    first = raw.get("bos_token_id")
    first = first[0] if isinstance(first, list) and first else first
    ours = raw.get("kav")
    wanted = isinstance(ours, dict) and ours.get("prepend_bos") is True
    return Tokenizer(source, first if type(first) is int and first >= 0 else None, wanted)


@dataclass(frozen=True)
class _Reader:
    """Turns a folder's tensors into `Weights`, as the family's row says."""

    folder: Folder
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
        """One tensor by its full name, float32, checked to be finite."""
        array = self.folder.read(self.stored(name))
        if not np.isfinite(array).all():
            n_bad = int(array.size - np.isfinite(array).sum())
            raise ModelError(f"weights must be finite, got {n_bad:,} that are not in {name}")
        return array

    def matrix(self, name: str) -> np.ndarray:
        """A stored matrix as (in, out)."""
        array = self.read(f"{name}.weight")
        return array.T if self.family.transposed else array

    def bias(self, name: str, rule: bool | str) -> np.ndarray | None:
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
