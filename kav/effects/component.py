"""A component that can be scaled, as what it does to the stream: a place, and a direction per unit of dose.

A head's output, an MLP's output and one edge of a pattern all enter the output of their half of the layer linearly, and
mostly the stream too, so that scaling one by a dose moves the stream on a straight line, ``stream + (dose - 1) *
direction``, where `stream` is that of the run at dose 1. Where a norm follows the half, the line is the norm's input.
Only what comes after that place has to be run again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kav.arrays import Array, like, namespace
from kav.effects.tangent import normalise_rate
from kav.errors import KavError
from kav.model.config import Config, Norm
from kav.model.edits import Edit, ScaleEdge, ScaleHead, ScaleMlp, resolve
from kav.model.head import attention_output, contribution, mlp_output
from kav.model.layers import normalise
from kav.model.model import Model
from kav.model.tokenizer import Tokens
from kav.model.trace import Trace, run
from kav.task import Task

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
        What is moved, at dose 1: the stream, or where a norm follows, the norm's input.
    direction : array, shape (n_tokens, d_model)
        Change per unit of dose; zero at positions that are not scaled.
    config : Config
    norm : Norm or None
        The norm that follows.
    beside : array, shape (n_tokens, d_model), or None
        What the norm's output is added to, if it is not the stream's own.
    """

    layer: int
    from_mid: bool
    stream: Array
    direction: Array
    config: Config
    norm: Norm | None = None
    beside: Array | None = None

    def moved(self, change: Array) -> Array:
        """Return the streams at the place if what is moved changes by `change`, (n_batch, n_tokens, d_model)."""
        stream = self.stream + change
        if self.norm is None:
            return stream
        stream = normalise(self.config, self.norm, stream)
        return stream if self.beside is None else self.beside + stream

    def rate(self) -> Array:
        """Return how fast the stream at the place changes with the dose, at dose 1, (n_tokens, d_model)."""
        if self.norm is None:
            return self.direction
        return normalise_rate(self.config, self.norm, self.stream, self.direction)

    def rows(self, first: int, stop: int) -> Injection:
        """Return the same with the positions of a half-open range only."""
        cut = slice(first, stop)
        beside = None if self.beside is None else self.beside[cut, :]
        return replace(self, stream=self.stream[cut, :], direction=self.direction[cut, :], beside=beside)


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


def same_component(edit: Edit, other: Scaled, *, there: bool = False) -> bool:
    """Return whether two resolved edits scale the same component, whatever dose and baseline; `there`: at one place."""
    if type(edit) is not type(other) or edit.layer != other.layer:
        return False
    if there and getattr(edit, "positions", None) != getattr(other, "positions", None):
        return False
    names = {"ScaleHead": ("head",), "ScaleEdge": ("head", "key", "query")}.get(type(edit).__name__, ())
    return all(getattr(edit, name) == getattr(other, name) for name in names)


def run_without(
    model: Model,
    tokens: Tokens,
    edits: tuple[Edit, ...],
    component: Scaled,
    *,
    there: bool = False,
    base: Trace | None = None,
    task: Task | None = None,
) -> Trace:
    """Return the run at dose 1: all edits but the component's own, taken from `base` as far as it is the same.

    With `there`, an edit that scales the component at other positions is not its own.
    """
    resolved = resolve(edits, model.config, len(tokens.ids))
    pairs = zip(edits, resolved, strict=True)
    kept = tuple(edit for edit, found in pairs if not same_component(found, component, there=there))
    if base is not None and base.model is model and base.tokens.ids == tokens.ids and base.edits == kept:
        return base
    return run(model, tokens, kept, base=base, task=task)


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
    direction = contribution(trace, component) if reference is None else _from_reference(trace, component, reference)
    return place_of(trace, component.layer, of_mlp=isinstance(component, ScaleMlp), direction=direction)


def place_of(trace: Trace, layer: int, *, of_mlp: bool, direction: Array) -> Injection:
    """Return the place at which the output of attention or of the MLP of a layer is written, with a direction."""
    config, block, done = trace.model.config, trace.model.weights.blocks[layer], trace.layers[layer]
    after = trace.resid_pre(layer + 1)
    norm = block.norm2_out if of_mlp else block.norm1_out
    early = not of_mlp and not config.parallel and block.mlp is not None  # something reads the stream half-way
    place = Injection(layer if early else layer + 1, early, done.resid_mid if early else after, direction, config)
    if norm is None:
        return place
    before = done.resid_mid if of_mlp else done.resid_pre
    out = mlp_output(trace, layer) if of_mlp else attention_output(trace, layer)
    if config.norm_place == "stream":
        return replace(place, stream=before + out, norm=norm)
    others = before if early or of_mlp else after - (done.resid_mid - before)  # with an MLP beside attention
    return replace(place, stream=out, norm=norm, beside=others)


def _from_reference(trace: Trace, component: Scaled, reference: Trace) -> Array:
    """`contribution` with the mean of another run as the baseline."""
    if isinstance(component, ScaleEdge) or component.baseline != "mean":
        raise KavError('a reference text must go with baseline "mean", got another', "leave the reference out")
    layer = component.layer
    if isinstance(component, ScaleMlp):
        ours, theirs = mlp_output(trace, layer), mlp_output(reference, layer)
    else:
        ours, theirs = trace.layers[layer].z[component.head, :, :], reference.layers[layer].z[component.head, :, :]
    xp = namespace(ours, theirs)
    change = ours - xp.mean(theirs, axis=0, keepdims=True)
    if component.positions is not None:
        chosen = [1.0 if place in component.positions else 0.0 for place in range(trace.n_tokens)]
        change = change * like(change, chosen)[:, None]
    if isinstance(component, ScaleMlp):
        return change
    return change @ trace.model.weights.blocks[layer].W_O[component.head, :, :]
