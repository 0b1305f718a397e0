"""How a row of controls fits into a narrow window: what matters least gives way first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QHBoxLayout

SLACK = 100  # px to spare before something returns: the row does not change with every token that is clicked


class GivingWay:
    """Takes as many steps as the row needs.

    Parameters
    ----------
    row : QHBoxLayout
    steps : functions of one bool, in the order in which they are taken; True takes the step, False takes it back.
    """

    def __init__(self, row: QHBoxLayout, steps: Sequence[Callable[[bool], None]]) -> None:
        self._row = row
        self._steps = tuple(steps)
        self.n_taken = 0

    def fit(self, width: int) -> None:
        """Take or take back steps until the row is at most `width` px wide, or there is none left."""
        before = self.n_taken
        for n in range(len(self._steps) + 1):
            for i, step in enumerate(self._steps):
                step(i < n)
            self.n_taken = n
            if self.wanted() + (SLACK if n < before else 0) <= width:
                return

    def wanted(self) -> int:
        """Return the width at which nothing in the row is cut or elided."""
        items = (self._row.itemAt(i).widget() for i in range(self._row.count()))
        widths = [widget.sizeHint().width() for widget in items if widget is not None and not widget.isHidden()]
        margins = self._row.contentsMargins()
        gaps = self._row.spacing() * len(widths)  # the stretch between them counts as one
        return sum(widths) + gaps + margins.left() + margins.right()
