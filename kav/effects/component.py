"""A component that can be scaled, as what it does to the stream: a place, and a direction per unit of dose.

A head's output, an MLP's output and one edge of a pattern all enter the residual stream linearly, so that scaling one
by a dose moves the stream on a straight line: ``stream(dose) = stream + (dose - 1) * direction``, where `stream` is
that of the run at dose 1. Only what comes after that place has to be run again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kav.arrays import Array, like, namespace
from kav.errors import KavError
from kav.model.attention import baseline_of, pattern, scale_output
from kav.model.edits import Edit, ScaleEdge, ScaleHead, ScaleMlp, resolve
from kav.model.layers import mlp, normalise
from kav.model.model import Model
from kav.model.tokenizer import Tokens
from kav.model.trace import Trace, run

ComponentLike = tuple[int, int] | tuple[str, int] | Edit
"""A head (layer, head), an MLP ("mlp", layer), or a `ScaleHead`, `ScaleMlp` or `ScaleEdge` edit."""

Scaled = ScaleHead | ScaleMlp | ScaleEdge


@dataclass(frozen=True, eq=False)
class Injection:
    """Where and along what a component moves the stream; device arrays.

    Parameters
    ----------
    layer : int
        The stream enters this layer, or with `from_mid` stands between its attention and its MLP.
    from_mid : bool
    stream : array, shape (n_tokens, d_model)
        At dose 1.
    direction : array, shape (n_tokens, d_model)
        Change per unit of dose; zero at positions that are not scaled.
    """

    layer: int
    from_mid: bool
    stream: Array
    direction: Array


def as_edit(
    model: Model,
    component: ComponentLike,
    *,
    n_tokens: int,
    baseline: str = "zero",
    positions: tuple[int, ...] | None = None,
) -> Scaled:
    """Return the component as the edit, at dose 1, that scales it; an edit given keeps its own baseline and positions.

    Raises
    ------
    KavError
        If it is none, or the model or prompt has no such component, baseline or position.
    """
    edit: Any = component
    places = None if positions is None else tuple(positions)
    if isinstance(component, tuple) and len(component) == 2:
        if component[0] == "mlp":
            edit = ScaleMlp(int(component[1]), 1.0, baseline, places)  # type: ignore[arg-type]
        elif not isinstance(component[0], str):
            edit = ScaleHead(int(component[0]), int(component[1]), 1.0, baseline, places)  # type: ignore[arg-type]
    if not isinstance(edit, Scaled):
        raise KavError(
            f"a component must be one whose contribution can be scaled, got {component!r}",
            'write (layer, head), ("mlp", layer), or a ScaleHead, ScaleMlp or ScaleEdge',
        )
    resolved = resolve((edit,), model.config, n_tokens)[0]
    return resolved if isinstance(resolved, Scaled) else edit


def same_component(edit: Edit, other: Scaled) -> bool:
    """Return whether two resolved edits scale the same component, whatever the dose, baseline and positions."""
    if type(edit) is not type(other) or edit.layer != other.layer:
        return False
    names = {"ScaleHead": ("head",), "ScaleEdge": ("head", "key", "query")}.get(type(edit).__name__, ())
    return all(getattr(edit, name) == getattr(other, name) for name in names)


def run_without(
    model: Model, tokens: Tokens, edits: tuple[Edit, ...], component: Scaled, *, base: Trace | None = None
) -> Trace:
    """Return the run at dose 1: all edits but the component's own, taken from `base` as far as it is the same."""
    resolved = resolve(edits, model.config, len(tokens.ids))
    kept = tuple(e for e, r in zip(edits, resolved, strict=True) if not same_component(r, component))
    if base is not None and base.model is model and base.tokens.ids == tokens.ids and base.edits == kept:
        return base
    return run(model, tokens, kept, base=base)


