"""The next tokens: what the model predicts at the query, before and after edits. Shared by two panels."""

from __future__ import annotations

from dataclasses import dataclass

from kav.views.words import Label


@dataclass(frozen=True)
class Prediction:
    """One token with its probability at the query, before and after edits (before None without edits)."""

    token: int
    label: Label
    probability: float
    logit: float
    before: float | None = None
    is_target: bool = False
