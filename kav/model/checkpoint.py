"""Opening a model: a folder in Hugging Face layout (config.json, safetensors, tokenizer.json) becomes a `Model`.

Nothing of the folder is executed or unpickled, no network is used, and every size is checked against config.json
before anything is read. Matrices come out in kav's convention: vectors are rows, weights stand on the right.
"""

from __future__ import annotations

from pathlib import Path

from kav.arrays import probe, to_device
from kav.errors import ModelError
from kav.model.families import Raw, config_of, family_of
from kav.model.files import contained, read_file, read_json
from kav.model.model import Model
from kav.model.tensors import Folder
from kav.model.tokenizer import Tokenizer
from kav.model.weights import Reader
from kav.paths import resource
from kav.task import Task

MAX_CONFIG = 16 << 20
MAX_TOKENIZER = 64 << 20
PICKLED = (".bin", ".pt", ".pth", ".pkl", ".ckpt", ".npy", ".npz")


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
    reader = Reader(Folder(paths), family, raw, config)
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
