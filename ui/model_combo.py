"""The list of models in the prompt bar: the open one, and those to switch to."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from .opening import Places
from .session import Session
from .widgets.combo import Combo

WIDEST, NARROWEST = 380, 150  # at most, with the size of the model and without


class ModelCombo(Combo):
    """Names the open model with its size; another choice is a request, the open one stays named until it is met.

    Signals
    -------
    modelRequested(source).
    """

    modelRequested = Signal(str)

    def __init__(self, session: Session, parent: QWidget) -> None:
        tip = "the open model, and those to switch to"
        super().__init__((), parent, name="prompt.model", label="model", tip=tip, most=WIDEST)
        self._session = session
        self._places = Places()
        self._short = False
        self.changed.connect(self._on_self_changed)
        session.modelChanged.connect(self._show)

    def set_places(self, places: Places) -> None:
        """Let the list hold these, but for those that cannot be opened."""
        self._places = places
        self._show()

    def set_short(self, short: bool) -> None:
        """Leave the size of the model out, or show it."""
        if short != self._short:
            self._short = short
            self._most = NARROWEST if short else WIDEST
            self._show()

    def _show(self) -> None:
        model = self._session.model
        if model is None:
            return
        config, key = model.config, model.source or model.name
        size = f"{config.n_layers} × {config.n_heads} heads"
        places = (*self._places.recent, *self._places.bundled)
        others = {place.source: place.name for place in places if not place.problem and place.source != key}
        self.set_options([(key, model.name if self._short else f"{model.name}  ·  {size}"), *others.items()])
        self.set_current(key)
        self.setToolTip(f"{model.name}: {config.family}, {size}, d_model {config.d_model}\n{key}")

    def _on_self_changed(self, source: str) -> None:
        self._show()
        self.modelRequested.emit(source)
