"""The next tokens: what the model predicts at the query, before and after edits. Shared by two panels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kav.model.model import Model
from kav.model.tokenizer import Tokens
from kav.model.trace import Trace
from kav.views.scene import Focus, HeadScene
from kav.views.words import Label, Piece, Reading, share, token_pieces, was


@dataclass(frozen=True)
class Prediction:
    """One token with its probability at the query, before and after edits (before None without edits)."""

    token: int
    label: Label
    probability: float
    logit: float
    before: float | None = None
    is_target: bool = False


def predictions(scene: HeadScene, focus: Focus, n: int = 20) -> tuple[Prediction, ...]:
    """Return the `n` most probable next tokens at the query, then the target; none where the model predicts nothing."""
    if not scene.base.model.config.has_logits:
        return ()
    logits = scene.trace.logits(focus.query).astype(np.float64)
    probabilities = _softmax(logits)
    before = None if scene.before is None else _softmax(scene.before.logits(focus.query).astype(np.float64))
    ids = [int(i) for i in most_probable(probabilities, n)]
    return tuple(
        Prediction(
            token,
            vocabulary_label(scene.base.model, token),
            float(probabilities[token]),
            float(logits[token]),
            None if before is None else float(before[token]),
            token == focus.target,
        )
        for token in (ids if focus.target in ids else [*ids, focus.target])
    )


def predictions_reading(found: tuple[Prediction, ...], place: Label | None) -> Reading:
    """Return what is predicted in a sentence: `After ▼ 16 the: ◆ blue (0.900, was 0.351), then scar (0.003)`."""
    if not found or place is None:
        return ()
    pieces = [Piece("After "), *token_pieces(place, "query"), Piece(": ")]
    told = [found[0], *found[1:2], *(one for one in found[2:] if one.is_target)]
    for at, one in enumerate(told):
        pieces += [Piece("", "") if at == 0 else Piece(", then ")]
        pieces += [*token_pieces(one.label, "target" if one.is_target else ""), Piece(f" ({share(one.probability)}")]
        pieces += [*(() if one.before is None else was(share(one.before), share(one.probability))), Piece(")")]
    return tuple(piece for piece in pieces if piece.text)


def most_probable(values: np.ndarray, n: int) -> np.ndarray:
    """Return the indices of the `n` largest values, largest first, without sorting the whole vocabulary."""
    n = min(n, len(values))
    best = np.argpartition(-values, n - 1)[:n]
    return best[np.argsort(-values[best], kind="stable")]


def _softmax(logits: np.ndarray) -> np.ndarray:
    mass = np.exp(logits - logits.max())
    return np.asarray(mass / mass.sum())


def token_label(trace: Trace, position: int) -> Label:
    """Return the label of one token of the prompt."""
    return _label(trace.tokens, position)


def _label(tokens: Tokens, position: int) -> Label:
    joined = bool(tokens.joined) and tokens.joined[position]
    return Label(tokens.labels[position], position, joined, tokens.exact[position] if tokens.exact else "")


def token_labels(trace: Trace) -> tuple[Label, ...]:
    """Return the labels of all tokens of the prompt."""
    return _labels(trace.tokens)


@lru_cache(maxsize=4)
def _labels(tokens: Tokens) -> tuple[Label, ...]:
    """Made once for all panels: those of a long prompt take a while."""
    return tuple(_label(tokens, position) for position in range(len(tokens.ids)))


def target_pieces(scene: HeadScene, focus: Focus) -> Reading:
    """Return the target in a reading line, less the foil if there is one: `◆ blue minus red`."""
    target = token_pieces(vocabulary_label(scene.base.model, focus.target), "target")
    if focus.foil is None:
        return target
    return *target, Piece(" minus "), *token_pieces(vocabulary_label(scene.base.model, focus.foil))


def vocabulary_label(model: Model, token: int) -> Label:
    """Return the label of a vocabulary entry, such as a prediction or a target."""
    written = model.token(token)
    return Label(written.label, None, written.joined, written.exact)
