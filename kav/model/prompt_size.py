"""Prompts that are too long, for the model or for the memory: how long they may be, and a part of them that fits."""

from __future__ import annotations

from dataclasses import dataclass

from kav.errors import ModelError, PromptError
from kav.model.config import Config
from kav.model.forecast import forecast_trace, free_memory, size_text
from kav.model.model import Model
from kav.model.prompts import check_tokens
from kav.model.tiles import MOST
from kav.model.tokenizer import Tokens

SHARE = 0.5  # of the free memory that a run may take
CELL = 48
"""Bytes per cell that is shown of the head that is looked at: position, score, weight, value, and its colours."""


@dataclass(frozen=True)
class Room:
    """How many tokens a prompt may have, and why: by the "model" or by the "memory"."""

    n_tokens: int
    why: str
    n_free: int | None = None


def run_bytes(config: Config, n_tokens: int) -> int:
    """Return what one run and what is shown of one head take."""
    return forecast_trace(config, n_tokens).n_bytes + CELL * min(n_tokens, MOST) ** 2


def room(model: Model, *, n_free: int | None = None) -> Room:
    """Return how many tokens a prompt of this model may have now.

    Parameters
    ----------
    model : Model
    n_free : int or None
        Free bytes; None = as found.
    """
    free = free_memory() if n_free is None else n_free
    n_ctx = model.config.n_ctx
    if free is None or run_bytes(model.config, n_ctx) <= SHARE * free:
        return Room(n_ctx, "model", free)
    low, high = 1, n_ctx  # the most that fits, by halving
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if run_bytes(model.config, middle) <= SHARE * free else (low, middle)
    return Room(low, "memory", free)


def check_prompt(model: Model, tokens: Tokens) -> None:
    """Refuse a prompt that the model has no room for, or half of the free memory.

    Raises
    ------
    PromptError
        With the number of tokens that fit.
    """
    check_tokens(tokens, model.config)
    n, found = len(tokens.ids), room(model)
    if n > found.n_tokens:
        needed, free = size_text(run_bytes(model.config, n)), size_text(found.n_free or 0)
        raise PromptError(
            f"a prompt must fit in half of the free memory, got {n:,} tokens that need {needed} of {free}",
            "cut the prompt",
            found.n_tokens,
            may_run=run_bytes(model.config, n) <= (found.n_free or 0),
        )


def cut(model: Model, text: str, n_tokens: int, *, keep: str = "last", bos: bool | None = None) -> str:
    """Return the end ("last") or the beginning ("first") of a text that is at most `n_tokens` tokens long.

    A start token that is added counts. Pieces may join otherwise at the cut: then a little more is cut.

    Raises
    ------
    ModelError
        If the text cannot be read by the model.
    """
    while (excess := len(tokens := model.encode(text, bos)) - n_tokens) > 0:
        shorter = _without(tokens, text, excess, keep=keep) if model.tokenizer is not None else _ids(text, excess, keep)
        if len(shorter) >= len(text):
            raise ModelError(f"a prompt must be one that can be cut to {n_tokens:,} tokens, got {text[:40]!r}")
        text = shorter
    return text


def _without(tokens: Tokens, text: str, excess: int, *, keep: str) -> str:
    """The text without `excess` of its tokens; tokens that were added have no span."""
    spans = [span for span in tokens.spans if span[1] > span[0]]
    if len(spans) <= excess:
        return ""
    # A character may span several tokens: one that lost a token goes as a whole.
    return text[spans[excess - 1][1] :] if keep == "last" else text[: spans[-excess][0]]


def _ids(text: str, excess: int, keep: str) -> str:
    words = text.replace(",", " ").split()
    return " ".join(words[excess:] if keep == "last" else words[:-excess])
