"""Dose response, head scene: scale one component, run the model again, and watch the prediction (D1 to D4).

The curve belongs to everything but the component's own dose, so that dragging the handle moves only the handle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kav.arrays import Array
from kav.effects.dose import DoseResponse, dose_response
from kav.effects.metric import make_metric
from kav.effects.refine import Span
from kav.model.edits import Edit, ScaleHead, ScaleMlp
from kav.model.trace import Trace, run
from kav.task import Task
from kav.views.dose import Component, Curve, Result, Spec, at_least
from kav.views.predictions import token_label, vocabulary_label
from kav.views.scene import Focus, HeadScene, as_head, resolve
from kav.views.words import Piece, Reading, numbers, share, token_pieces

LOWEST, HIGHEST = -1.0, 3.0
PIXELS = 500  # of a large plot on a dense screen: the line is as exact as that

THROUGH_OTHERS = 0.1  # direct share of the drop below which the effect goes through later layers
HARDLY = 0.1  # nats below which a change hardly matters: odds change by a tenth

_QUANTITIES = {
    "logit": "logit",
    "log_prob": "log-probability",
    "prob": "probability",
    "kl": "KL divergence",
}


@dataclass(frozen=True)
class Scaled:
    """What is scaled and how; `own` are the edits that say how much, `others` stay at every dose."""

    component: Component
    baseline: str
    positions: tuple[int, ...] | None
    dose: float
    others: tuple[Edit, ...]

    @property
    def name(self) -> str:
        """ "head 1.1" or "mlp 0"."""
        return component_name(self.component)

    def edit(self) -> ScaleHead | ScaleMlp:
        """The component as an edit at dose 1."""
        if self.component.head is None:
            return ScaleMlp(self.component.layer, 1.0, self.baseline, self.positions)  # type: ignore[arg-type]
        place = (self.component.layer, self.component.head)
        return ScaleHead(*place, 1.0, self.baseline, self.positions)  # type: ignore[arg-type]


def component_name(component: Component) -> str:
    """Return what a component is called: "head 1.1", "mlp 0"."""
    return f"mlp {component.layer}" if component.head is None else f"head {component.layer}.{component.head}"


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the curves and the handle; with an unchanged `curve_spec` the curves are those of the last result."""
    scene = as_head(spec.scene)
    focus = resolve(scene)
    foil = focus.foil if spec.response == "logit" else None
    part = scaled(spec, scene, focus)
    asked = (scene.base, part.others, part.edit(), spec.response, focus.query, focus.target, foil)
    moved = part.dose != 1.0

    def result(curve: Curve, *, so_far: bool = False) -> Result:
        at_one = float(np.interp(1.0, curve.doses, curve.response))
        return Result(
            kind="head",
            reading=_reading(spec, scene, focus, part, curve=curve),
            component=part.component,
            component_text=part.name,
            curve=curve,
            curve_spec=asked,
            dose=part.dose,
            value=_value(spec, scene, focus, foil=foil) if moved else at_one,
            before=at_one if moved else None,
            y_range=y_range(curve),
            y_title=_y_title(spec, scene, focus),
            x_title=f"dose: scale on {part.name} →",
            names=(
                f"rerun, {len(curve.doses)} doses so far" if so_far else "rerun",
                "direct line (norm frozen)",
                "tangent at 1",
            ),
            choices=choices(scene, focus),
            baseline=part.baseline,
            positions=part.positions,
            measured=True,
            so_far=so_far,
        )

    known = last.curve if last is not None and last.kind == "head" and last.curve_spec == asked else None
    if last is not None and known is not None and not last.so_far:
        return result(known)
    glances = Task(task.report, lambda curve: task.show(result(curve, so_far=True)))
    return result(_curve(spec, scene, focus, part, foil=foil, known=known, task=glances))


def scaled(spec: Spec, scene: HeadScene, focus: Focus) -> Scaled:
    """Return what is scaled: as asked, else what was edited last, else the selected head; an edit keeps its manner."""
    component = spec.component or _edited_last(scene) or Component(focus.layer, focus.head)
    component = _existing(component, scene)
    own = next((edit for edit in reversed(scene.edits) if scales(edit, component)), None)
    if not isinstance(own, ScaleHead | ScaleMlp):
        return Scaled(component, spec.baseline, (focus.query,) if spec.scope == "query" else None, 1.0, scene.edits)
    others = tuple(edit for edit in scene.edits if edit != own)  # also those of the component at other positions
    return Scaled(component, own.baseline, own.positions, own.scale, others)


def _edited_last(scene: HeadScene) -> Component | None:
    found = [edit for edit in scene.edits if isinstance(edit, ScaleHead | ScaleMlp)]
    return Component(found[-1].layer, getattr(found[-1], "head", None)) if found else None


def _existing(component: Component, scene: HeadScene) -> Component:
    config = scene.base.model.config
    layer = min(max(component.layer, 0), config.n_layers - 1)
    if component.head is None and not config.attention_only:
        return Component(layer)
    return Component(layer, min(max(component.head or 0, 0), config.n_heads - 1))


def scales(edit: Edit, component: Component) -> bool:
    """Return whether an edit scales a component."""
    if component.head is None:
        return isinstance(edit, ScaleMlp) and edit.layer == component.layer
    return isinstance(edit, ScaleHead) and (edit.layer, edit.head) == (component.layer, component.head)


