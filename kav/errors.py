"""What KAV raises: one sentence with the rule and the value, and one way out."""

from __future__ import annotations


class KavError(Exception):
    """A request that cannot be carried out, said in one sentence.

    Parameters
    ----------
    message : str
        "<what> must <rule>, got <value>", lower case, no full stop.
    hint : str
        The way out, shown after the message; "" when the message holds it.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.hint = hint


class ModelError(KavError):
    """A model folder or file that cannot be opened, run or edited as asked."""


class NoOutputMatrixError(ModelError):
    """A checkpoint says that it has an output matrix of its own, and has none: the embedding may be used instead."""


class PromptError(ModelError):
    """A prompt that is too long.

    Parameters
    ----------
    message, hint : str
        See `KavError`.
    n_fit : int
        How many tokens it may have.
    may_run : bool
        It can be run all the same, if somebody says so.
    """

    def __init__(self, message: str, hint: str, n_fit: int, *, may_run: bool = False) -> None:
        super().__init__(message, hint)
        self.n_fit = n_fit
        self.may_run = may_run


class Cancelled(Exception):  # noqa: N818 - a signal to unwind, not a fault
    """Raised inside a computation whose answer nobody waits for any more."""
