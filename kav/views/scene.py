"""What every panel is asked about: one head of one run, or one query of one sample set.

A scene is frozen and compares by value (traces and sample sets by identity), so a panel can tell in one comparison
whether there is anything new to compute.
"""

from __future__ import annotations

from dataclasses import dataclass

from kav.model.edits import Edit
from kav.model.trace import Trace
from kav.regression.samples import Samples


@dataclass(frozen=True)
class Selection:
    """What is selected. None means "the obvious one", resolved by `resolve` on the unedited run.

    Parameters
    ----------
    layer, head, query, key : int
        query None = last token; key None = the key with the largest weight in the query's row.
    target, foil : int or None
        Token ids. target None = the top prediction at the query; foil None = no foil.
    """

    layer: int = 0
    head: int = 0
    query: int | None = None
    key: int | None = None
    target: int | None = None
    foil: int | None = None


@dataclass(frozen=True)
class Focus:
    """A selection with nothing left open: non-negative positions and token ids of the run at hand."""

    layer: int
    head: int
    query: int
    key: int
    target: int
    foil: int | None


@dataclass(frozen=True)
class HeadScene:
    """One head of one run. `before` is the unedited run while edits are active, else None; towards = other query."""

    trace: Trace
    selection: Selection
    edits: tuple[Edit, ...] = ()
    before: Trace | None = None
    towards: int | None = None  # token whose query the hero's curve moves to; None = the one before the query

    @property
    def base(self) -> Trace:
        """The run without edits."""
        return self.trace if self.before is None else self.before


@dataclass(frozen=True)
class RegressionScene:
    """One query of one sample set under one kernel."""

    samples: Samples
    kernel: str = "gaussian"
    h: float = 1.0
    x_query: float = 0.0
    selected: int | None = None  # index of a sample; None = the one with the largest weight at the query
    doses: tuple[tuple[int, float], ...] = ()  # (sample, scale of its kernel weight), the edits of this scene
    before: RegressionScene | None = None  # the scene without doses while there are any


Scene = HeadScene | RegressionScene


def resolve(scene: HeadScene) -> Focus:
    """Return the scene's selection with every open choice made, on the unedited run, clamped to what exists."""
    raise NotImplementedError
