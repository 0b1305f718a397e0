"""Does it matter? The prediction as a function of a component's dose, by running the model again at every dose.

Beside the true rerun stand two things people use instead of it, so that the gap can be seen: the *direct* line, in
which nothing downstream answers and the final norm's scale is frozen, and the *tangent*, the exact derivative at
dose 1 (attribution patching). Where direct and rerun part, later layers compensate or the norm rescales.

References
----------
Nanda 2023, "Attribution patching"; McGrath et al. 2023, "The Hydra effect"; Heimersheim and Nanda 2024, "How to use and
interpret activation patching".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kav.arrays import Array, like
from kav.effects.component import ComponentLike, Injection, Scaled, as_edit, injection, run_without
from kav.effects.metric import Metric, make_metric, narrow
from kav.effects.readout import Readout, frozen_logits
from kav.effects.refine import Span, refined
from kav.effects.rerun import along, first_altered, share_of
from kav.effects.tangent import final_rate, logits_rate
from kav.errors import KavError
from kav.model.config import Weights
from kav.model.edits import LARGEST, Edit, ScaleMlp
from kav.model.fallback import survives
from kav.model.layers import cap, raw_logits, unembed
from kav.model.model import Model
from kav.model.tokenizer import Tokens
from kav.model.trace import Trace, run
from kav.task import Task

FIRST_RUN, SLOPE = 0.05, 0.1
"""Shares of the progress that the run at dose 1 and the derivative there take."""


@dataclass(frozen=True, eq=False)
class DoseResponse:
    """A dose-response curve.

    Parameters
    ----------
    doses : array, shape (n_doses,)
    response : array, shape (n_doses,)
        The metric's value in a true rerun at each dose.
    direct : array, shape (n_doses,)
        The metric's value if only the component's direct contribution changed, with the final norm's scale frozen; a
        straight line for the logit.
    tangent : array, shape (n_doses,)
        ``value + (dose - 1) * slope``.
    value : float
        The metric at dose 1.
    slope : float
        Exact derivative of the response at dose 1.
    metric : str
    target : int
    foil : int or None
    position : int
        Where the prediction is read, counted from the start.
    component : ScaleHead, ScaleMlp or ScaleEdge
        What was scaled, with baseline and positions.
    """

    doses: np.ndarray
    response: np.ndarray
    direct: np.ndarray
    tangent: np.ndarray
    value: float
    slope: float
    metric: str
    target: int
    foil: int | None
    position: int
    component: Scaled


@survives
def dose_response(
    model: Model,
    tokens: Tokens,
    component: ComponentLike,
    doses: Sequence[float] | np.ndarray | Span,
    *,
    target: int | None = None,
    foil: int | None = None,
    metric: str = "logit",
    baseline: str = "zero",
    positions: tuple[int, ...] | None = None,
    position: int = -1,
    edits: tuple[Edit, ...] = (),
    base: Trace | None = None,
    reference: Tokens | None = None,
    known: tuple[np.ndarray, np.ndarray] | None = None,
    task: Task | None = None,
) -> DoseResponse:
    """Return the response of the prediction to a component's dose: 1 = as the model runs, 0 = removed.

    The component's output x becomes ``b + dose * (x - b)``, b the baseline, and everything after it is run again.

    Parameters
    ----------
    model : Model
    tokens : Tokens
    component : (layer, head), ("mlp", layer), ScaleHead, ScaleMlp or ScaleEdge
        An edit's own baseline and positions count, its scale does not.
    doses : sequence of float, (n_doses,), or Span
        A `Span` measures as many doses as a picture of the curve needs.
    target, foil : int or None
        Token ids; target None = the top prediction at dose 1.
    metric : str
        "logit" (with a foil the logit difference), "log_prob", "prob", or "kl" from the model without any edit.
    baseline : str
        "zero", "mean" over all positions of this prompt (or of `reference`), or "resample".
    positions : tuple of int or None
        Where the component is scaled; None = every position.
    position : int
        Where the prediction is read.
    edits : tuple of Edit
        Stay active at every dose; one that scales this same component is left out. Where the component is given as an
        edit, one at other positions stays.
    base : Trace or None
        An earlier trace of this model and prompt to start from.
    reference : Tokens or None
        Text that a "mean" baseline is taken over, run without edits.
    known : tuple of two arrays, each (n_known,), or None
        Increasing doses, and the response at each in an earlier answer to the same question: they are not run again,
        nor shown.
    task : Task or None
        Told as layers are done; may cancel. With a `Span` it is shown the curve measured so far, a `DoseResponse` of
        fewer doses, whenever more are to follow.

    Returns
    -------
    DoseResponse

    Raises
    ------
    KavError
        If a dose is not finite, or component, token, position, metric or baseline does not exist.
    """
    if not isinstance(doses, Span):
        doses = _checked(doses)
    scaled = as_edit(model, component, n_tokens=len(tokens.ids), baseline=baseline, positions=positions)
    there = isinstance(component, Edit)
    part = share_of(task, 0.0, FIRST_RUN)
    trace = run_without(model, tokens, tuple(edits), scaled, there=there, base=base, task=part)
    model = trace.model  # on the CPU by now if its device failed
    row = trace.position(position)
    place = injection(trace, scaled, reference=None if reference is None else run(model, reference))
    logits = model.unembed(trace.resid_final[row : row + 1, :])  # (1, d_vocab)
    chosen = make_metric(metric, target, foil, logits=logits[0, :], intact=intact_logits(trace, row, metric))
    read = Reader(trace, row, *narrow(chosen, model.weights))

    value, slope = read.value(), read.slope(place, share_of(task, FIRST_RUN, SLOPE))

    def rerun(some: np.ndarray, part: Task | None) -> np.ndarray:
        response, new = _already(known, some)
        if new.any():
            final = along(trace, place, like(place.stream, some[new]), position=row, task=part)
            response[new] = read.values(final)
        return response

    def answer(amounts: np.ndarray, response: np.ndarray) -> DoseResponse:
        steps = like(place.stream, amounts)
        return DoseResponse(
            doses=amounts,
            response=response,
            direct=read.direct(place, steps, layer=scaled.layer, of_mlp=isinstance(scaled, ScaleMlp)),
            tangent=value + (amounts - 1) * slope,
            value=value,
            slope=slope,
            metric=metric,
            target=chosen.target,
            foil=foil,
            position=row,
            component=scaled,
        )

    def so_far(amounts: np.ndarray, response: np.ndarray) -> None:
        if task is not None and (known is None or len(amounts) > len(known[0])):
            task.show(answer(amounts, response))

    curve = share_of(task, FIRST_RUN + SLOPE, 1 - FIRST_RUN - SLOPE)
    if isinstance(doses, Span):
        return answer(*refined(rerun, doses, so_far=so_far, task=curve))
    return answer(doses, rerun(doses, curve))


@dataclass(frozen=True, eq=False)
class Reader:
    """A metric at one position of a run, with as much of the unembedding as it needs."""

    trace: Trace
    row: int
    metric: Metric
    weights: Weights

    def values(self, final: Array) -> np.ndarray:
        """Return the metric of final streams (n, d_model), shape (n,)."""
        return self.metric.values(unembed(self.trace.model.config, self.weights, final))

    def value(self) -> float:
        """Return the metric of the run itself."""
        return float(self.values(self._final())[0])

    def direct(self, place: Injection, doses: Array, *, layer: int, of_mlp: bool) -> np.ndarray:
        """Return the metric if nothing downstream answered and the scales of all norms stayed, shape (n_doses,)."""
        config, change = self.trace.model.config, place.direction[self.row : self.row + 1, :]
        readout = Readout(self.trace, (self.row, self.row + 1), self.metric.target)
        per_dose = frozen_logits(readout, self.weights, change, layer, of_mlp=of_mlp)  # (1, d_vocab)
        logits = raw_logits(config, self.weights, self._final())
        return self.metric.values(cap(logits + (doses - 1)[:, None] * per_dose, config.logit_cap))

    def slope(self, place: Injection, task: Task | None = None) -> float:
        """Return the metric's derivative along an injection, with everything downstream answering; may be cancelled."""
        lead = min(self.row, first_altered(self.trace, place))
        final = final_rate(
            self.trace,
            place.rate(),
            place.layer,
            from_mid=place.from_mid,
            position=self.row,
            lead=lead,
            task=task,
        )
        rate = logits_rate(self.trace, final, self.row, weights=self.weights)
        return float(self.metric.slopes(unembed(self.trace.model.config, self.weights, self._final()), rate)[0])

    def _final(self) -> Array:
        return self.trace.resid_final[self.row : self.row + 1, :]


