"""Where the files that travel with the program lie, in a checkout and in an installed package alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


def resource(*parts: str) -> Traversable:
    """Return the place of a file or folder under resources/.

    In a checkout resources/ lies beside the package kav; an installed wheel carries it inside.

    Parameters
    ----------
    *parts : str
        Names below resources/, for example ``"models", "induction"``.
    """
    root = Path(__file__).resolve().parent.parent / "resources"
    if (root.parent / "pyproject.toml").is_file():
        return root.joinpath(*parts)
    from importlib.resources import files  # brings a dozen modules along

    return (files("kav") / "resources").joinpath(*parts)
