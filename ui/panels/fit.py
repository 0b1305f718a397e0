"""What is attention? The hero: the kernel fit of one query, in which everything can be dragged."""

from __future__ import annotations

from typing import Any, ClassVar

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from kav.errors import KavError
from kav.model.edits import MaskKeys, MoveQuery, SetScore, SetTemperature
from kav.views import fit
from kav.views.words import number, share, signed

from ..panel import Panel
from ..widgets.correspondence import Correspondence
from ..widgets.fit_footer import HeadFitFooter, RegressionFitFooter
from ..widgets.fit_plot import FitPlot
from ..widgets.inspector import Inspector


class FitPanel(Panel):
    """Observations, their weighted average, and the curve as the query moves."""

    name = "fit"
    question = "What is attention?"
    titles: ClassVar[dict[str, str]] = {"head": "Kernel fit", "regression": "Kernel fit"}
    view = fit

    def build(self) -> None:
        self._baseline = "none"
        self._weights = "normalised"
        self.plot = FitPlot(self.body)
        self.correspondence = Correspondence(self.body)
        self.inspector = Inspector(self)
        row = QHBoxLayout(self.body)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.plot, 1)
        row.addSpacing(12)
        column = QVBoxLayout()
        column.setContentsMargins(0, 9, 0, 0)
        column.addWidget(self.correspondence)
        column.addStretch(1)
        row.addLayout(column)
        self.head_footer = HeadFitFooter(self)
        self.regression_footer = RegressionFitFooter(self)
        self.footer.addWidget(self.head_footer)
        self.footer.addWidget(self.regression_footer)
        self._connect_plot()
        self._connect_footers()

    def _connect_plot(self) -> None:
        self.plot.queryMoved.connect(self._on_query_moved)
        self.plot.bandwidthMoved.connect(self._on_bandwidth_moved)
        self.plot.dotMoved.connect(self._on_dot_moved)
        self.plot.dotClicked.connect(self._on_dot_clicked)
        self.plot.dotRemoved.connect(self._on_dot_removed)
        self.plot.sampleAdded.connect(self.session.add_sample)
        self.plot.dragEnded.connect(self.session.end_drag)
        self.plot.hovered.connect(self._on_plot_hovered)
        self.correspondence.rowHovered.connect(self.plot.set_ring)

    def _connect_footers(self) -> None:
        head, regression = self.head_footer, self.regression_footer
        head.towardsChosen.connect(self._on_towards_chosen)
        head.queryMoved.connect(self._on_query_moved)
        head.sharpnessMoved.connect(self._on_sharpness_moved)
        head.dragEnded.connect(self.session.end_drag)
        regression.bandwidthMoved.connect(self._on_bandwidth_moved)
        regression.bandwidthRefused.connect(self._on_bandwidth_refused)
        regression.dragEnded.connect(self.session.end_drag)
        regression.baselineChosen.connect(self._on_baseline_chosen)
        regression.weightsChosen.connect(self._on_weights_chosen)
        self.stage.wayOutTaken.connect(self._on_way_out_taken)

    # --- the three methods of a panel ----------------------------------------------------------------------------

    def spec(self) -> fit.Spec | None:
        scene = self.session.scene()
        if scene is None:
            return None
        if self.session.kind == "head":
            return fit.Spec(scene)
        return fit.Spec(scene, self._baseline, self._weights)

    def draw(self, result: fit.Result) -> None:
        self.plot.show_result(result)
        self.correspondence.set_rows(result.rows)
        if result.kind == "head":
            self.head_footer.show_result(result, self._query())
        else:
            self.regression_footer.show_result(result)

    def on_compact(self, compact: bool) -> None:
        self.correspondence.setVisible(not compact)
        self.plot.set_compact(compact)
        self.head_footer.set_compact(compact)
        self.regression_footer.set_compact(compact)

    def on_scene(self, kind: str) -> None:
        self.head_footer.setVisible(kind == "head")
        self.regression_footer.setVisible(kind == "regression")
        self.inspector.dismiss()

    # --- what the person does ------------------------------------------------------------------------------------

    def _query(self) -> int:
        """The position of the query."""
        n_tokens = self.session.trace.n_tokens
        query = self.session.selection.query
        return n_tokens - 1 if query is None else query % n_tokens

    def _place(self) -> tuple[int, int]:
        """Layer and head."""
        return self.session.selection.layer, self.session.selection.head

    def _is_shown(self, kind: str) -> bool:
        """Whether what is on screen is that scene's picture; a late signal of the other one is ignored."""
        return self.session.kind == kind and self.result is not None and self.result.kind == kind

    def _on_query_moved(self, at: float) -> None:
        if self._is_shown("regression"):
            self.session.set_x_query(at, merge="query")
        elif self._is_shown("head") and self.result.towards is not None:
            self._move_query(self.result.towards, round(at, 3))

    def _move_query(self, towards: int, t: float) -> None:
        layer, head = self._place()
        edit = MoveQuery(layer, head=head, query=self._query(), towards=towards, t=t)
        self.session.put_edit(edit, merge="query")

    def _on_towards_chosen(self, position: int) -> None:
        if self._is_shown("head"):
            self.session.set_towards(position)
            if self.result.query_at != 0.0:
                self._move_query(position, self.result.query_at)
                self.session.end_drag()

    def _on_sharpness_moved(self, beta: float) -> None:
        if self._is_shown("head"):
            layer, head = self._place()
            self.session.put_edit(SetTemperature(layer, head=head, beta=beta), merge="sharpness")

    def _on_bandwidth_moved(self, h: float) -> None:
        if self._is_shown("regression"):
            self.accept()
            self.session.set_h(h, merge="bandwidth")

    def _on_bandwidth_refused(self, message: str) -> None:
        best = self.result.loo_h if self._is_shown("regression") else None
        way_out = "" if best is None else f"Use {number(best)}"
        self.refuse(KavError(message), way_out, best)

    def _on_way_out_taken(self, value: Any) -> None:
        self.regression_footer.forgive()
        self._on_bandwidth_moved(float(value))
        self.session.end_drag()

    def _on_dot_moved(self, index: int, x: float, y: float) -> None:
        if self._is_shown("regression"):
            self.session.select_sample(index)
            self.session.move_sample(index, x, y, merge=("sample", index))
        elif self._is_shown("head"):
            layer, head = self._place()
            edit = SetScore(layer, head=head, query=self._query(), key=index, value=round(x, 3))
            self.session.put_edit(edit, merge=("score", index))

    def _on_dot_clicked(self, index: int) -> None:
        if self._is_shown("regression"):
            self.session.select_sample(index)
        elif self._is_shown("head"):
            self.session.select(key=index)

    def _on_dot_removed(self, index: int) -> None:
        """Delete a sample; in a head, mask the key for this query, which is the same thing."""
        if self._is_shown("regression"):
            self.session.remove_sample(index)
        elif self._is_shown("head"):
            layer, head = self._place()
            self.session.put_edit(MaskKeys(layer, head=head, keys=(index,), queries=(self._query(),)))

    def _on_baseline_chosen(self, name: str) -> None:
        self._baseline = name
        self.request()

    def _on_weights_chosen(self, name: str) -> None:
        self._weights = name
        self.request()

    def _on_plot_hovered(self, name: str) -> None:
        if not name.startswith("dot") or self.result is None or self.plot.dragged:
            self.inspector.dismiss()
            return
        index, points = int(name[3:]), self.result.points
        head = self.result.kind == "head"
        label = self.result.labels[index]
        rows = [
            ("key", f"{label}  {label.exact}" if head and label.exact else str(label), ""),
            ("", "score" if head else "x", number(float(points.x[index]))),
            (
                "",
                "message" if head else "y",
                signed(float(points.y[index])) if head else number(float(points.y[index])),
            ),
            ("", "weight", share(float(points.weight[index]))),
        ]
        x, y, r = self.plot.place_dots()[index]
        corner = self.plot.mapToGlobal(QPoint(round(x - r), round(y - r)))
        self.inspector.explain(QRect(corner.x(), corner.y(), round(2 * r), round(2 * r)), rows)
