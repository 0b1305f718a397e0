"""Searching a model's whole vocabulary by how its entries are written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kav.errors import ModelError
from kav.model.model import Model
from kav.task import Task

REPORT_EVERY = 2048


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Every entry of a model's vocabulary as it is written; made once per model, the first search takes longest.

    Parameters
    ----------
    model : Model
    """

    model: Model

    @cached_property
    def _written(self) -> list[str]:
        return []

    def _read(self, task: Task) -> list[str]:
        """All labels, read on from where a cancelled search stopped."""
        labels, n = self._written, self.model.config.d_vocab
        while len(labels) < n:
            task.report(len(labels) / n, "reading the vocabulary")
            labels += [self.model.label(i) for i in range(len(labels), min(n, len(labels) + REPORT_EVERY))]
        return labels

    def search(self, text: str, task: Task, *, most: int = 200) -> tuple[int, ...]:
        """Return the ids of entries that match a text, best first, at most `most`.

        The token that the text names stands first, then entries that are the text, begin with it, and contain it;
        upper and lower case are alike. Among equals the order is that of the vocabulary.
        """
        needle = text.strip().casefold()
        if not needle:
            return ()
        found: list[list[int]] = [[], [], []]
        for token, label in enumerate(self._read(task)):
            folded = label.casefold()
            if needle in folded:
                found[0 if folded == needle else 1 if folded.startswith(needle) else 2].append(token)
        ids = [token for group in found for token in group]
        try:
            named = self.model.find_token(text.strip())
        except ModelError:
            return tuple(ids[:most])
        return (named, *(token for token in ids[:most] if token != named))[:most]
