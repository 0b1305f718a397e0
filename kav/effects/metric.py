"""What a dose is judged by: one number read from the logits at one position.

"logit" is the target's logit, with a foil the difference of the two; "log_prob" and "prob" are those of the target;
"kl" is the divergence of the prediction from that of the intact model, ``sum p_intact log(p_intact / p)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kav.arrays import Array, namespace, to_host
from kav.errors import KavError
from kav.model.config import Weights
from kav.model.layers import columns

METRICS = ("logit", "log_prob", "prob", "kl")
"""Names of the metrics."""


@dataclass(frozen=True)
class Metric:
    """A metric with its tokens chosen.

    Parameters
    ----------
    name : str
        One of `METRICS`.
    target : int
        Token id.
    foil : int or None
        Token id whose logit is subtracted; for "logit" only.
    intact : array, shape (d_vocab,), or None
        Log-probabilities that "kl" compares with, on the model's device.
    """

    name: str
    target: int
    foil: int | None = None
    intact: Array | None = None

    def values(self, logits: Array) -> np.ndarray:
        """Return the metric of each row of logits (n, d_vocab), shape (n,), float64."""
        xp = namespace(logits)
        if self.name == "logit":
            return to_host(self._direction(logits)).astype(np.float64)
        log_probs = log_softmax(logits)
        if self.name == "kl":
            per_token = xp.exp(self.intact) * (self.intact - log_probs)
            return to_host(xp.sum(per_token, axis=-1)).astype(np.float64)
        chosen = to_host(log_probs[..., self.target]).astype(np.float64)
        return np.exp(chosen) if self.name == "prob" else chosen

    def slopes(self, logits: Array, changes: Array) -> np.ndarray:
        """Return the metric's derivative along `changes` of the logits, both (n, d_vocab); shape (n,), float64.

        With p the prediction: ``d log p_t = dl_t - sum p dl``, ``d p_t = p_t d log p_t`` and, as the intact
        prediction is constant, ``d kl = sum (p - p_intact) dl``.
        """
        xp: Any = namespace(logits, changes)
        if self.name == "logit":
            return to_host(self._direction(changes)).astype(np.float64)
        log_probs = log_softmax(logits)
        probs = xp.exp(log_probs)
        if self.name == "kl":
            return to_host(xp.sum((probs - xp.exp(self.intact)) * changes, axis=-1)).astype(np.float64)
        slope = changes[..., self.target] - xp.sum(probs * changes, axis=-1)
        return to_host(slope * probs[..., self.target] if self.name == "prob" else slope).astype(np.float64)

    def _direction(self, logits: Array) -> Array:
        chosen = logits[..., self.target]
        return chosen if self.foil is None else chosen - logits[..., self.foil]


def narrow(metric: Metric, weights: Weights) -> tuple[Metric, Weights]:
    """Return the metric and the weights with no more of the vocabulary than the metric reads.

    A logit needs one or two columns of W_U, everything else all of them.
    """
    if metric.name != "logit":
        return metric, weights
    ids = [metric.target] if metric.foil is None else [metric.target, metric.foil]
    xp = namespace(weights.W_U)
    b_U = None if weights.b_U is None else xp.concat([weights.b_U[token : token + 1] for token in ids], axis=0)
    small = replace(weights, W_U=columns(weights.W_U, ids), b_U=b_U)
    return Metric("logit", 0, None if metric.foil is None else 1), small


def log_softmax(logits: Array) -> Array:
    """Return log-probabilities along the last axis."""
    xp = namespace(logits)
    shifted = logits - xp.max(logits, axis=-1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))


def make_metric(
    name: str, target: int | None, foil: int | None, *, logits: Array, intact: Array | None = None
) -> Metric:
    """Return a checked metric; target None = the top prediction of `logits`.

    Parameters
    ----------
    logits : array, shape (d_vocab,)
        Logits of the run at dose 1.
    intact : array, shape (d_vocab,), or None
        Logits of the model without any edit, if not those.

    Raises
    ------
    KavError
        If the name or a token id does not exist, or a foil is given to a metric that has none.
    """
    if name not in METRICS:
        raise KavError(f"metric must be one of {', '.join(METRICS)}, got {name!r}")
    if foil is not None and name != "logit":
        raise KavError(f'metric must be "logit" where a foil is given, got {name!r}', "leave the foil out")
    target = choose_target(logits, target, foil)
    reference = log_softmax(logits if intact is None else intact) if name == "kl" else None
    return Metric(name, target, foil, reference)


def choose_target(logits: Array, target: int | None, foil: int | None = None) -> int:
    """Return the target's id, the top prediction of `logits` (d_vocab,) for None.

    Raises
    ------
    KavError
        If target or foil is not in the vocabulary.
    """
    xp = namespace(logits)
    for what, token in (("target", target), ("foil", foil)):
        if token is not None and not 0 <= token < logits.shape[0]:
            raise KavError(f"{what} must be a token id in 0..{logits.shape[0] - 1}, got {token}")
    return int(xp.argmax(logits)) if target is None else int(target)