def injection(trace: Trace, component: Scaled, *, reference: Trace | None = None) -> Injection:
    """Return what scaling the component does to the stream of a run at dose 1.

    Parameters
    ----------
    trace : Trace
    component : ScaleHead, ScaleMlp or ScaleEdge
        From `as_edit`; its scale is not read.
    reference : Trace or None
        Run over whose positions a "mean" baseline is taken; None = this one.

    Raises
    ------
    KavError
        If a reference is given to a baseline that is not a mean.
    """
    if reference is not None and getattr(component, "baseline", "") != "mean":
        raise KavError('a reference text must go with baseline "mean", got another', "leave the reference out")
    if isinstance(component, ScaleMlp):
        return _mlp_injection(trace, component, reference)
    layer, head = component.layer, component.head
    step = trace.layers[layer]
    if isinstance(component, ScaleEdge):
        change = _edge_change(trace, component)
    else:
        ours = None if reference is None else reference.layers[layer].z[head, :, :]
        change = _from_baseline(step.z[head, :, :], component, ours)
    direction = change @ trace.model.weights.blocks[layer].W_O[head, :, :]
    if trace.model.weights.blocks[layer].mlp is None:
        return Injection(layer + 1, False, step.resid_mid, direction)
    return Injection(layer, True, step.resid_mid, direction)


def _mlp_injection(trace: Trace, component: ScaleMlp, reference: Trace | None) -> Injection:
    ours = None if reference is None else mlp_output(reference, component.layer)
    direction = _from_baseline(mlp_output(trace, component.layer), component, ours)
    return Injection(component.layer + 1, False, trace.resid_pre(component.layer + 1), direction)


def mlp_output(trace: Trace, layer: int, *, edited: bool = False) -> Array:
    """Return the MLP's own output before (or with `edited` after) any `ScaleMlp`, (n_tokens, d_model).

    Computed again from resid_mid and not as the difference of two streams, which may be a thousand times larger.
    """
    block = trace.model.weights.blocks[layer]
    if block.mlp is None or block.norm2 is None:
        raise KavError(f"layer must be one with an MLP, got {layer}")
    config = trace.model.config
    out = mlp(config, block.mlp, normalise(config, block.norm2, trace.layers[layer].resid_mid))
    for edit in trace.edits_of(layer) if edited else ():
        if isinstance(edit, ScaleMlp):
            out = scale_output(out, edit)
    return out


def _from_baseline(x: Array, edit: ScaleHead | ScaleMlp, reference: Array | None) -> Array:
    """``x - b`` at the edited positions, 0 elsewhere, (n_tokens, d)."""
    xp = namespace(x)
    base = baseline_of(x, edit.baseline) if reference is None else xp.mean(reference, axis=0, keepdims=True)
    return at_positions(x - base, edit.positions)


def at_positions(x: Array, positions: tuple[int, ...] | None) -> Array:
    """Return x (..., n_tokens, d) at the given positions and 0 elsewhere; None = everywhere."""
    if positions is None:
        return x
    chosen = [1.0 if place in positions else 0.0 for place in range(x.shape[-2])]
    return x * like(x, chosen)[:, None]


def _edge_change(trace: Trace, edge: ScaleEdge) -> Array:
    """What one unit of the edge adds to the head's z: its weight times v of its key, then the head's own scaling."""
    config, step, edits = trace.model.config, trace.layers[edge.layer], trace.edits_of(edge.layer)
    kv_head = config.kv_head(edge.head)
    q, k = step.q[edge.head : edge.head + 1, :, :], step.k[kv_head : kv_head + 1, :, :]
    column = pattern(config, q, k, edits=edits, corner=(edge.head, 0, 0))[0, :, edge.key]  # (n_tokens,)
    change = column[:, None] * step.v[kv_head, edge.key, :][None, :]  # (n_tokens, d_head)
    change = at_positions(change, None if edge.query is None else (edge.query,))
    for edit in edits:
        if isinstance(edit, ScaleHead) and edit.head == edge.head:
            change = scale_output(change, edit)
    return change
