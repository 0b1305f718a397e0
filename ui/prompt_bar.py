"""The two rows above the cards: what is shown and selected, and the prompt with its next tokens.

Row 1: scene, model or data, the chip of edits; head, query, key, target, foil as pills; undo, back, forward.
Row 2: the prompt as tokens (or the samples as a rug), and what is predicted at the query.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QVBoxLayout, QWidget

from kav.errors import KavError
from kav.views import prompt as view
from kav.views.words import Label

from .feed import Feed
from .head_search import HeadSearch
from .model_combo import ModelCombo
from .regression_bar import RegressionBar
from .sample_sets import SampleSets
from .session import Session
from .token_search import TokenSearch
from .widgets.chip import EditedChip
from .widgets.icon_button import IconButton
from .widgets.pill import Pill
from .widgets.predictions import PredictionsBar
from .widgets.prompt_edit import PromptEdit
from .widgets.segmented import Segmented
from .widgets.start_chip import StartChip

SCENES = {
    False: (("head", "Attention head"), ("regression", "Regression")),
    True: (("head", "Head"), ("regression", "Regression")),
}
NO_FOIL = -1
WIDTHS = {  # of the pills: with captions, in the compact layout (0 = what the token needs), least
    "head": (108, 96, 96),
    "query": (0, 0, 97),
    "key": (0, 0, 97),
    "target": (0, 0, 84),
    "foil": (0, 0, 104),
}
ROOMY = 1400  # from this width on the chip has room to say what is edited
PREDICTIONS_WIDTH = {False: 332, True: 258}
PREDICTS_WIDTH = 202  # one number, in the regression scene


class PromptBar(QWidget):
    """Follows the session like a panel does, and asks it to change."""

    undoRequested = Signal()

    def __init__(self, session: Session, sets: SampleSets, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("prompt.bar")
        self.session = session
        self._sets = sets
        self.compact = False
        self._build_first_row()
        self._build_second_row()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 2, 0, 8)
        column.setSpacing(0)
        column.addLayout(self._first)
        column.addLayout(self._second)
        self._wire()
        self._listed: tuple[Label, ...] = ()  # the tokens that the lists of queries and keys hold
        self._feed = Feed("prompt", view, session, spec=self._spec, parent=self)
        self._feed.drawn.connect(self._draw)
        self._on_session_scene_changed()
        self._on_session_prompt_changed()
        self._feed.request()

    # --- building ------------------------------------------------------------------------------------------------

    def _build_first_row(self) -> None:
        self.scene = Segmented(SCENES[False], self, name="prompt.scene", label="scene", tip="what the panels show")
        self.model = ModelCombo(self.session, self)
        self.chip = EditedChip(self)
        head, query = (
            "layer.head; type a role, such as induction, to find heads",
            "the token that asks (click in the strip)",
        )
        key, target = "the token that is read (shift-click in the strip)", "the token whose logit is explained"
        self.head = Pill("Head", self, name="prompt.head", tip=head, steady=WIDTHS["head"])
        self.query = Pill("Query", self, role="query", name="prompt.query", tip=query, steady=WIDTHS["query"])
        self.key = Pill("Key", self, role="key", name="prompt.key", tip=key, steady=WIDTHS["key"])
        self.target = Pill("Target", self, role="target", name="prompt.target", tip=target, steady=WIDTHS["target"])
        foil = "a token whose logit is subtracted"
        self.foil = Pill("minus", self, name="prompt.foil", tip=foil, steady=WIDTHS["foil"])
        self.regression = RegressionBar(self.session, self._sets, self)
        self.undo = IconButton("undo", "undo the last edit or drag (Ctrl+Z)", self, name="prompt.undo")
        self.back = IconButton("back", "back to the selection before (Alt+Left)", self, name="prompt.back")
        self.forward = IconButton("forward", "forward again (Alt+Right)", self, name="prompt.forward")
        self._head_only = (self.model, self.head, self.query, self.key, self.target, self.foil)
        self._first = QHBoxLayout()
        self._first.setContentsMargins(11, 3, 7, 3)
        self._first.setSpacing(8)
        regression = self.regression
        for widget in (self.scene, self.model, regression.samples, self.chip):
            self._first.addWidget(widget)
        self._first.addStretch(1)
        pills = (self.head, self.query, self.key, self.target, self.foil, *regression.pills)
        for widget in (*pills, self.undo, self.back, self.forward):
            self._first.addWidget(widget)

    def _build_second_row(self) -> None:
        self.prompt = PromptEdit(self, name="prompt.text")
        self.start = StartChip(self.prompt)
        self.start.hide()
        self.prompt.layout().insertWidget(1, self.start, 0, Qt.AlignmentFlag.AlignBottom)
        self.predictions = PredictionsBar(self)
        self._left, self._right = QStackedLayout(), QStackedLayout()
        rug, predicts = self.regression.rug, self.regression.predicts
        for stack, widgets in ((self._left, (self.prompt, rug)), (self._right, (self.predictions, predicts))):
            for widget in widgets:
                stack.addWidget(widget)
        self._second = QHBoxLayout()
        self._second.setContentsMargins(11, 0, 11, 0)
        self._second.setSpacing(16)
        self._second.addLayout(self._left, 1)
        right = QWidget(self)
        right.setLayout(self._right)
        right.setFixedHeight(self.predictions.height())
        self._predicted = right
        self._second.addWidget(right)
        self.predictions.setMinimumWidth(0)
        right.setFixedWidth(PREDICTIONS_WIDTH[False])

    def _wire(self) -> None:
        session = self.session
        self._head_search = HeadSearch(self.head, session)
        self._target_search = TokenSearch(self.target, session, "search.target")
        self._foil_search = TokenSearch(self.foil, session, "search.foil")
        self.scene.changed.connect(session.set_scene)
        self.start.clicked.connect(self._on_start_clicked)
        self.chip.resetRequested.connect(session.clear_edits)
        self.chip.removeRequested.connect(self._on_chip_remove_requested)
        self.head.activated.connect(self._on_head_activated)
        self.query.activated.connect(session.select_query)
        self.key.activated.connect(self._on_key_activated)
        self.target.activated.connect(self._on_target_activated)
        self.target.typed.connect(self._on_target_typed)
        self.foil.activated.connect(self._on_foil_activated)
        self.foil.typed.connect(self._on_foil_typed)
        self.undo.clicked.connect(self.undoRequested)
        self.back.clicked.connect(session.back)
        self.forward.clicked.connect(session.forward)
        self.prompt.textEdited.connect(session.set_prompt)
        self.prompt.strip.queryRequested.connect(session.select_query)
        self.prompt.strip.keyRequested.connect(self._on_key_activated)
        self.predictions.targetRequested.connect(self._on_target_activated)
        session.sceneChanged.connect(self._on_session_scene_changed)
        session.modelChanged.connect(self._on_session_model_changed)
        session.promptChanged.connect(self._on_session_prompt_changed)
        session.selectionChanged.connect(self._update_buttons)
        session.undo_stack.indexChanged.connect(self._update_buttons)
        self._update_buttons()

    # --- what the session says -----------------------------------------------------------------------------------

    def _spec(self) -> view.Spec | None:
        scene = self.session.scene()
        return None if scene is None else view.Spec(scene)

    def _draw(self, result: view.Result) -> None:
        if result.kind == "head":
            self._draw_head(result)
        else:
            self.chip.set_edits(result.edits_text)
            self.regression.show_result(result)

    def _draw_head(self, result: view.Result) -> None:
        strip = self.prompt.strip
        strip.set_tokens(result.labels)
        strip.set_weights(result.weights, result.weights_before)
        strip.set_selection(result.query, result.key)
        self.predictions.set_predictions(result.predictions)
        self.chip.set_edits(result.edits_text)
        if result.labels is not self._listed:
            self._listed = result.labels
            tokens = [(i, _row_text(label)) for i, label in enumerate(result.labels)]
            for pill in (self.query, self.key):
                pill.set_options(tokens)
        self.head.set_value(f"{result.layer}.{result.head}", (result.layer, result.head))
        for pill, index in ((self.query, result.query), (self.key, result.key)):
            pill.set_value(result.labels[index], index)
        candidates = [(p.token, p.label.text) for p in result.predictions]
        self._target_search.set_candidates(candidates)
        self.target.set_value(result.target_label or "", result.target)
        self._foil_search.set_candidates([(NO_FOIL, "none"), *candidates])
        self.foil.set_value(result.foil_label or "none", NO_FOIL if result.foil is None else result.foil)
        self._update_start()

    def _on_session_scene_changed(self) -> None:
        head = self.session.kind == "head"
        self.scene.set_current(self.session.kind)
        for widget in self._head_only:
            widget.setVisible(head)
        self.regression.set_visible(not head)
        self._left.setCurrentIndex(0 if head else 1)
        self._right.setCurrentIndex(0 if head else 1)
        self._fit_right()

    def _on_session_model_changed(self) -> None:
        model = self.session.model
        config = model.config
        why = "" if config.has_logits else f"{model.name} predicts no tokens: it has no output head"
        for pill in (self.target, self.foil):
            pill.set_available(why)

    def _update_start(self) -> None:
        """Offer a start token where the model has one and the prompt has none."""
        trace = self.session.trace
        tokenizer = None if trace is None else trace.model.tokenizer
        first = None if tokenizer is None else tokenizer.bos_id
        self.start.setVisible(first is not None and trace.tokens.ids[0] != first)

    def _on_session_prompt_changed(self) -> None:
        self.prompt.set_text(self.session.prompt)

    def _update_buttons(self) -> None:
        back, forward = self.session.can_go()
        stack = self.session.undo_stack
        self.undo.set_available("" if stack.canUndo() else "nothing to undo")
        if stack.canUndo():
            self.undo.setToolTip(f"undo {stack.undoText()} (Ctrl+Z)")
        self.back.set_available("" if back else "no selection before this one")
        self.forward.set_available("" if forward else "this is the latest selection")

    # --- what the user does --------------------------------------------------------------------------------------

    def edit_prompt(self) -> None:
        """Open the line edit of the prompt."""
        self.prompt.set_editing(True)

    def set_compact(self, compact: bool) -> None:
        """Drop captions and show two predictions, or the other way round."""
        self.compact = compact
        self._first.setSpacing(6 if compact else 8)
        self.scene.set_options(SCENES[compact])
        self.model.set_compact(compact)
        for pill in (self.head, self.query, self.key, self.target, self.foil, *self.regression.pills[2:]):
            pill.set_compact(compact)
        self.predictions.set_compact(compact)
        self._fit_right()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.chip.set_short(self.width() < ROOMY)

    def _on_start_clicked(self) -> None:
        self.session.set_start_token(True)

    def _fit_right(self) -> None:
        head = self.session.kind == "head"
        self._predicted.setFixedWidth(PREDICTIONS_WIDTH[self.compact] if head else PREDICTS_WIDTH)

    def _on_chip_remove_requested(self, index: int) -> None:
        if self.session.kind == "head":
            self.session.remove_edit(self.session.edits[index])
        else:
            document, n_doses = self.session.document, len(self.session.document.doses)
            if index < n_doses:
                self.session.set_sample_dose(document.doses[index][0], 1.0)
            else:
                self.session.set_sample_response(document.responses[index - n_doses][0], 1.0)

    def _on_head_activated(self, place: Any) -> None:
        self.session.select_head(*place)

    def _on_key_activated(self, key: Any) -> None:
        self.session.select(key=key)

    def _on_target_activated(self, token: Any) -> None:
        self.session.select(target=token)

    def _on_target_typed(self, text: str) -> None:
        self._select_typed("target", text)

    def _on_foil_activated(self, token: Any) -> None:
        self.session.select(foil=None if token == NO_FOIL else token)

    def _on_foil_typed(self, text: str) -> None:
        self._select_typed("foil", text)

    def _select_typed(self, what: str, text: str) -> None:
        try:
            self.session.select(**{what: self.session.model.find_token(text)})
        except KavError as error:
            self.session.problemRaised.emit(error)


def _row_text(label: Label) -> str:
    return f"{label.position}  {'…' if label.joined else ''}{label.text}"
