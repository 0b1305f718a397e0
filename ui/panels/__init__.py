"""The panels of the window, in reading order: the one list. Docks, menus and tests follow from it."""

from __future__ import annotations

from ..panel import Panel
from .attention import AttentionPanel
from .attribution import AttributionPanel
from .circuits import CircuitsPanel
from .dose import DosePanel
from .fit import FitPanel

PANELS: tuple[type[Panel], ...] = (FitPanel, AttentionPanel, AttributionPanel, CircuitsPanel, DosePanel)
