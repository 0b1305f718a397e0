"""What a prompt must be to be run, and what two prompts have in common."""

from __future__ import annotations

from kav.errors import ModelError, PromptError
from kav.model.config import Config
from kav.model.forecast import forecast_trace
from kav.model.model import Model
from kav.model.tokenizer import Tokens

ASK_MEMORY = 1024
"""Tokens from which a run is only made if its memory is there."""


def check_memory(model: Model, n_tokens: int) -> None:
    """Refuse a run that cannot be held on the CPU; short prompts are not asked about.

    Raises
    ------
    ModelError
    """
    if n_tokens < ASK_MEMORY:
        return
    needed = forecast_trace(model.config, n_tokens, n_bytes=8 if "64" in str(model.weights.W_E.dtype) else 4)
    if model.device == "cpu" and not needed.fits:
        raise ModelError(
            f"the run of a prompt must fit in memory, got {needed.n_bytes / 1e9:.1f} GB for {n_tokens:,} tokens "
            f"and {(needed.n_free or 0) / 1e9:.1f} GB that are free",
            "cut the prompt",
        )


def check_tokens(tokens: Tokens, config: Config) -> None:
    """Refuse a prompt that is empty, too long, or made of ids that do not exist.

    Raises
    ------
    ModelError
        A `PromptError` if it is too long.
    """
    if not isinstance(tokens, Tokens):
        raise ModelError(f"tokens must come from model.encode or model.tokens, got {type(tokens).__name__}")
    n = len(tokens.ids)
    if n == 0:
        raise ModelError("a prompt must have at least one token, got 0", "type something, or turn the start token on")
    if n > config.n_ctx:
        raise PromptError(
            f"a prompt must fit the model, got {n:,} tokens, model limit {config.n_ctx:,}",
            "cut the prompt",
            config.n_ctx,
        )
    for number in tokens.ids:
        if not 0 <= number < config.d_vocab:
            raise ModelError(f"a token id must be in 0..{config.d_vocab - 1}, got {number}")


def common(config: Config, ids: tuple[int, ...], others: tuple[int, ...]) -> int:
    """Return the length of the common beginning; 0 where rotations depend on the prompt's length, and that differs."""
    if config.rotary_growth and len(ids) != len(others) and max(len(ids), len(others)) > config.rotary_n_ctx:
        return 0
    n = min(len(ids), len(others))
    return next((i for i in range(n) if ids[i] != others[i]), n)
