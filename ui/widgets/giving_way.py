"""How a row of controls fits into a narrow window: what matters least gives way first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

COARSE = 12  # px by which a widget may change before its row is fitted again


class GivingWay:
    """Takes as many steps as the row needs.

    Parameters
    ----------
    row : QHBoxLayout
        With all its widgets.
    steps : functions of one bool, in the order in which they are taken; True takes the step, False takes it back.
    needed : callable
        From a widget to the width it needs; by default it shows all it has.
    slack : int
        Pixels to spare before something returns, where what the row shows changes with every click.
    beside : QWidget or None
        What shares the width with the row while it is shown, such as the "…".
    """

    def __init__(
        self,
        row: QHBoxLayout,
        steps: Sequence[Callable[[bool], None]],
        *,
        needed: Callable[[QWidget], int] | None = None,
        slack: int = 0,
        beside: QWidget | None = None,
    ) -> None:
        self._row = row
        self._steps = tuple(steps)
        self._needed = needed or _whole
        self._slack = slack
        items = [row.itemAt(i).widget() for i in range(row.count())]
        self._widgets = [widget for widget in (*items, beside) if widget is not None]
        self.n_taken = 0
        self.least = 0  # width that the row needs after all steps
        self._seen: tuple[int, tuple[tuple[bool, int], ...]] | None = None  # what was fitted last

    def fit(self, width: int, *, anew: bool = False) -> None:
        """Take or take back steps until the row is at most `width` px wide, or there is none left.

        Nothing is done while all widgets are about as they were, or all fit as they are: every step of a drag asks.
        `anew` says that the steps mean something else now.
        """
        state = self._state()
        if not anew and (self._seen == (width, state) or self._fits_still(width, state)):
            return
        before = self.n_taken
        self._take(len(self._steps))
        self.least = self.wanted()
        for n in range(len(self._steps) + 1):
            self._take(n)
            if self.wanted() + (self._slack if n < before else 0) <= width:
                break
        self._seen = width, self._state()

    def _fits_still(self, width: int, state: tuple[tuple[bool, int], ...]) -> bool:
        """Whether no step is taken and none is needed, and the same widgets are shown as before."""
        if self._seen is None or self.n_taken or width < self._seen[0]:
            return False
        same = [hidden for hidden, _ in state] == [hidden for hidden, _ in self._seen[1]]
        return same and self.wanted() <= width

    def _take(self, n: int) -> None:
        for i, step in enumerate(self._steps):
            step(i < n)
        self.n_taken = n

    def _state(self) -> tuple[tuple[bool, int], ...]:
        return tuple((widget.isHidden(), self._needed(widget) // COARSE) for widget in self._widgets)

    def wanted(self) -> int:
        """Return the width that the row needs now."""
        shown = [widget for widget in self._widgets if not widget.isHidden()]
        margins = self._row.contentsMargins()
        gaps = self._row.spacing() * len(shown)  # the stretch between them counts as one
        return sum(map(self._needed, shown)) + gaps + margins.left() + margins.right()


def _whole(widget: QWidget) -> int:
    return min(widget.sizeHint().width(), widget.maximumWidth())


def at_least(widget: QWidget) -> int:
    """Return the width down to which a widget may be pressed."""
    if widget.sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Fixed:
        return _whole(widget)
    return min(max(widget.minimumSizeHint().width(), widget.minimumWidth()), widget.maximumWidth())
