"""Painting that cannot end the program: an error in it is reported, and every painter is given back as it was."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

_TOLD = "_errors_told"


def guarded(paint: Callable[[Any, QPaintEvent, QPainter], None]) -> Callable[[Any, QPaintEvent], None]:
    """Make a `paintEvent` of a method that also takes the painter of its widget.

    In PySide an exception that leaves a `paintEvent` keeps its painter alive in the traceback, and Qt ends the program
    when it finds a widget still being painted. Here the painter ends first, then the exception hook is told.
    """

    @wraps(paint)
    def paint_event(widget: QWidget, event: QPaintEvent) -> None:
        with reported(widget), QPainter(widget) as painter:
            paint(widget, event, painter)

    return paint_event


@contextmanager
def reported(widget: QWidget) -> Iterator[None]:
    """Hand an error over to the exception hook: one that leaves a widget's painting ends the program in Qt.

    The same error of the same widget is told once: what tells it covers the widget, which then is painted again.
    """
    try:
        yield
    except Exception as error:
        told = widget.__dict__.setdefault(_TOLD, set())
        if repr(error) not in told:
            told.add(repr(error))
            sys.excepthook(*sys.exc_info())


@contextmanager
def saved(painter: QPainter) -> Iterator[None]:
    """Give the painter its state back, whatever happens: Qt crashes if a view's painting ends with a saved state."""
    painter.save()
    try:
        yield
    finally:
        painter.restore()
