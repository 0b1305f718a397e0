"""The one observable state of the window: frozen values, one past-tense signal each, changed only by these methods.

Panels read it and ask it to change; none of them writes to another. Each method builds a new value, clamps it, returns
if it is equal, stores it, and emits once. What can be taken back goes through the undo stack as a whole `Document`;
where the person looks (head, query, key, target) has a back and forward history of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from kav.errors import KavError
from kav.model.edit_text import format_edit
from kav.model.edits import Edit
from kav.model.prompt_size import cut
from kav.model.trace import Trace
from kav.regression.samples import BUILT_IN
from kav.task import Task
from kav.views.scene import DEFAULT, HeadScene, RegressionScene, Scene, Selection
from kav.views.so_far import FirstLayers

from .document import Change, Document, with_edit
from .engine import Engine
from .looking import Looking, Place
from .regression_changes import RegressionChanges
from .runs import Runs, Wanted, example_ids, is_ids, run_prompt


class Session(Looking, RegressionChanges, QObject):
    """State of one window.

    Signals
    -------
    sceneChanged : head or regression. modelChanged : another model is open. traceChanged : the runs are new.
    selectionChanged : head, query, key, target, foil, or sample. editsChanged : edits of the model.
    samplesChanged : anything of the regression scene. problemRaised(error) : a request was refused; state is kept.
    said(sentence) : something was done that no panel shows. dragEnded : what was dragged (`dragging`) was let go.
    refined : exact numbers are there for what was approximate.
    """

    sceneChanged = Signal()
    modelChanged = Signal()
    promptChanged = Signal()
    traceChanged = Signal()
    selectionChanged = Signal()
    editsChanged = Signal()
    samplesChanged = Signal()
    problemRaised = Signal(object)
    said = Signal(str)
    dragEnded = Signal()
    refined = Signal()

    def __init__(self, engine: Engine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.engine = engine
        self.undo_stack = QUndoStack(self)
        self.model: Any = None
        self.prompt = DEFAULT.prompt
        self.bos: bool | None = None  # whether a start token stands first; None = as the model's own tokenizer does
        self.runs: Runs | None = None
        self.refused = False  # the model did not take the prompt, and there is no run to show
        self._first_layers: FirstLayers | None = None
        self._start_looking(Place(selection=Selection(layer=DEFAULT.layer, head=DEFAULT.head)))
        self.document = Document(samples=BUILT_IN[0])
        self._drag = 0
        self.dragging = False  # one thing changes again and again, under the mouse or an arrow key
        self._allowed: str | None = None  # the prompt that may take more than half of the memory
        self._told: Any = None  # the model whose device's failure was told
        engine.finished.connect(self._on_engine_finished)
        engine.failed.connect(self._on_engine_failed)

    # --- what there is -------------------------------------------------------------------------------------------

    @property
    def trace(self) -> Trace | None:
        """The run that the panels show, None before the first."""
        return None if self.runs is None else self.runs.trace

    @property
    def before(self) -> Trace | None:
        """The unedited run while edits are active, else None."""
        return None if self.runs is None or self.runs.edited is None else self.runs.base

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits of the model, in the order they were made."""
        return self.document.edits

    @property
    def edited(self) -> bool:
        """Whether the scene at hand differs from the model (or the samples) as it is."""
        return bool(self.edits if self.kind == "head" else self.document.doses or self.document.responses)

    def scene(self) -> Scene | None:
        """Return what the panels are asked about, None while there is nothing to show."""
        return self._regression_scene() if self.kind == "regression" else self._head_scene()

    def _head_scene(self) -> HeadScene | None:
        if self.runs is None:
            return None
        return HeadScene(self.runs.trace, self.selection, self.runs.edits, self.before, self.towards)

    def _regression_scene(self) -> RegressionScene:
        doc = self.document
        scene = RegressionScene(doc.samples, doc.kernel, doc.h, doc.x_query, self.place.sample)
        if not self.edited:
            return scene
        return replace(scene, samples=self.scaled(), doses=doc.doses, responses=doc.responses, before=scene)

    # --- model and prompt ----------------------------------------------------------------------------------------

    def set_model(self, model: Any, *, first_layers: FirstLayers | None = None) -> None:
        """Show another model; if it is the same one, read again or elsewhere, selection and edits stay.

        `first_layers` is what there is of a run of it, if anything.
        """
        if model is self.model:
            return
        before, self.model = self.model, model
        self.runs, self._first_layers = None, first_layers
        if model.tokenizer is None and not is_ids(self.prompt, model.config.d_vocab):
            self._set_prompt(example_ids(model.config.d_vocab))
        elif before is not None and before.tokenizer is None and model.tokenizer is not None:
            self._set_prompt(DEFAULT.prompt)
        if before is not None and (before.source, before.config) != (model.source, model.config):
            self._start_looking(Place(self.kind))
            self.undo_stack.clear()
            self._apply(replace(self.document, edits=()))
        self.modelChanged.emit()
        self._request_runs()

    def set_prompt(self, text: str) -> None:
        """Show another prompt; positions that it does not have are forgotten."""
        if text != self.prompt:
            self._set_prompt(text)
            self._request_runs()

    def _set_prompt(self, text: str) -> None:
        self.prompt = text
        selection = replace(self.selection, query=None, key=None, target=None, foil=None)
        self.towards = None
        self.place = replace(self.place, selection=selection)
        self.promptChanged.emit()

    def cut_prompt(self, n_tokens: int, keep: str) -> None:
        """Keep the "first" or "last" tokens of the prompt."""
        if self.model is not None:
            self.engine.submit("cut", partial(_cut, self.model, self.prompt, n_tokens, keep, self._start_token()))

    def run_all_the_same(self) -> None:
        """Run the prompt though it takes more than half of the free memory."""
        self._allowed = self.prompt
        self._request_runs()

    def cancel_run(self) -> None:
        """Give up the run; prompt and edits are again those of the last one that is whole."""
        self.engine.cancel("trace")
        runs = self.runs
        if runs is None:
            return
        if (runs.prompt, runs.bos) != (self.prompt, self._start_token()):
            self.bos = runs.bos
            self._set_prompt(runs.prompt)
        if runs.edits != self.edits:
            self._change(replace(self.document, edits=runs.edits), "cancel run")
            self.engine.cancel("trace")  # the change asked for what is already there
        self.traceChanged.emit()  # what was given up when the prompt changed is asked for again

    def set_start_token(self, bos: bool | None) -> None:
        """Put a start token first, or not (True, False), or let the model's own tokenizer decide (None)."""
        if bos != self.bos:
            self.bos = bos
            self._request_runs()
            self.promptChanged.emit()

    def _request_runs(self) -> None:
        self.refused = False
        if self.model is not None:
            unasked = self.prompt != self._allowed
            wanted = Wanted(self.model, self.prompt, self.edits, self._start_token(), unasked, self._first_layers)
            self.engine.submit("trace", partial(run_prompt, wanted, self.runs), lane="runs")

    def _start_token(self) -> bool | None:
        """The choice of a start token where the model has one."""
        return self.bos if self.model.has_start_token else None

    def _on_engine_finished(self, channel: str, value: Any) -> None:
        self._tell_fallback()
        if channel == "cut":
            self.set_prompt(value)
        elif channel == "trace" and value.is_of(self.model) and value is not self.runs:
            self.runs, self._first_layers = value, None
            self.traceChanged.emit()

    def _tell_fallback(self) -> None:
        """Say once per model that its device failed and the CPU does its work."""
        if self.model is not None and self.model.fallback.text and self._told is not self.model:
            self._told = self.model
            self.problemRaised.emit(KavError(self.model.fallback.text))

    def _on_engine_failed(self, channel: str, error: BaseException) -> None:
        if channel in ("cut", "trace"):
            self.problemRaised.emit(error)
        if channel == "trace" and self.runs is None:
            self.refused = True
            self.traceChanged.emit()  # what is on screen is of the model before

    # --- what can be taken back ----------------------------------------------------------------------------------

    def put_edit(self, edit: Edit, *, merge: Hashable = None) -> None:
        """Edit the model; a neutral edit removes the one on the same thing."""
        self._change(with_edit(self.document, edit), format_edit(edit), merge)

    def remove_edit(self, edit: Edit) -> None:
        """Take one edit away."""
        kept = tuple(other for other in self.edits if other != edit)
        self._change(replace(self.document, edits=kept), f"take back {format_edit(edit)}")

    def clear_edits(self) -> None:
        """Show the model (or the samples) as it is."""
        cleared = {"edits": ()} if self.kind == "head" else {"doses": (), "responses": ()}
        self._change(replace(self.document, **cleared), "reset edits")

    def undo(self) -> None:
        """Take the last change back, and show the scene that it belongs to: nothing is undone unseen."""
        self._walk(self.undo_stack.undo)

    def redo(self) -> None:
        """Do it again, and show its scene."""
        self._walk(self.undo_stack.redo)

    def _walk(self, step: Callable[[], None]) -> None:
        before = self.document
        step()
        if before.edits != self.document.edits:
            self.set_scene("head")
        elif before != self.document:
            self.set_scene("regression")

    def end_drag(self) -> None:
        """Close the running undo step: the next drag of the same thing is a step of its own."""
        self._drag += 1
        if self.dragging:
            self.dragging = False
            self.dragEnded.emit()

    def _change(self, document: Document, text: str, merge: Hashable = None) -> None:
        if document == self.document:
            return
        key = None if merge is None else (merge, self._drag)
        self.dragging = merge is not None
        self.undo_stack.push(Change(self._apply, self.document, document, text=text, merge=key))

    def _apply(self, document: Document) -> None:
        before, self.document = self.document, document
        if before.edits != document.edits:
            self.editsChanged.emit()
            self._request_runs()
        if replace(before, edits=document.edits) != document:
            self.samplesChanged.emit()


def _cut(model: Any, text: str, n_tokens: int, keep: str, bos: bool | None, task: Task) -> str:
    task.report(0.0)
    return cut(model, text, n_tokens, keep=keep, bos=bos)
