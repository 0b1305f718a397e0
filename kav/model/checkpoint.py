"""Opening a model: a folder in Hugging Face layout, a .safetensors file in one, or a GGUF file becomes a `Model`.

Nothing of what is opened is executed, rendered or unpickled, no network is used, and every name and size is checked
before anything is read: see `kav.model.files`, `kav.model.tensors`, `kav.model.gguf`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kav.arrays import device_failure, probe, release_device_memory, to_device
from kav.errors import ModelError
from kav.model.config import Config, Weights
from kav.model.expected import Tensors
from kav.model.family import Family
from kav.model.family_config import Raw, config_of, family_of
from kav.model.files import contained, read_file, read_json
from kav.model.folder_words import MAX_CONFIG, Words, folder_words
from kav.model.forecast import Forecast, forecast_weights
from kav.model.gguf import GgufFile
from kav.model.gguf_settings import settings
from kav.model.gguf_tensors import GgufTensors
from kav.model.gguf_words import UnknownWordsError, start_token, tokenizer_json
from kav.model.model import Model
from kav.model.tensors import Folder
from kav.model.tokenizer import Tokenizer
from kav.model.tokenizer_trial import Trial
from kav.model.weights import Reader
from kav.paths import resource
from kav.task import Task

MAX_SHARDS = 1024
PICKLED = (".bin", ".pt", ".pth", ".pkl", ".ckpt", ".npy", ".npz")


@dataclass(frozen=True)
class Checkpoint:
    """A model on disk, found and checked but not read."""

    name: str
    raw: Raw
    family: Family
    config: Config
    tensors: Tensors
    words: Callable[[], Words | None]
    tied: bool = False  # the embedding serves as the output matrix though the checkpoint says otherwise

    def forecast(self, *, dtype: str = "float32", where: str = "cpu") -> Forecast:
        """Return how much memory opening it takes, and how much there is."""
        return forecast_weights(self.tensors, dtype=dtype, where=where)


def open_model(
    source: str | Path,
    *,
    device: str = "auto",
    dtype: str = "float32",
    tied: bool = False,
    task: Task | None = None,
    so_far: Callable[[Model, int], None] | None = None,
) -> Model:
    """Return a model that is ready to run.

    Parameters
    ----------
    source : str or Path
        "bundled", a folder, a .safetensors file in one, or a .gguf file.
    device : str
        "cpu", "cuda" or "cuda:N"; "auto" takes a GPU that works, else the CPU.
    dtype : str
        "float32" or "float64": what weights are held and computed in.
    tied : bool
        True uses the embedding as the output matrix, whatever the checkpoint says, and the model's name says so. The
        way out where a checkpoint says that it has an output matrix and has none.
    task : Task or None
        Reports after every layer.
    so_far : callable or None
        ``so_far(model, n_layers)`` is called whenever some more layers are read, but for the last: with a model of the
        layers so far, which runs and predicts nothing, and how many layers there will be. A run of it is a `base` for
        runs of the whole model.

    Raises
    ------
    ModelError
        If the source cannot be opened as a model of a known family, for whatever reason; a `NoOutputMatrixError` if
        only the output matrix is missing.
    """
    if dtype not in ("float32", "float64"):
        raise ModelError(f'dtype must be "float32" or "float64", got {dtype!r}')
    where = _device(device)
    found = _with_embedding(checkpoint(source)) if tied else checkpoint(source)
    if where != "cpu" and not found.forecast(dtype=dtype, where=where).fits:
        return _on_cpu(found, str(source), dtype, task, "the GPU has too little free memory")
    try:
        return _opened(found, str(source), where, dtype=dtype, task=task, so_far=so_far)
    except Exception as error:
        failure = device_failure(error)
        if failure is None:
            raise
    release_device_memory()
    return _on_cpu(found, str(source), dtype, task, failure.reason)


def _on_cpu(found: Checkpoint, source: str, dtype: str, task: Task | None, reason: str) -> Model:
    """The model on the CPU, because the GPU cannot hold it, with a note that says so."""
    model = _opened(found, source, "cpu", dtype=dtype, task=task)
    return replace(model, notes=(f"{reason}; kav goes on, on the CPU", *model.notes))


def _opened(
    found: Checkpoint,
    source: str,
    where: str,
    *,
    dtype: str,
    task: Task | None,
    so_far: Callable[[Model, int], None] | None = None,
) -> Model:
    needed = found.forecast(dtype=dtype, where=where)
    if not needed.fits:
        raise ModelError(
            f"{found.name} must fit in memory on {where}, "
            f"got {needed.n_bytes / 1e9:.1f} GB for {(needed.n_free or 0) / 1e9:.1f} GB that are free"
        )
    words, notes = _words(found)
    trial = Trial(words.source) if words is not None and words.tried and source != "bundled" else None
    reader = Reader(found.tensors, found.family, found.raw, found.config, task)
    reader.check()
    tokenizer = _tokenizer(words, found.config.d_vocab)  # reads nothing before it is asked

    def begun(config: Config, weights: Weights) -> None:
        if so_far is not None and (trial is None or trial.passed()):
            so_far(Model(config, weights, where, found.name, tokenizer, source), found.config.n_layers)

    try:
        config, weights = reader.weights(lambda array: to_device(array.astype(dtype, copy=False), where), begun)
    except MemoryError as error:
        if device_failure(error) is not None:
            raise
        raise ModelError(f"{found.name} must fit in memory on {where}, got out of memory") from error
    if trial is not None:
        trial.finish()
    notes += tuple(f"weights must be finite, got {n:,} that are not in {name}" for name, n in reader.not_finite.items())
    return Model(config, weights, where, found.name, tokenizer, source, found.tied, notes)


def _with_embedding(found: Checkpoint) -> Checkpoint:
    """The same checkpoint read with the embedding as its output matrix, and a name that says so."""
    if found.config.tied:
        return found
    raw = {**found.raw, "tie_word_embeddings": True}
    name = f"{found.name} (output matrix: the embedding)"
    return replace(found, name=name, raw=raw, config=replace(found.config, tied=True), tied=True)


def _words(found: Checkpoint) -> tuple[Words | None, tuple[str, ...]]:
    """A checkpoint's tokenizer; one of a kind that is not known is a note, and tokens are written by their ids."""
    try:
        return found.words(), ()
    except UnknownWordsError as error:
        return None, (str(error),)


