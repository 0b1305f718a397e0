"""Does it matter? Scale one component, rerun the model, and watch the prediction; the handle is an edit."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout

from kav.model.edits import ScaleHead, ScaleMlp
from kav.views import dose
from kav.views.head.dose import scales

from ..panel import Panel
from ..widgets.button import Button
from ..widgets.caption import Caption
from ..widgets.combo import Combo
from ..widgets.dose_plot import DosePlot
from ..widgets.value_field import ValueField

RESPONSES = (("logit", "logit"), ("log_prob", "log-probability"), ("prob", "probability"), ("kl", "KL"))
BASELINES = (("zero", "zero"), ("mean", "mean"), ("resample", "resample"))
SCOPES = (("all", "every position"), ("query", "this position"))


class DosePanel(Panel):
    """The true rerun, the direct line and the tangent over the dose."""

    name = "dose"
    question = "Does it matter?"
    titles: ClassVar[dict[str, str]] = {"head": "Dose response", "regression": "Dose response"}
    view = dose
    lane = "sweeps"  # a curve is many reruns: it must never delay a drag

    def build(self) -> None:
        self._component: dose.Component | None = None
        self._selected = (self.session.selection.layer, self.session.selection.head)
        self._edited_last: tuple[int, int | None] | None = None
        self.plot = DosePlot(self.body)
        row = QHBoxLayout(self.body)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.plot)
        self._build_footer()
        self.plot.doseMoved.connect(self._on_dose_moved)
        self.plot.dragEnded.connect(self.session.end_drag)
        self.session.dragEnded.connect(self.plot.settle)
        self.session.selectionChanged.connect(self._on_selection_changed)
        self.session.editsChanged.connect(self._on_edits_changed)
        self.session.samplesChanged.connect(self._update_reset)

    def _build_footer(self) -> None:
        chosen = f"head {self.session.selection.layer}.{self.session.selection.head}"  # until the first answer
        self.component = Combo([(None, chosen)], self, name="dose.component", label="component", tip="What is scaled")
        self.scope = Combo(name="dose.scope", label="scope", tip="Which part of it is scaled", parent=self)
        self._response_caption = Caption("response", self)
        self.response = Combo(
            RESPONSES, self, name="dose.response", label="response", tip="What is read off the prediction"
        )
        self._baseline_caption = Caption("baseline", self)
        self.baseline = Combo(
            BASELINES, self, name="dose.baseline", label="baseline", tip="What takes the place of what is removed"
        )
        self.value = ValueField(
            self, name="dose.dose", label="dose", tip="Scale of the component: 1 = as it runs, 0 = removed"
        )
        self.value.follow(1.0)
        self.value.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.reset = Button("Reset", self, name="dose.reset", tip="Back to dose 1, as it runs")
        for widget in (self.component, self.scope, self._response_caption, self.response):
            self.footer.addWidget(widget)
        for widget in (self._baseline_caption, self.baseline):
            self.footer.addWidget(widget)
        self.footer.addStretch(1)
        for widget in (Caption("dose", self), self.value, self.reset):
            self.footer.addWidget(widget)
        self.component.changed.connect(self._on_component_changed)
        for combo in (self.scope, self.response, self.baseline):
            combo.changed.connect(self._on_choice_changed)
        self.value.valueEntered.connect(self._on_value_entered)
        self.reset.clicked.connect(self._on_reset_clicked)
        self.reset.hide()
        steps = (self._drop_choices, self._drop_caption, self._drop_response)
        self.footer_bar.give_way(self.footer, steps)

    # --- the three methods of a panel ----------------------------------------------------------------------------

    def spec(self) -> dose.Spec | None:
        scene = self.session.scene()
        if scene is None:
            return None
        if self.session.kind == "regression":
            return dose.Spec(scene, scope=str(self.scope.current()))
        return dose.Spec(
            scene,
            self._component,
            response=str(self.response.current()),
            baseline=str(self.baseline.current()),
            scope=str(self.scope.current()),
        )

    def draw(self, result: dose.Result) -> None:
        self.plot.hurried = self.session.dragging
        self.plot.show_result(result)
        if result.kind == "head":
            self.component.set_options([(component, text) for text, component in result.choices])
            self.component.set_current(result.component)
        elif self.session.kind == "regression":  # a redraw may come before the other scene's first result
            sample = f"sample {result.component.sample}"
            self.scope.set_options((("weight", f"weight of {sample}"), ("response", f"response of {sample}")))
        self.value.follow(result.dose)
        self._update_reset()

    def on_scene(self, kind: str) -> None:
        head = kind == "head"
        self._component = None
        self.scope.set_options(SCOPES if head else (("weight", "weight"), ("response", "response")))
        self.scope.set_current("all" if head else "weight")
        self.component.setVisible(head)
        self.footer_bar.refit(anew=True)

    def on_compact(self, compact: bool) -> None:
        self.footer_bar.refit(anew=True)

    # --- what the footer drops where it has little room, in this order ---

    def _drop_choices(self, drop: bool) -> None:
        """Baseline and scope decide what "removed" means; they stay in reach."""
        head, drop = self.session.kind == "head", drop or self.compact
        for widget in (self._baseline_caption, self.baseline):
            widget.setVisible(head and not drop)
        self.scope.setVisible(not head or not drop)
        self._held = (self.baseline, self.scope) if head and drop else ()

    def _drop_caption(self, drop: bool) -> None:
        self._response_caption.setVisible(self.session.kind == "head" and not drop and not self.compact)

    def _drop_response(self, drop: bool) -> None:
        """The axis says what it is."""
        head = self.session.kind == "head"
        self.response.setVisible(head and not drop)
        self.footer_bar.more.hold((*self._held, *((self.response,) if head and drop else ())))

    def _update_reset(self) -> None:
        self.reset.setVisible(self.result is not None and self.result.dose != 1.0 and self.session.edited)
        self.footer_bar.refit()

    # --- what the person does ------------------------------------------------------------------------------------

    def _on_dose_moved(self, value: float) -> None:
        """The handle is an edit: every panel then shows the model at that dose."""
        result = self.result
        if result is None or result.kind != self.session.kind or self.session.scene() is None:
            return
        self.value.follow(value)
        component, merge = result.component, ("dose", result.component)
        if result.kind == "regression":
            if component.sample is not None and component.sample < self.session.document.samples.n:
                of_response = self.scope.current() == "response"
                scale = self.session.set_sample_response if of_response else self.session.set_sample_dose
                scale(component.sample, value, merge=(*merge, self.scope.current()))
            return
        query = self.session.query_among(self.session.trace.n_tokens)
        positions = (query,) if self.scope.current() == "query" else None
        baseline = str(self.baseline.current())
        if component.head is None:
            edit: ScaleHead | ScaleMlp = ScaleMlp(component.layer, value, baseline, positions)
        else:
            edit = ScaleHead(component.layer, component.head, value, baseline, positions)
        self.session.put_edit(edit, merge=merge)

    def _on_value_entered(self, value: float) -> None:
        self._on_dose_moved(value)
        self.session.end_drag()

    def _on_reset_clicked(self) -> None:
        self._on_dose_moved(1.0)
        self.session.end_drag()

    def _on_component_changed(self, component: dose.Component) -> None:
        self._component = component
        self.request()

    def _on_choice_changed(self, key: str) -> None:
        self.request()

    def _on_selection_changed(self) -> None:
        """Another head is selected: the panel follows it, whatever was edited before."""
        layer, head = self.session.selection.layer, self.session.selection.head
        if (layer, head) != self._selected:
            self._selected = (layer, head)
            self._component = dose.Component(layer, head)
            if self.result is None:
                self.component.set_options([(None, f"head {layer}.{head}")])
            self.request()

    def _on_edits_changed(self) -> None:
        """Another component is scaled: the panel follows it, whatever is selected."""
        self._update_reset()
        last = next((edit for edit in reversed(self.session.edits) if isinstance(edit, ScaleHead | ScaleMlp)), None)
        place = None if last is None else (last.layer, last.head if isinstance(last, ScaleHead) else None)
        if place != self._edited_last:
            self._edited_last, self._component = place, None
            self.request()
        if self.result is not None and self.result.kind == "head":
            found = [edit.scale for edit in self.session.edits if scales(edit, self.result.component)]
            self.plot.ask(found[-1] if found else 1.0)
