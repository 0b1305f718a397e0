"""The two rows above the cards: what is shown and selected, and the prompt with its next tokens.

Row 1: scene, model or data, the chip of edits; head, query, key, target, foil as pills; undo, back, forward.
Row 2: the prompt as tokens (or the samples as a rug), and what is predicted at the query.
"""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QVBoxLayout, QWidget

from kav.views import prompt as view

from .feed import Feed
from .head_bar import HeadBar
from .model_combo import ModelCombo
from .regression_bar import RegressionBar
from .sample_sets import SampleSets
from .session import Session
from .widgets.chip import EditedChip
from .widgets.giving_way import GivingWay
from .widgets.icon_button import IconButton
from .widgets.overflow import Overflow
from .widgets.predictions import PredictionsBar
from .widgets.prompt_edit import PromptEdit
from .widgets.segmented import Segmented
from .widgets.start_chip import StartChip

SCENES = {
    False: (("head", "Attention head"), ("regression", "Regression")),
    True: (("head", "Head"), ("regression", "Regression")),
}
SLACK = 100  # px to spare in the first row: it does not change with every token that is clicked
PREDICTIONS_WIDTH = {False: 332, True: 258}
PREDICTS_WIDTH, STEP, MOST_PREDICTS = 202, 24, 320  # one number, in the regression scene


class PromptBar(QWidget):
    """Follows the session like a panel does, and asks it to change."""

    undoRequested = Signal()

    def __init__(self, session: Session, sets: SampleSets, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("prompt.bar")
        self.session = session
        self._sets = sets
        self.compact = False
        self._predicts_width = PREDICTS_WIDTH
        self._build_first_row()
        self._build_second_row()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 2, 0, 8)
        column.setSpacing(0)
        column.addLayout(self._first)
        column.addLayout(self._second)
        self._wire()
        self._feed = Feed("prompt", view, session, spec=self._spec, parent=self)
        self._feed.drawn.connect(self._draw)
        self._feed.emptied.connect(self._on_feed_emptied)
        self._on_session_scene_changed()
        self._on_session_prompt_changed()
        self._feed.request()

    # --- building ------------------------------------------------------------------------------------------------

    def _build_first_row(self) -> None:
        self.scene = Segmented(SCENES[False], self, name="prompt.scene", label="scene", tip="what the panels show")
        self.model = ModelCombo(self.session, self)
        self.chip = EditedChip(self)
        self.head = HeadBar(self.session, self)
        self.regression = RegressionBar(self.session, self._sets, self)
        self.undo = IconButton("undo", "undo the last edit or drag (Ctrl+Z)", self, name="prompt.undo")
        self.back = IconButton("back", "back to the selection before (Alt+Left)", self, name="prompt.back")
        self.forward = IconButton("forward", "forward again (Alt+Right)", self, name="prompt.forward")
        self._buttons = (self.undo, self.back, self.forward)
        self._head_only = (self.model, *self.head.pills)
        self._first = QHBoxLayout()
        self._first.setContentsMargins(11, 3, 7, 3)
        self._first.setSpacing(8)
        regression = self.regression
        for widget in (self.scene, self.model, regression.samples, self.chip):
            self._first.addWidget(widget)
        self._first.addStretch(1)
        pills = (*self.head.pills, *regression.pills)
        self.more = Overflow(self, name="prompt.more")
        for widget in (*pills, *self._buttons, self.more):
            self._first.addWidget(widget)
        steps = (self.chip.set_short, self.model.set_short, self._drop_captions, self._drop_more, self._drop_buttons)
        self._giving_way = GivingWay(self._first, steps, slack=SLACK)

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
        self.scene.changed.connect(session.set_scene)
        self.start.clicked.connect(self._on_start_clicked)
        self.chip.resetRequested.connect(session.clear_edits)
        self.chip.removeRequested.connect(self._on_chip_remove_requested)
        self.undo.clicked.connect(self.undoRequested)
        self.back.clicked.connect(session.back)
        self.forward.clicked.connect(session.forward)
        self.prompt.textEdited.connect(session.set_prompt)
        self.prompt.strip.queryRequested.connect(session.select_query)
        self.prompt.strip.keyRequested.connect(self.head.select_key)
        self.predictions.targetRequested.connect(self.head.select_target)
        session.sceneChanged.connect(self._on_session_scene_changed)
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
            self._fit_right()
        self._fit_first()

    def _on_feed_emptied(self) -> None:
        """No run: tokens, predictions and what was selected among them are of another model."""
        self.prompt.strip.set_tokens(())
        self.predictions.set_predictions(())
        self.head.clear()

    def _draw_head(self, result: view.Result) -> None:
        strip = self.prompt.strip
        strip.set_tokens(result.labels)
        strip.set_weights(result.weights, result.weights_before)
        strip.set_selection(result.query, result.key)
        self.predictions.set_predictions(result.predictions)
        self.chip.set_edits(result.edits_text)
        self.head.show_result(result)
        self._update_start()

    def _on_session_scene_changed(self) -> None:
        head = self.session.kind == "head"
        self.scene.set_current(self.session.kind)
        for widget in self._head_only:
            widget.setVisible(head)
        self.regression.set_visible(not head)
        self._fit_first(anew=True)
        self._left.setCurrentIndex(0 if head else 1)
        self._right.setCurrentIndex(0 if head else 1)
        self._fit_right()

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
        self.predictions.set_compact(compact)
        self._fit_right()
        self._fit_first(anew=True)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_first()

    # --- what gives way in the first row where it has little room, in this order after the chip's and model's words ---

    def _fit_first(self, *, anew: bool = False) -> None:
        self._giving_way.fit(self.width(), anew=anew)

    def _drop_captions(self, drop: bool) -> None:
        for pill in (*self.head.pills[1:4], *self.regression.pills[2:]):
            pill.set_compact(drop or self.compact)

    def _drop_more(self, drop: bool) -> None:
        """Captions of values that speak for themselves, and the foil while there is none."""
        for pill in self.regression.pills[:2]:
            pill.set_compact(drop)
        unused = self.session.selection.foil is None
        self._foil_dropped = drop and unused and self.session.kind == "head"
        self.head.foil.setVisible(self.session.kind == "head" and not self._foil_dropped)

    def _drop_buttons(self, drop: bool) -> None:
        for button in self._buttons:
            button.setHidden(drop)
        foil = (self.head.foil,) if self._foil_dropped else ()
        self.more.hold((*foil, *(self._buttons if drop else ())))

    def _on_start_clicked(self) -> None:
        self.session.set_start_token(True)

    def _fit_right(self) -> None:
        """A longer number takes more room, and keeps it: the rug must not move while something is dragged."""
        if self.session.kind == "head":
            self._predicted.setFixedWidth(PREDICTIONS_WIDTH[self.compact])
            return
        wanted = STEP * math.ceil(self.regression.predicts.sizeHint().width() / STEP)
        self._predicts_width = min(max(self._predicts_width, wanted), MOST_PREDICTS)
        self._predicted.setFixedWidth(self._predicts_width)

    def _on_chip_remove_requested(self, index: int) -> None:
        if self.session.kind == "head":
            self.session.remove_edit(self.session.edits[index])
        else:
            document, n_doses = self.session.document, len(self.session.document.doses)
            if index < n_doses:
                self.session.set_sample_dose(document.doses[index][0], 1.0)
            else:
                self.session.set_sample_response(document.responses[index - n_doses][0], 1.0)
