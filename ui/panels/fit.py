"""What is attention? The hero: the kernel fit of one query, in which everything can be dragged."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QStackedLayout, QVBoxLayout, QWidget

from kav.errors import KavError
from kav.regression.cost import CostStory, cost_story
from kav.task import Task
from kav.views import fit
from kav.views.regression.samples_file import curves, write_samples
from kav.views.regression.samples_table import samples_table
from kav.views.regression.stories import bandwidth_reading, cost_reading
from kav.views.tables import DATA_SUFFIXES
from kav.views.words import Reading, number, share, signed

from ..fit_edits import FitEdits
from ..job import Job
from ..panel import Panel
from ..refining import Refining
from ..widgets.bandwidth_plot import BandwidthPlot
from ..widgets.correspondence import Correspondence
from ..widgets.cost_plot import CostPlot
from ..widgets.fit_footer import HeadFitFooter
from ..widgets.fit_plot import FitPlot
from ..widgets.inspector import Inspector
from ..widgets.objective_inset import ObjectiveInset
from ..widgets.regression_footer import RegressionFitFooter

PICTURES = ("fit", "h", "cost")
WIDE = 1000  # from this width on the objective and the table both have room beside the plot


class FitPanel(Panel):
    """Observations, their weighted average, and the curve as the query moves."""

    name = "fit"
    question = "What is attention?"
    titles: ClassVar[dict[str, str]] = {"head": "Kernel fit", "regression": "Kernel fit"}
    view = fit

    def build(self) -> None:
        self._baseline = "none"
        self._weights = "normalised"
        self._objective_wanted = False
        self._edits = FitEdits(self.session, self, self)
        self.plot = FitPlot(self.body)
        self.correspondence = Correspondence(self.body)
        self.objective = ObjectiveInset(lambda: self.plot.frame_px, self.body)
        self.objective.hide()
        self.bandwidth_plot = BandwidthPlot(self.body)
        self.cost_plot = CostPlot(self.body)
        self.inspector = Inspector(self)
        self._stack = QStackedLayout(self.body)
        self._stack.setContentsMargins(0, 0, 0, 0)
        for page in (self._fit_page(), self.bandwidth_plot, self.cost_plot):
            self._stack.addWidget(page)
        self.head_footer = HeadFitFooter(self)
        self.regression_footer = RegressionFitFooter(self.footer_bar.more, self)
        for footer in (self.head_footer, self.regression_footer):
            self.footer.addWidget(footer)
        self._cost = Job("fit.cost", self.session.engine, self)
        self._file = Job("fit.file", self.session.engine, self)
        self._refining = Refining(self.session, self.stage, self)
        self._connect_plot()
        self._connect_footers()
        self._connect_jobs()

    def _fit_page(self) -> QWidget:
        """The plot, the objective beside it, and the table."""
        page = QWidget(self.body)
        row = QHBoxLayout(page)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.plot, 1)
        row.addWidget(self.objective)
        row.addSpacing(12)
        column = QVBoxLayout()
        column.setContentsMargins(0, 9, 0, 0)
        column.addWidget(self.correspondence)
        column.addStretch(1)
        row.addLayout(column)
        return page

    def _connect_plot(self) -> None:
        self.plot.queryMoved.connect(self._edits.move_query)
        self.plot.bandwidthMoved.connect(self._on_bandwidth_moved)
        self.plot.dotMoved.connect(self._edits.move_dot)
        self.plot.dotClicked.connect(self._edits.select_dot)
        self.plot.dotRemoved.connect(self._edits.remove_dot)
        self.plot.sampleAdded.connect(self._on_sample_added)
        self.plot.dragEnded.connect(self.session.end_drag)
        self.session.dragEnded.connect(self.plot.settle)
        self.session.editsChanged.connect(self._ask)
        self.session.selectionChanged.connect(self._ask)
        self.plot.hovered.connect(self._on_plot_hovered)
        self.correspondence.rowHovered.connect(self.plot.set_ring)
        self.bandwidth_plot.bandwidthMoved.connect(self._on_bandwidth_moved)
        self.bandwidth_plot.dragEnded.connect(self.session.end_drag)

    def _connect_footers(self) -> None:
        head, regression = self.head_footer, self.regression_footer
        head.towardsChosen.connect(self._edits.choose_towards)
        head.queryMoved.connect(self._edits.move_query)
        head.sharpnessMoved.connect(self._edits.set_sharpness)
        head.dragEnded.connect(self.session.end_drag)
        regression.bandwidthMoved.connect(self._on_bandwidth_moved)
        regression.bandwidthRefused.connect(self._on_bandwidth_refused)
        regression.dragEnded.connect(self.session.end_drag)
        regression.baselineChosen.connect(self.set_baseline)
        regression.pictureChosen.connect(self.show_picture)
        regression.objectiveToggled.connect(self._on_objective_toggled)
        regression.measureRequested.connect(self._measure)
        self.stage.wayOutTaken.connect(self._on_way_out_taken)

    def _connect_jobs(self) -> None:
        for job in (self._cost, self._file):
            job.busied.connect(self.stage.set_busy)
            job.progressed.connect(self.stage.set_progress)
            job.failed.connect(self.session.problemRaised)
            self.stage.cancelRequested.connect(job.cancel)
        self._cost.finished.connect(self._on_cost_finished)

    def _ask(self) -> None:
        self.plot.ask(self._edits.asked())

    # --- the three methods of a panel ----------------------------------------------------------------------------

    def spec(self) -> fit.Spec | None:
        scene = self.session.scene()
        if scene is None:
            return None
        if self.session.kind == "head":
            return fit.Spec(scene)
        return fit.Spec(scene, self._baseline, self._weights, objective=self._objective_wanted)

    def draw(self, result: fit.Result) -> None:
        self.plot.hurried = self.session.dragging
        self.plot.show_result(result)
        self.correspondence.set_rows(result.rows)
        self.objective.set_objective(result.objective, result.f_text.rpartition(" ")[2])
        if result.kind == "head":
            self.head_footer.show_result(result, self._edits.query())
        else:
            self.bandwidth_plot.show_result(result)
            self.regression_footer.show_result(result)
        self.footer_bar.refit()
        self._arrange()
        self._refining.follow(result, self._feed.drawn_spec.scene)

    def reading(self, result: fit.Result) -> Reading:
        if self.picture == "cost":
            return cost_reading(self.cost_plot.story)
        return bandwidth_reading(result) if self.picture == "h" else result.reading

    def subtitle(self) -> str:
        return super().subtitle() + {"h": ", bandwidth", "cost": ", cost"}.get(self.picture, "")

    def on_compact(self, compact: bool) -> None:
        self.plot.set_compact(compact)
        self.head_footer.set_compact(compact)
        self.regression_footer.set_compact(compact)
        self.footer_bar.refit(anew=True)
        self._arrange()

    def on_scene(self, kind: str) -> None:
        self.head_footer.setVisible(kind == "head")
        self.regression_footer.set_shown(kind == "regression")
        footer = self.head_footer if kind == "head" else self.regression_footer
        self.footer_bar.give_way(footer.row, footer.steps())
        self._stack.setCurrentIndex(PICTURES.index(self.picture))
        self._cost.cancel()
        self.inspector.dismiss()
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """The objective stands beside the plot; where the table has no room beside both, it makes place."""
        shown = self._objective_wanted and self.session.kind == "regression"
        self.objective.setVisible(shown)
        self.correspondence.setVisible(not self.compact and (not shown or self.width() >= WIDE))

    # --- the three pictures of the regression scene --------------------------------------------------------------

    @property
    def picture(self) -> str:
        """ "fit", "h" (error over bandwidths) or "cost"."""
        return self.regression_footer.picture.current() if self.session.kind == "regression" else "fit"

    def show_picture(self, picture: str) -> None:
        """Show another of the three pictures; the cost is measured when it is first seen."""
        self.regression_footer.show_picture(picture)
        self.footer_bar.refit(anew=True)
        self._stack.setCurrentIndex(PICTURES.index(self.picture))
        if picture != "cost":
            self._cost.cancel()
        elif self.cost_plot.story is None:
            self._measure()
        self.redraw()

    def _measure(self) -> None:
        """Time kernel ridge and the smoother, here and now."""
        kernel = self.session.document.kernel
        self._cost.start(partial(cost_story, kernel=kernel))

    def _on_cost_finished(self, story: CostStory) -> None:
        self.cost_plot.show_story(story)
        self.redraw()

    def _on_objective_toggled(self, shown: bool) -> None:
        self._objective_wanted = shown
        self._arrange()
        self.request()

    # --- menu and files ------------------------------------------------------------------------------------------

    def fill_menu(self, menu: QMenu) -> None:
        if self.session.kind != "regression":
            return
        menu.addSeparator()
        raw = menu.addAction("Weights as K(u), not summing to 1")
        raw.setObjectName("fit.raw_weights")
        raw.setCheckable(True)
        raw.setChecked(self._weights == "raw")
        raw.toggled.connect(self._on_raw_weights_toggled)

    def table(self) -> dict[str, Any] | None:
        if self.result is None or self.session.kind != "regression":
            return super().table()
        return samples_table(self.session.scene(), Task(), curves(self.result))

    def export_to(self, path: str) -> None:
        """Of the regression scene every sample is written, with fitted value and residual, by the engine."""
        if self.session.kind != "regression" or Path(path).suffix.lower() not in DATA_SUFFIXES:
            return super().export_to(path)
        return self._file.start(partial(write_samples, path, self.session.scene(), self.result))

    # --- what the person does ------------------------------------------------------------------------------------

    def _on_bandwidth_moved(self, h: float) -> None:
        if self._edits.is_shown("regression"):
            self.accept()
            self.session.set_h(h, merge="bandwidth")

    def _on_bandwidth_refused(self, message: str) -> None:
        best = self.result.loo_h if self._edits.is_shown("regression") else None
        way_out = "" if best is None else f"Use {number(best)}"
        self.refuse(KavError(message), way_out, best)

    def _on_way_out_taken(self, value: Any) -> None:
        self.regression_footer.forgive()
        self._on_bandwidth_moved(float(value))
        self.session.end_drag()

    def set_baseline(self, name: str) -> None:
        """Draw another estimate beside the fit: "none", a name, or "all"."""
        self._baseline = name
        self.regression_footer.baseline.set_current(name)
        self.request()

    def _on_sample_added(self, x: float, y: float) -> None:
        """The keyboard moves and removes the new sample."""
        self.session.add_sample(x, y)
        self.plot.active = f"dot{self.session.document.samples.n - 1}"

    def _on_raw_weights_toggled(self, raw: bool) -> None:
        self._weights = "raw" if raw else "normalised"
        self.request()

    def _on_plot_hovered(self, name: str) -> None:
        if not name.startswith("dot") or self.result is None or self.plot.dragged:
            self.inspector.dismiss()
            return
        index, points = self.plot.observation(int(name[3:])), self.result.points
        if index < 0:
            return
        head, label = self.result.kind == "head", self.result.labels[index]
        rows = [
            ("key", f"{label}  {label.exact}" if head and label.exact else str(label), ""),
            ("", "score" if head else "x", number(float(points.x[index]), self.result.decimals[0])),
            ("", "message" if head else "y", signed(float(points.y[index]), self.result.decimals[1])),
            ("", "weight", share(float(points.weight[index]))),
        ]
        x, y, r = self.plot.place_dots()[index]
        corner = self.plot.mapToGlobal(QPoint(round(x - r), round(y - r)))
        self.inspector.explain(QRect(corner.x(), corner.y(), round(2 * r), round(2 * r)), rows)
