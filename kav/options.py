"""What the command line asks of the window: one frozen value, handed over once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kav.model.edits import Edit

PANELS = ("fit", "attention", "attribution", "circuits", "dose", "window")
PICTURES = (".png", ".svg", ".pdf")
NUMBERS = (".csv", ".npz", ".json")


@dataclass(frozen=True)
class Options:
    """The state in which the window opens, or is exported.

    Parameters
    ----------
    model : str
        "bundled", a folder, or a checkpoint file.
    prompt : str or None
        None = the default prompt.
    head : (layer, head) or None
        None = the head that the window would choose.
    query : int or None
        Position, negative from the end; None = the last token.
    target : str or None
        Token whose logit is explained, as text; None = the top prediction.
    device : str
        "auto", "cpu" or "cuda".
    panel : str
        One of `PANELS`; "window" = the whole window.
    export : Path or None
        File to write, its kind told by the suffix; None = open the window.
    theme : str or None
        "light" or "dark"; None = as the desktop says.
    size : (width, height) or None
        In logical pixels; None = as left last time, or 1440 x 900.
    scale : float
        Device pixels per logical pixel of an exported picture.
    scene : str
        "head" or "regression".
    edits : tuple of Edit
        Edits that are active at the start.
    """

    model: str = "bundled"
    prompt: str | None = None
    head: tuple[int, int] | None = None
    query: int | None = None
    target: str | None = None
    device: str = "auto"
    panel: str = "window"
    export: Path | None = None
    theme: str | None = None
    size: tuple[int, int] | None = None
    scale: float = 1.0
    scene: str = "head"
    edits: tuple[Edit, ...] = ()