def intact_logits(trace: Trace, row: int, metric: str) -> Array | None:
    """Return the logits (d_vocab,) of the model without any edit where "kl" needs them and this run has edits."""
    if metric != "kl" or not trace.edits:
        return None
    intact = run(trace.model, trace.tokens, base=trace)
    return trace.model.unembed(intact.resid_final[row : row + 1, :])[0, :]


def _already(known: tuple[np.ndarray, np.ndarray] | None, doses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The responses at doses, (n_doses,), and at which of them there is none yet, (n_doses,)."""
    response = np.full(doses.shape, np.nan)
    if known is None:
        return response, np.ones(doses.shape, dtype=bool)
    known_doses, known_response = known
    place = np.minimum(np.searchsorted(known_doses, doses), len(known_doses) - 1)
    there = known_doses[place] == doses
    response[there] = known_response[place[there]]
    return response, ~there


def _checked(doses: Sequence[float] | np.ndarray) -> np.ndarray:
    amounts = np.asarray(doses, dtype=np.float64)
    if amounts.ndim != 1 or amounts.size == 0:
        raise KavError(f"doses must have shape (n_doses,) with n_doses >= 1, got {amounts.shape}")
    fits = np.abs(amounts) <= LARGEST  # NaN does not
    if not fits.all():
        raise KavError(f"doses must be in -{LARGEST:g}..{LARGEST:g}, got {amounts[~fits][0]}")
    return amounts
