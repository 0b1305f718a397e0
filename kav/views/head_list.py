"""The list from which a head is chosen: every head with what it does on the prompt at hand, so that typing finds it."""

from __future__ import annotations

from kav.circuits.roles import Role, prompt_roles
from kav.model.config import Config
from kav.model.trace import Trace
from kav.views.words import share

Row = tuple[tuple[int, int], str]
"""Layer and head, and the text of the row."""


def plain_rows(config: Config) -> tuple[Row, ...]:
    """Return all heads of a model by number, in order."""
    places = [(layer, head) for layer in range(config.n_layers) for head in range(config.n_heads)]
    return tuple((place, f"{place[0]}.{place[1]}") for place in places)


def rows_with_roles(trace: Trace) -> tuple[Row, ...]:
    """Return all heads with their roles on this prompt and the mass that a role rests on: "17.5   induction 0.61".

    See `kav.circuits.roles.prompt_roles`.
    """
    roles = prompt_roles(trace)
    return tuple((place, text + _said(roles[place[0]][place[1]])) for place, text in plain_rows(trace.model.config))


def _said(role: Role) -> str:
    return "   mixed" if role.name == "mixed" else f"   {role.name} {share(role.score)}"
