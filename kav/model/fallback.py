"""From the GPU to the CPU when the GPU fails: the same numbers, one notice, and the program goes on.

A GPU can run out of memory, lose its driver, or hang up in the middle of anything. Whatever is computed from a model
goes through `with_fallback`: if the device fails, the model is copied to the CPU, once, and the work is done again
there. A GPU that ran out of memory is tried again next time; one whose driver is gone is not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from kav.arrays import DeviceFailure, device_failure, release_device_memory, to_host
from kav.errors import ModelError

if TYPE_CHECKING:
    from kav.model.model import Model

Answer = TypeVar("Answer")
P = ParamSpec("P")


class Fallback:
    """What is known about the failures of one model's device; belongs to the model and is shared by its threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.on_cpu: Model | None = None
        self.lost = False
        self.text = ""

    def notice(self, failure: DeviceFailure) -> str:
        """Take note of a failure; return the sentence that says so the first time, then ""; `text` keeps it."""
        with self.lock:
            self.lost = self.lost or failure.lost
            first = not self.text
            self.text = self.text or f"{failure.reason}; kav goes on, on the CPU"
        return self.text if first else ""


def with_fallback(model: Model, compute: Callable[[Model], Answer]) -> tuple[Answer, str]:
    """Return ``compute(model)``, or if the model's device fails, ``compute`` of the same model on the CPU.

    Parameters
    ----------
    model : Model
    compute : callable
        Must depend on no array of the model's device but through the model it is given.

    Returns
    -------
    answer
        Of `compute`.
    notice : str
        What to tell the user; "" if nothing failed, or if it was told before.

    Raises
    ------
    ModelError
        If the device's driver is gone and the model cannot be read again from where it was opened.
    """
    if model.fallback.lost:
        return compute(on_cpu(model)), ""
    try:
        return compute(model), ""
    except Exception as error:
        failure = device_failure(error)
        if failure is None:
            raise
    notice = model.fallback.notice(failure)  # outside the handler: it holds on to arrays of the failed attempt
    release_device_memory()
    return compute(on_cpu(model)), notice


def survives(function: Callable[Concatenate[Model, P], Answer]) -> Callable[Concatenate[Model, P], Answer]:
    """Return a function of a model that is called again with the model on the CPU if the model's device fails."""

    @wraps(function)
    def call(model: Model, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return with_fallback(model, lambda model: function(model, *args, **kwargs))[0]

    return call


def on_cpu(model: Model) -> Model:
    """Return the same model with its weights on the CPU; copied once, or read again if the device gives none back."""
    with model.fallback.lock:
        if model.fallback.on_cpu is None:
            model.fallback.on_cpu = _copied(model)
        return model.fallback.on_cpu


def _copied(model: Model) -> Model:
    try:
        weights = _to_host(model.weights)
    except Exception as error:
        if device_failure(error) is None:
            raise
        return _opened_again(model, error)
    return replace(model, weights=weights, device="cpu", fallback=Fallback())


def _opened_again(model: Model, error: Exception) -> Model:
    from kav.model.checkpoint import open_model  # imports this module through the model

    if not model.source:
        raise ModelError("a model must be readable on its device or from where it was opened, got neither") from error
    dtype = str(model.weights.W_E.dtype).rpartition(".")[2]
    return open_model(model.source, device="cpu", dtype=dtype, tied=model.tied)


def _to_host(value: Any) -> Any:
    """A frozen tree of dataclasses and tuples with every array on the host."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{item.name: _to_host(getattr(value, item.name)) for item in fields(value)})
    if isinstance(value, tuple):
        return tuple(_to_host(part) for part in value)
    return to_host(value) if hasattr(value, "shape") else value
