"""How a long computation reports progress and learns that it is no longer wanted.

Every function of kav that may take longer than a blink accepts a `Task` and calls `task.report(fraction)`
between its steps; that call is also the only place where it can be cancelled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kav.errors import Cancelled


class Task:
    """Progress out, cancellation in; safe to share between the thread that works and the one that waits.

    Parameters
    ----------
    on_report : callable or None
        Called as ``on_report(fraction, text)`` from the working thread.
    on_show : callable or None
        Called as ``on_show(value)`` from the working thread.
    """

    def __init__(
        self, on_report: Callable[[float, str], None] | None = None, on_show: Callable[[Any], None] | None = None
    ) -> None:
        self._on_report = on_report
        self._on_show = on_show
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Ask the work to stop at its next report."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._cancelled.is_set()

    def report(self, fraction: float, text: str = "") -> None:
        """Say how far the work is (0 to 1), in words if there are any.

        Raises
        ------
        Cancelled
            If the work is no longer wanted.
        """
        if self.cancelled:
            raise Cancelled
        if self._on_report is not None:
            self._on_report(fraction, text)

    def show(self, value: Any) -> None:
        """Hand over what is there of the answer so far, a value that nobody changes any more."""
        if self._on_show is not None and not self.cancelled:
            self._on_show(value)
