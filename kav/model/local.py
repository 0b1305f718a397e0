"""Which models are on this machine: those that come with KAV, those of the local Hugging Face cache, and any path.

Only names and folders are looked at, no file is read, and no network is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kav.paths import resource

BUNDLED = {"induction": "bundled"}
"""Bundled models that `open_model` knows by a word of their own."""

MOST_CACHED = 40
WEIGHTS = (".safetensors", ".gguf")


@dataclass(frozen=True)
class Place:
    """A model on this machine.

    Parameters
    ----------
    source : str
        What `open_model` is given.
    name : str
        How people call it.
    problem : str
        Why it cannot be opened now, "" if nothing speaks against it.
    """

    source: str
    name: str
    problem: str = ""


def name_of(source: str | Path) -> str:
    """Return how people call the model at a path: in the Hugging Face cache "owner/name", else the folder or file."""
    path = Path(source)
    snapshot = path if path.parent.name == "snapshots" else path.parent
    if snapshot.parent.name == "snapshots" and snapshot.parent.parent.name.startswith("models--"):
        return snapshot.parent.parent.name.removeprefix("models--").replace("--", "/", 1)
    named = {word: folder for folder, word in BUNDLED.items()}
    return named.get(str(source)) or (path.stem if path.suffix in WEIGHTS else path.name) or str(source)


def look(sources: Iterable[str]) -> tuple[Place, ...]:
    """Return the places of paths, each with the reason why it cannot be opened."""
    return tuple(Place(source, name_of(source), _problem(source)) for source in sources)


def _problem(source: str) -> str:
    if source in BUNDLED.values():
        return ""
    try:
        path = Path(source)
        if not path.exists():
            return "is no longer there" if path.parent.exists() else "its folder is no longer there"
        if path.is_dir() and not _has_weights(path):
            return "the folder holds no .safetensors or .gguf file"
        return "" if os.access(path, os.R_OK) else "may not be read"
    except (OSError, ValueError) as error:  # a path that is too long, or on a drive that does not answer
        return f"cannot be looked at: {error}"


def _has_weights(folder: Path) -> bool:
    return any(file.suffix in WEIGHTS for file in folder.iterdir())


def bundled() -> tuple[Place, ...]:
    """Return the models that come with KAV."""
    folder = Path(str(resource("models")))
    names = sorted(path.name for path in folder.iterdir() if (path / "config.json").is_file())
    return tuple(Place(BUNDLED.get(name, str(folder / name)), name) for name in names)


def cache_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Return where Hugging Face programs keep what they downloaded.

    Parameters
    ----------
    environment : mapping
        As `os.environ`: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME and XDG_CACHE_HOME are read, in this order.
    home : Path
    """
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environment.get(name):
            return Path(environment[name])
    if environment.get("HF_HOME"):
        return Path(environment["HF_HOME"]) / "hub"
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "huggingface" / "hub"


def cached(folder: Path) -> tuple[Place, ...]:
    """Return the models of a Hugging Face cache that hold weights KAV reads, by name; at most `MOST_CACHED`.

    Of each model the snapshot that its main branch names is taken, else the newest one.
    """
    found: list[Place] = []
    try:
        models = sorted(path for path in folder.iterdir() if path.name.startswith("models--"))
    except OSError:  # no cache, or none of ours
        return ()
    for model in models:
        if len(found) == MOST_CACHED:
            break
        try:
            snapshot = _snapshot(model)
            if snapshot is not None and _openable(snapshot):
                found.append(Place(str(snapshot), name_of(snapshot)))
        except OSError:
            continue  # a model that may not be read is not offered
    return tuple(found)


def _snapshot(model: Path) -> Path | None:
    main = model / "refs" / "main"
    if main.is_file() and main.stat().st_size < 200:
        named = model / "snapshots" / os.path.basename(main.read_text(errors="replace").strip())
        if named.is_dir() and named != model / "snapshots":
            return named
    found = [path for path in (model / "snapshots").iterdir() if path.is_dir()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def _openable(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()}
    whole = "config.json" in names and any(name.endswith(".safetensors") for name in names)
    return whole or sum(name.endswith(".gguf") for name in names) == 1
