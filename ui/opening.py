"""Opening models: look, ask if it is large, read it off the GUI thread; the open one stays until the new one is whole.

What can be opened is looked for off the GUI thread as well: a folder on a drive that sleeps must not stop the window.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

import kav
from kav.arrays import probe
from kav.errors import KavError
from kav.model.forecast import size_text
from kav.model.local import BUNDLED, Place, bundled, cache_folder, cached, look, name_of
from kav.task import Task
from kav.views.so_far import FirstLayers, SoFar

from .recent import Recent
from .session import Session

ASK_ABOVE = 0.5  # of the free memory
LANE = "open"


@dataclass(frozen=True)
class Places:
    """The models that can be chosen without a file dialog."""

    recent: tuple[Place, ...] = ()
    cached: tuple[Place, ...] = ()
    bundled: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Question:
    """A model that takes more than half of what is free: open it all the same?"""

    source: str
    name: str
    n_bytes: int
    n_free: int

    def text(self) -> str:
        """Return the question in words."""
        return f"{self.name} needs {size_text(self.n_bytes)} of {size_text(self.n_free)} free. Open it?"


@dataclass(frozen=True)
class Opened:
    """A model that was read."""

    source: str
    model: Any
    first_layers: FirstLayers | None = None  # of the prompt, run while the rest was read


@dataclass(frozen=True)
class Gpu:
    """What was found when a GPU was looked for."""

    device: str | None
    words: str  # its name, or why there is none


@dataclass(frozen=True)
class _How:
    """How to open a model; see `Opening.open`."""

    device: str
    ask: bool
    strict: bool
    tied: bool
    prompt: str
    bos: bool | None


class Opening(QObject):
    """Opens the session's models, one at a time.

    Signals
    -------
    changed() : what is being opened, or how far it is. asked(Question). placesChanged(). gpuFound().
    """

    changed = Signal()
    asked = Signal(object)
    placesChanged = Signal()
    gpuFound = Signal()

    def __init__(self, session: Session, recent: Recent, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.recent = recent
        self.places = Places()
        self.gpu: Gpu | None = None
        self.name = ""  # of the model that is being opened, "" = none
        self.fraction = 0.0
        self.step = ""  # what is being read: "layer 3 of 30"
        self.so_far: SoFar | None = None  # the heads of the layers read so far, where reading takes long
        self.refused = ""  # the source that was refused last
        self._source = ""
        self._session = session
        self._engine = session.engine
        self._engine.progressed.connect(self._on_engine_progressed)
        self._engine.showed.connect(self._on_engine_showed)
        self._engine.finished.connect(self._on_engine_finished)
        self._engine.failed.connect(self._on_engine_failed)

    # --- opening -------------------------------------------------------------------------------------------------

    def open(self, source: str, *, ask: bool = True, strict: bool = False, tied: bool = False) -> None:
        """Open a model; a newer request replaces this one, `cancel` stops it.

        Parameters
        ----------
        source : str
            See `kav.open_model`.
        ask : bool
            Whether a large model is asked about first, through `asked`.
        strict : bool
            Whether to refuse a GPU that is chosen but not there; else the model runs on the CPU, and a notice says so.
        tied : bool
            Whether to use the embedding as the output matrix.
        """
        self._set(source, name_of(source))
        session = self._session
        how = _How(self.recent.device, ask and not strict, strict, tied, session.prompt, session.bos)
        work = partial(_open, source, how)
        self._engine.submit("model", work, lane=LANE)

    def cancel(self) -> None:
        """Stop opening; the open model stays."""
        self._engine.cancel("model")
        self._set("", "")

    def reopen(self) -> None:
        """Read the open model again: its files or the device are others now."""
        model = self._session.model
        if model is not None and model.source:
            self.open(model.source)

    def folder(self) -> str:
        """Return where a file dialog starts: beside the model opened last; "" = where the system says."""
        return str(Path(self.recent.sources[0]).parent) if self.recent.sources else ""

    def _set(self, source: str, name: str) -> None:
        self._source, self.name, self.fraction, self.step, self.so_far = source, name, 0.0, "", None
        self.changed.emit()

    def _on_engine_progressed(self, channel: str, fraction: float, text: str) -> None:
        if channel == "model" and self.name:
            self.fraction, self.step = fraction, text
            self.changed.emit()

    def _on_engine_showed(self, channel: str, so_far: SoFar) -> None:
        if channel == "model" and self.name:
            self.so_far = so_far
            self.changed.emit()

    def _on_engine_finished(self, channel: str, value: Any) -> None:
        if channel == "places":
            self.places = value
            self.placesChanged.emit()
        elif channel == "gpu":
            self.gpu = value
            self.gpuFound.emit()
        elif channel == "model" and value.source == self._source:  # else it was cancelled, or replaced, at the end
            self._set("", "")
            if isinstance(value, Question):
                self.asked.emit(value)
            else:
                self._show(value)

    def _show(self, opened: Opened) -> None:
        if opened.source not in BUNDLED.values():
            self.recent.add(opened.source)
        self.look()
        self._session.set_model(opened.model, first_layers=opened.first_layers)
        if opened.model.notes:
            self._session.problemRaised.emit(KavError(opened.model.notes[0], "; ".join(opened.model.notes[1:])))

    def _on_engine_failed(self, channel: str, error: BaseException) -> None:
        if channel == "model":
            self.refused = self._source
            self._set("", "")
            self.look()
            self._session.problemRaised.emit(error)

    # --- what there is to open, and where to run it --------------------------------------------------------------

    def look(self) -> None:
        """Look again which models there are; `placesChanged` follows."""
        self._engine.submit("places", partial(_look, self.recent.sources), lane=LANE)

    def forget(self) -> None:
        """Forget which models were opened."""
        self.recent.clear()
        self.look()

    def look_for_gpu(self) -> None:
        """Find out whether there is a GPU, once; `gpuFound` follows."""
        if self.gpu is None:
            self._engine.submit("gpu", _look_for_gpu, lane=LANE)

    def set_device(self, device: str, *, keep: bool = True) -> None:
        """Run models on another device, "auto", "cpu" or "cuda"; the open one is read again."""
        if device != self.recent.device:
            self.recent.set_device(device, keep=keep)
            self.reopen()


def _open(source: str, how: _How, task: Task) -> Opened | Question:
    task.report(0.0)
    device, lost = how.device, ""
    if device == "cuda" and not how.strict:
        found, words = probe()
        device, lost = (device, "") if found else ("cpu", f"the model runs on the CPU: {words}")
    question = _question(source, device) if how.ask and source not in BUNDLED.values() else None
    if question is not None:
        return question
    first = FirstLayers(task.show, how.prompt, how.bos)
    model = kav.open_model(source, device=device, tied=how.tied, task=task, so_far=first)
    name = name_of(source) + (" (output matrix: the embedding)" if how.tied else "")
    return Opened(source, replace(model, name=name, notes=(lost, *model.notes) if lost else model.notes), first)


def _question(source: str, device: str) -> Question | None:
    from kav.model.checkpoint import checkpoint  # first paint does not wait for the readers of files

    where = "cpu" if device == "cpu" else probe()[0] or "cpu"
    needed = checkpoint(source).forecast(where=where)
    if needed.n_free is None or not needed.fits or needed.share <= ASK_ABOVE:
        return None  # what cannot fit at all is refused in words by open_model
    return Question(source, name_of(source), needed.n_bytes, needed.n_free)


def _look(recent: tuple[str, ...], task: Task) -> Places:
    task.report(0.0)
    return Places(look(recent), cached(cache_folder(os.environ, Path.home())), bundled())


def _look_for_gpu(task: Task) -> Gpu:
    return Gpu(*probe())
