"""Ordered samples with what sums over them are made from: moment cells, their transforms, and a moment tree.

Each is made when it is first asked for, once, whichever thread asks; `kav.regression.prepared` says which is used.
"""

from __future__ import annotations

import threading

import numpy as np

from kav.regression.cells import Cells, build_cells, lifted
from kav.regression.grid import Spectra
from kav.regression.keeping import Keeping
from kav.regression.kernels import Kernel
from kav.regression.ordered import Ordered
from kav.regression.tree import Tree, build_tree, degrees_for


class Core(Keeping):
    """Ordered samples with their cells and trees, each made when first asked for; shared by all steps of a drag."""

    def __init__(self, ordered: Ordered, cells: Cells | None = None) -> None:
        super().__init__()
        self.ordered = ordered
        self._cells = cells
        self._tree: Tree | None = None
        self._y_bounds: np.ndarray | None = None
        self._spectra: Spectra | None = None
        self._lock = threading.Lock()

    @property
    def ready(self) -> bool:
        """Whether cells or a tree are there already."""
        return self._cells is not None or self._tree is not None

    def y_bounds(self) -> np.ndarray:
        """Return the smallest and largest of `Ordered.y`, (2,) or (0,)."""
        if self._y_bounds is None:
            y = self.ordered.y
            self._y_bounds = np.asarray([y.min(), y.max()] if y.size else [])
        return self._y_bounds

    def cells(self) -> Cells:
        """Return the moment cells."""
        with self._lock:
            if self._cells is None:
                self._cells = build_cells(self.ordered)
            return self._cells

    def spectra(self) -> Spectra:
        """Return the transforms of the cells' moments, as far as they were asked for."""
        cells = self.cells()
        with self._lock:
            if self._spectra is None:
                self._spectra = Spectra(cells)
            return self._spectra

    def tree(self, kernel: Kernel) -> Tree:
        """Return a moment tree with the degrees that a compact kernel needs; only the latest is kept."""
        need = degrees_for(kernel)
        with self._lock:
            if self._tree is None or any(have < one for have, one in zip(self._tree.degrees, need, strict=True)):
                self._tree = build_tree(self.ordered, need)
            return self._tree

    def without(self, place: int) -> Core:
        """Return the core of all samples but one."""
        ordered = self.ordered.without(place)
        with self._lock:
            cells = None if self._cells is None or not ordered.n else lifted(self._cells, ordered, place)
        return Core(ordered, cells)