def _tokenizer(words: Words | None, d_vocab: int) -> Tokenizer | None:
    if words is None:
        return None
    first = words.bos_id if words.bos_id is not None and 0 <= words.bos_id < d_vocab else None
    return Tokenizer(words.source.decode("utf-8", "replace"), first, words.starts_with_bos)


def checkpoint(source: str | Path) -> Checkpoint:
    """Find and check a model on disk without reading its weights; what `open_model` opens.

    Ask its `Checkpoint.forecast` before opening a model that may be large.

    Parameters
    ----------
    source : str or Path
        See `open_model`.

    Raises
    ------
    ModelError
        See `open_model`.
    """
    try:
        path = Path(str(resource("models", "induction"))) if source == "bundled" else Path(source).expanduser()
        path = _inside(path)
        if path.suffix == ".gguf":
            return _gguf(path)
        folder, paths = _locate(path)
    except (OSError, ValueError, RuntimeError) as error:  # a NUL in it, too long, not allowed, the home of nobody
        raise ModelError(f"a model must be readable, got {str(source)[:200]!r}: {str(error)[:200]}") from error
    raw = read_json(read_file(contained(folder, "config.json"), MAX_CONFIG), "config.json")
    if not isinstance(raw, dict):
        raise ModelError(f"config.json must hold an object, got {type(raw).__name__}")
    family = family_of(raw)
    config = config_of(raw, family)
    name = folder.resolve().name if source != "bundled" else "induction"
    return Checkpoint(name, raw, family, config, Folder(paths), lambda: folder_words(folder, raw))


def _gguf(path: Path) -> Checkpoint:
    file = GgufFile(path)
    raw = settings(file)
    family = family_of(raw)
    config = config_of(raw, family)
    return Checkpoint(path.stem, raw, family, config, GgufTensors(file, config), lambda: _gguf_words(file))


def _gguf_words(file: GgufFile) -> Words | None:
    text = tokenizer_json(file)
    if text is None:
        return None
    # All but the tables of a unigram vocabulary are written anew, and checked while they are.
    return Words(text.encode(), *start_token(file), tried='"precompiled_charsmap"' in text)


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


def _inside(path: Path) -> Path:
    """The GGUF file in a folder that holds nothing else to open."""
    if not path.is_dir() or (path / "config.json").exists():
        return path
    files = sorted(path.glob("*.gguf"))
    if len(files) > 1:
        raise ModelError(f"a folder must hold one GGUF file, got {len(files)} in {path.name}", "open one of the files")
    return contained(path, files[0].name) if files else path


def _locate(path: Path) -> tuple[Path, list[Path]]:
    """The folder of a source and its weight files."""
    if path.suffix in PICKLED:
        raise ModelError(f"weights must be safetensors, got {path.name}", "pickle is not supported, for safety")
    if path.is_file():
        if path.suffix != ".safetensors":
            raise ModelError(f"a model must be a folder, a .safetensors or a .gguf file, got {path.name[:80]}")
        return path.parent, [contained(path.parent, path.name)]
    if not path.is_dir():
        raise ModelError(f"a model must exist, got {str(path)[:200]!r}", 'try "bundled"')
    return path, _weight_files(path)


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
    names = sorted(set(shards.values()))
    if not 1 <= len(names) <= MAX_SHARDS:
        raise ModelError(f"{index.name} must name 1..{MAX_SHARDS} files, got {len(names):,}")
    return [contained(folder, name) for name in names]
