"""What does it move? The logit (or the fit) as a sum of parts, and what the model predicts."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
from PySide6.QtWidgets import QStackedLayout

from kav.model.trace import Trace
from kav.views import attribution
from kav.views.predictions import predictions_reading, token_labels
from kav.views.words import Reading, number

from ..panel import Panel
from ..widgets.caption import Caption
from ..widgets.combo import Combo
from ..widgets.prediction_table import PredictionTable
from ..widgets.segmented import Segmented
from ..widgets.waterfall import Waterfall

PICTURES = (("bars", "Bars"), ("predictions", "Predictions"))
MOST_PLACES = 200  # samples whose x the list of queries offers; tokens from which it is filled when it is opened
LAYERS = (9, 7, 5, 4, 3, 2)  # of the logit lens in words, as there is room


class AttributionPanel(Panel):
    """A waterfall of parts; beside it the table of predictions."""

    name = "attribution"
    question = "What does it move?"
    titles: ClassVar[dict[str, str]] = {"head": "Attribution", "regression": "Attribution"}
    view = attribution
    lane = "aside"  # of a large model it takes half a second, and the other panels never wait for it

    def build(self) -> None:
        self._labels_of: Trace | None = None
        self.bars = Waterfall(self.body, name="attribution.bars")
        self.predictions = PredictionTable(self.body, name="attribution.predictions")
        self._stack = QStackedLayout(self.body)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self.bars)
        self._stack.addWidget(self.predictions)
        self.picture = Segmented(
            PICTURES, self, name="attribution.picture", label="picture", tip="The sum as bars, or the next tokens"
        )
        self.read_at = Combo(
            parent=self, name="attribution.read_at", label="read at", tip="Where the prediction is read: the query"
        )
        self.footer.addWidget(self.picture)
        self.footer.addStretch(1)
        self.footer.addWidget(Caption("read at", self))
        self.footer.addWidget(self.read_at)
        self.picture.changed.connect(self._on_picture_changed)
        self.read_at.changed.connect(self._on_read_at_changed)
        self.read_at.opening.connect(self._offer_samples)
        self.bars.partActivated.connect(self._on_bars_part_activated)
        self.predictions.targetRequested.connect(self._on_predictions_target_requested)

    # --- the three methods of a panel ----------------------------------------------------------------------------

    def spec(self) -> attribution.Spec | None:
        scene = self.session.scene()
        return None if scene is None else attribution.Spec(scene)

    def draw(self, result: attribution.Result) -> None:
        self.bars.set_result(result)
        self.predictions.set_predictions(result.predictions, lens_texts(result))
        if result.kind == "head":
            self._offer_tokens(result)
        else:
            self._show_place(result)

    def reading(self, result: attribution.Result) -> Reading:
        shown = self.picture.current() == "predictions" and result.kind == "head"
        return predictions_reading(result.predictions, result.read_at) if shown else result.reading

    def on_scene(self, kind: str) -> None:
        self.picture.setVisible(kind == "head")
        shown = self.picture.current() if kind == "head" else "bars"
        self._stack.setCurrentWidget(self.bars if shown == "bars" else self.predictions)

    def _offer_tokens(self, result: attribution.Result) -> None:
        """Offer every position of the prompt as the query."""
        trace = self.session.trace
        if trace is not None and trace is not self._labels_of:
            self._labels_of = trace
            if trace.n_tokens <= MOST_PLACES:
                self.read_at.set_options(_token_rows(trace))
        if trace is not None and trace.n_tokens > MOST_PLACES and result.read_at is not None:
            self.read_at.set_long((result.read_at.position, str(result.read_at)), partial(_token_rows, trace))
        elif result.read_at is not None:
            self.read_at.set_current(result.read_at.position)

    def _show_place(self, result: attribution.Result) -> None:
        """The place of the query; the samples' places are listed when the list is wanted."""
        self._labels_of = None
        here = self.session.document.x_query
        now = str(result.read_at) if result.read_at is not None else f"x = {number(here)}"
        self.read_at.set_options([(here, now)])

    def _offer_samples(self) -> None:
        """Offer the samples' places beside that of the query."""
        if self.session.kind != "regression" or self.result is None:
            return
        here, samples = self.session.document.x_query, self.session.document.samples
        x, _ = samples.take(np.arange(min(samples.n, MOST_PLACES)))
        places = sorted({float(value) for value in x} - {here})
        first = (here, self.read_at.currentText())
        self.read_at.set_options([first, *((place, f"x = {number(place)}") for place in places)])
        self.read_at.set_current(here)

    # --- what the person does ------------------------------------------------------------------------------------

    def _on_picture_changed(self, key: str) -> None:
        self._stack.setCurrentWidget(self.bars if key == "bars" else self.predictions)
        self.redraw()

    def _on_read_at_changed(self, place: object) -> None:
        if self.session.kind == "head":
            self.session.select_query(int(place))
        else:
            self.session.set_x_query(float(place))

    def _on_bars_part_activated(self, part: attribution.Part) -> None:
        if self.result is None or self.result.kind != self.session.kind:
            return
        if part.kind == "head":
            self.session.select_head(part.layer, part.head)
        elif part.kind == "source":
            self.session.select(key=part.index)
        elif part.kind == "sample":
            self.session.select_sample(part.index)

    def _on_predictions_target_requested(self, token: int) -> None:
        self.session.select(target=token)


def _token_rows(trace: Trace) -> list[tuple[object, str]]:
    return [(i, str(label)) for i, label in enumerate(token_labels(trace))]


def lens_texts(result: attribution.Result) -> tuple[str, ...]:
    """Return the logit lens in words, from many layers to the first and the last.

    The target's log-probability is read from the stream before and after layers.
    """
    if result.lens is None or result.target is None:
        return ()
    n = len(result.lens)
    texts = []
    for most in (n, *(few for few in LAYERS if few < n)) if n <= LAYERS[0] else LAYERS:
        shown = [round(i * (n - 1) / max(most - 1, 1)) for i in range(most)]
        values = " → ".join(number(float(result.lens[i])) for i in shown)
        texts.append(f"log-probability of {result.target.shown} through the layers: {values}")
    return tuple(texts)
