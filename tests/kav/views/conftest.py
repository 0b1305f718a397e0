"""Scenes of the bundled model and of tiny random ones, for the tests of all panels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

import kav
from kav.model.edits import Edit
from kav.model.model import Model
from kav.views.scene import DEFAULT, HeadScene, Selection
from tests.kav.model_factory import tiny_model

SceneMaker = Callable[..., HeadScene]


@cache
def bundled() -> Model:
    """Return the bundled model, opened once."""
    return kav.open_model("bundled", device="cpu")


@pytest.fixture
def scene() -> SceneMaker:
    """Return a maker of head scenes of the bundled model on the default prompt, with edits and another selection."""

    def make(*edits: Edit, towards: int | None = None, prompt: str = DEFAULT.prompt, **selection: int) -> HeadScene:
        base = kav.run(bundled(), bundled().encode(prompt))
        trace = kav.run(base.model, base.tokens, edits, base=base) if edits else base
        chosen = Selection(**{"layer": DEFAULT.layer, "head": DEFAULT.head, **selection})
        return HeadScene(trace, chosen, tuple(edits), base if edits else None, towards)

    return make


@pytest.fixture(params=["rms rotary grouped", "layer learned mlp", "bidirectional"])
def any_scene(request: pytest.FixtureRequest) -> SceneMaker:
    """Return a maker of head scenes of tiny random models of three kinds, all with every bias."""
    kinds = {
        "rms rotary grouped": {},
        "layer learned mlp": {"norm": "layer", "position": "learned", "gated": False, "n_kv_heads": 4},
        "bidirectional": {"norm": "layer", "position": "learned", "causal": False},
    }
    model = tiny_model(**kinds[request.param])

    def make(*edits: Edit, ids: tuple[int, ...] = (3, 1, 4, 1, 5, 9, 2, 6), **selection: int) -> HeadScene:
        base = kav.run(model, model.tokens(ids))
        trace = kav.run(model, base.tokens, edits, base=base) if edits else base
        chosen = Selection(**{"layer": 1, "head": 2, "query": 5, "target": 7, **selection})
        return HeadScene(trace, chosen, tuple(edits), base if edits else None)

    return make
