"""One number for every head and MLP: how much the prediction falls when it is removed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.arrays import Array
from kav.effects.component import as_edit, place_of
from kav.effects.dose import Reader, intact_logits
from kav.effects.metric import make_metric, narrow
from kav.effects.rerun import reads_one_row, reread, share_of
from kav.model.edits import Edit
from kav.model.fallback import survives
from kav.model.head import mlp_output
from kav.model.model import Model
from kav.model.outputs import baseline_of
from kav.model.tokenizer import Tokens
from kav.model.trace import Trace, run
from kav.task import Task

FIRST_RUN = 0.01
"""Share of the progress that the intact run takes."""


@dataclass(frozen=True, eq=False)
class AblationMap:
    """Drops of a metric, intact minus ablated: positive where the component helps.

    Parameters
    ----------
    heads : array, shape (n_layers, n_heads)
    mlps : array, shape (n_layers,)
        NaN where a layer has no MLP.
    value : float
        The metric with everything in place.
    metric : str
    target : int
    foil : int or None
    position : int
        Where the prediction is read, counted from the start.
    """

    heads: np.ndarray
    mlps: np.ndarray
    value: float
    metric: str
    target: int
    foil: int | None
    position: int


@survives
def ablation_map(
    model: Model,
    tokens: Tokens,
    *,
    target: int | None = None,
    foil: int | None = None,
    metric: str = "logit",
    baseline: str = "zero",
    position: int = -1,
    edits: tuple[Edit, ...] = (),
    base: Trace | None = None,
    task: Task | None = None,
) -> AblationMap:
    """Return the drop of the prediction when each head and each MLP is removed at every position, one at a time.

    The heads of a layer are run as one batch through the layers that remain.

    Parameters
    ----------
    model : Model
    tokens : Tokens
    target, foil : int or None
        Token ids; target None = the top prediction.
    metric : str
        "logit" (with a foil the logit difference), "log_prob", "prob" or "kl", whose drop is never positive.
    baseline : str
        What a removed component is replaced by: "zero", "mean" over this prompt, or "resample".
    position : int
        Where the prediction is read.
    edits : tuple of Edit
        Active throughout; a scaled component is removed from what the edit has made of it.
    base : Trace or None
        An earlier trace of this model and prompt to start from.
    task : Task or None
        Told as layers of the reruns are done; may cancel.

    Returns
    -------
    AblationMap

    Raises
    ------
    KavError
        If a token, position, metric or baseline does not exist.
    """
    as_edit(model, (0, 0), n_tokens=len(tokens.ids), baseline=baseline)  # refuses an unknown baseline
    trace = run(model, tokens, edits, base=base, task=share_of(task, 0.0, FIRST_RUN))
    model = trace.model  # on the CPU by now if its device failed
    row = trace.position(position)
    logits = model.unembed(trace.resid_final[row : row + 1, :])
    chosen = make_metric(metric, target, foil, logits=logits[0, :], intact=intact_logits(trace, row, metric))
    read = Reader(trace, row, *narrow(chosen, model.weights))
    value = read.value()
    heads, mlps = [], []
    n_layers = model.config.n_layers
    for layer in range(n_layers):
        done, left = [
            1 - (1 - FIRST_RUN) * (1 - step / n_layers) ** 2 for step in (layer, layer + 1)
        ]  # deeper: cheaper
        heads.append(value - _without_heads(read, layer, baseline, share_of(task, done, 0.9 * (left - done))))
        mlps.append(value - _without_mlp(read, layer, baseline))
        if task is not None:
            task.report(left)
    return AblationMap(np.stack(heads), np.asarray(mlps), value, metric, chosen.target, foil, row)


def _without_heads(read: Reader, layer: int, baseline: str, task: Task | None) -> np.ndarray:
    """The metric without each head of a layer, shape (n_heads,)."""
    trace, block = read.trace, read.trace.model.weights.blocks[layer]
    step = trace.layers[layer]
    lost = (step.z - baseline_of(step.z, baseline)) @ block.W_O  # (n_heads, n_tokens, d_model)
    return _without(read, layer, lost, of_mlp=False, task=task)


def _without_mlp(read: Reader, layer: int, baseline: str) -> float:
    """The metric without a layer's MLP; NaN where there is none."""
    trace = read.trace
    if trace.model.weights.blocks[layer].mlp is None:
        return float("nan")
    out = mlp_output(trace, layer)
    lost = (out - baseline_of(out, baseline))[None, :, :]
    return float(_without(read, layer, lost, of_mlp=True, task=None)[0])


def _without(read: Reader, layer: int, lost: Array, *, of_mlp: bool, task: Task | None) -> np.ndarray:
    """The metric after each of the losses (n_batch, n_tokens, d_model) from a half's output, shape (n_batch,)."""
    row, place = read.row, place_of(read.trace, layer, of_mlp=of_mlp, direction=lost[0, :, :])
    if reads_one_row(read.trace, place.layer, from_mid=place.from_mid):
        place, lost = place.rows(row, row + 1), lost[:, row : row + 1, :]

    def streams(start: int, stop: int) -> Array:
        return place.moved(-lost[start:stop, :, :])

    n_batch = lost.shape[0]
    final = reread(
        read.trace,
        streams,
        n_batch,
        n_rows=lost.shape[-2],
        layer=place.layer,
        from_mid=place.from_mid,
        position=row,
        first=row if lost.shape[-2] == 1 else 0,
        task=task,
    )
    return read.values(final)
