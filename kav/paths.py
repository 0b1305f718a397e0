"""Where the files that travel with the program lie, in a checkout and in an installed package alike."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def resource(*parts: str) -> Traversable:
    """Return the place of a file or folder under resources/.

    In a checkout resources/ lies beside the package kav; an installed wheel carries it inside.

    Parameters
    ----------
    *parts : str
        Names below resources/, for example ``"models", "induction"``.
    """
    root = Path(__file__).resolve().parent.parent / "resources"
    base: Traversable = root if (root.parent / "pyproject.toml").is_file() else files("kav") / "resources"
    return base.joinpath(*parts)