def _curve(
    spec: Spec, scene: HeadScene, focus: Focus, scaled: Scaled, *, foil: int | None, known: Curve | None, task: Task
) -> Curve:
    """As many doses as it takes for the line between them to be the curve, to a pixel; those known are not run."""
    model, tokens = scene.base.model, scene.base.tokens
    base = run(model, tokens, scaled.others, base=scene.base) if scaled.others else scene.base
    found = dose_response(
        model,
        tokens,
        scaled.edit(),
        Span(LOWEST, HIGHEST, n_pixels=PIXELS),
        target=focus.target,
        foil=foil,
        metric=spec.response,
        position=focus.query,
        edits=scaled.others,
        base=base,
        known=None if known is None else (known.doses, known.response),
        task=Task(task.report, lambda glance: task.show(_shown(glance))),
    )
    return _shown(found)


def _shown(found: DoseResponse) -> Curve:
    return Curve(found.doses, found.response, found.direct, found.tangent)


def _value(spec: Spec, scene: HeadScene, focus: Focus, *, foil: int | None) -> float:
    """The response of the run at hand: where the handle is."""
    logits, intact = _logits(scene.trace, focus.query), _logits(scene.base, focus.query)
    metric = make_metric(spec.response, focus.target, foil, logits=logits[0, :], intact=intact[0, :])
    return float(metric.values(logits)[0])


def _logits(trace: Trace, position: int) -> Array:
    return trace.model.unembed(trace.resid_final[position : position + 1, :])


def y_range(curve: Curve) -> tuple[float, float]:
    """Return the range of the plot: the rerun's, opened towards the other two curves by at most 70 % of itself."""
    low, high = at_least(float(curve.response.min()), float(curve.response.max()))
    whole = high - low
    others = np.concatenate([curve.direct, curve.tangent])
    bottom = max(float(others.min()), low - 0.7 * whole)
    top = min(float(others.max()), high + 0.7 * whole)
    return min(low, bottom) - 0.05 * whole, max(high, top) + 0.05 * whole


def _y_title(spec: Spec, scene: HeadScene, focus: Focus) -> Reading:
    model = scene.base.model
    if spec.response == "kl":
        return (Piece("↑ KL divergence from the model as it is, nats"),)
    target = token_pieces(vocabulary_label(model, focus.target), "target")
    if spec.response == "logit" and focus.foil is not None:
        foil = token_pieces(vocabulary_label(model, focus.foil))
        return Piece("↑ logit difference "), *target, Piece(" minus "), *foil
    return Piece(f"↑ {_QUANTITIES[spec.response]} of "), *target


def choices(scene: HeadScene, focus: Focus) -> tuple[tuple[str, Component], ...]:
    """Return every head and MLP with its name, the selected head first and named so."""
    config = scene.base.model.config
    selected = Component(focus.layer, focus.head)
    rest = [Component(layer, head) for layer in range(config.n_layers) for head in range(config.n_heads)]
    if not config.attention_only:
        rest += [Component(layer) for layer in range(config.n_layers)]
    named = [(component_name(part), part) for part in rest if part != selected]
    return (f"{component_name(selected)} (selected)", selected), *named


def _reading(spec: Spec, scene: HeadScene, focus: Focus, scaled: Scaled, *, curve: Curve) -> Reading:
    """Whether it matters, by what happens at dose 0."""
    at = {place: int(np.argmin(np.abs(curve.doses - place))) for place in (0.0, 1.0)}
    value, removed = float(curve.response[at[1.0]]), float(curve.response[at[0.0]])
    direct = float(curve.direct[at[0.0]])
    drop, direct_drop = value - removed, value - direct
    texts = (
        [share(v) for v in (value, removed, direct)] if spec.response == "prob" else numbers((value, removed, direct))
    )
    hardly = _nats(spec.response, value, removed) < HARDLY
    answered = scaled.component.layer < scene.base.model.config.n_layers - 1  # a later layer is there to answer
    if answered and not hardly and abs(direct_drop) < THROUGH_OTHERS * abs(drop):
        return (
            Piece("Yes, "),
            Piece(scaled.name, strong=True),
            Piece(" through later heads: direct line "),
            Piece(texts[2], "direct", strong=True),
            Piece(", rerun "),
            Piece(texts[1], strong=True),
            Piece(" at dose 0"),
        )
    before, after = _verb(scaled)
    quantity = "logit difference" if spec.response == "logit" and focus.foil is not None else _QUANTITIES[spec.response]
    where = () if scaled.positions is None else (Piece(" at "), *_places(scene, scaled.positions))
    return (
        Piece(f"{'Hardly' if hardly else 'Yes'}: {before}"),
        Piece(scaled.name, strong=True),
        *where,
        Piece(f"{after} takes the {quantity} from {texts[0]} to "),
        Piece(texts[1], strong=True),
        Piece("; direct line says "),
        Piece(texts[2], "direct", strong=True),
    )


def _nats(response: str, value: float, removed: float) -> float:
    """How far apart two values of a response are, the same for a logit as for its probability: neither has a zero."""
    if response != "prob":
        return abs(value - removed)
    return abs(math.log(max(value, 1e-30)) - math.log(max(removed, 1e-30)))


def _verb(scaled: Scaled) -> tuple[str, str]:
    """Words around the component at dose 0."""
    return {"mean": ("holding ", " at its mean"), "resample": ("shuffling ", "")}.get(
        scaled.baseline, ("removing ", "")
    )


def _places(scene: HeadScene, positions: tuple[int, ...]) -> Reading:
    if len(positions) == 1:
        return token_pieces(token_label(scene.base, positions[0]))
    return (Piece(f"{len(positions)} positions"),)
