"""Where does it look? The smoother matrix of the head (or of the samples), and what can be looked at instead."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QHBoxLayout

from kav.model.tiles import MOST, Part
from kav.views import attention
from kav.views.scene import HeadScene, Scene
from kav.views.words import Piece

from ..attention_words import bar_ends, cell_rows
from ..panel import Panel
from ..widgets.color_bar import ColorBar
from ..widgets.gallery import Gallery
from ..widgets.inspector import Inspector
from ..widgets.matrix import MatrixView
from ..widgets.matrix_layout import MatrixData
from ..widgets.matrix_zoom import STEP
from ..widgets.mosaic import Mosaic
from ..widgets.segmented import Segmented

WEIGHTINGS = {
    "head": (("weight", "weight"), ("message", "× message"), ("logits", "in logits")),
    "compact": (("weight", "weight"), ("message", "message"), ("logits", "logits")),
    "regression": (("weight", "weight"), ("logits", "× response")),
    "headless": (("weight", "weight"), ("message", "× message")),
}
SHADINGS = (("linear", "linear"), ("log", "log"), ("rank", "rank"))
STAGES = (
    ("pattern", "Weights, after the softmax"),
    ("masked", "Scores, masked"),
    ("scores", "Scores, before the mask"),
)
NAVIGATOR = 0.43  # largest share of the width for mosaic or gallery


class AttentionPanel(Panel):
    """One matrix, and the mosaic of heads or the gallery of kernels to choose another."""

    name = "attention"
    question = "Where does it look?"
    titles: ClassVar[dict[str, str]] = {"head": "Attention", "regression": "Smoother matrix"}
    view = attention

    def build(self) -> None:
        self._wanted: dict[str, str] = {}  # the weighting chosen in each scene
        self._stage = "pattern"
        self.matrix = MatrixView(self.body, name="attention.matrix", label="weights, queries down and keys across")
        self.mosaic = Mosaic(self.body, name="attention.mosaic")
        self.gallery = Gallery(self.body, name="attention.gallery")
        self.inspector = Inspector(self)
        row = QHBoxLayout(self.body)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.matrix, 1)
        row.addWidget(self.mosaic)
        row.addWidget(self.gallery)
        self.body.installEventFilter(self)
        self._build_footer()
        self._build_stages()
        self.matrix.cellActivated.connect(self._on_matrix_cell_activated)
        self.matrix.cursorMoved.connect(self._on_matrix_cell_activated)
        self.matrix.cellHovered.connect(self._on_matrix_cell_hovered)
        self.matrix.partChanged.connect(self.request)
        self.session.modelChanged.connect(self._on_session_model_changed)
        self.mosaic.headRequested.connect(self.session.select_head)
        self.gallery.kernelRequested.connect(self.session.set_kernel)

    def _build_footer(self) -> None:
        self.weighting = Segmented(
            WEIGHTINGS["head"],
            self,
            name="attention.weighting",
            label="weighting",
            tip="What a cell says: the weight, weight × size of the message, or weight × message in logits",
        )
        self.shading = Segmented(
            SHADINGS, self, name="attention.shading", label="shading", tip="How values become colours; rank is per row"
        )
        self.bar = ColorBar(self)
        self.footer.addWidget(self.weighting)
        self.footer.addWidget(self.shading)
        self.footer.addStretch(1)
        self.footer.addWidget(self.bar)
        for control in (self.weighting, self.shading):
            control.changed.connect(self._on_control_changed)
        self.footer_bar.give_way(self.footer, (self._press_weighting, self._drop_shading))

    def _press_weighting(self, press: bool) -> None:
        self.weighting.set_dense(press or self.compact)

    def _drop_shading(self, drop: bool) -> None:
        drop = drop or self.compact
        self.shading.setVisible(not drop)
        self.footer_bar.more.hold((self.shading,) if drop else ())

    def _build_stages(self) -> None:
        """Put the stages before the weights into the context menu of the matrix."""
        self.stages = QActionGroup(self)
        for key, text in STAGES:
            action = QAction(text, self, checkable=True, checked=key == self._stage)
            action.setData(key)
            action.setObjectName(f"attention.stage.{key}")
            self.stages.addAction(action)
            self.matrix.addAction(action)
        self.matrix.addActions(self._zooms())
        self.matrix.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.stages.triggered.connect(self._on_stages_triggered)

    def _zooms(self) -> list[QAction]:
        """Zooming, for the context menu; the matrix knows the keys itself."""
        line = QAction(self, separator=True)
        found = [line]
        for key, text, slot in (
            ("in", "Zoom in\t+", self._on_zoom_in_triggered),
            ("out", "Zoom out\t−", self._on_zoom_out_triggered),
            ("all", "Show the whole matrix\t0", self.matrix.show_all),
        ):
            action = QAction(text, self)
            action.setObjectName(f"attention.zoom.{key}")
            action.triggered.connect(slot)
            found.append(action)
        return found

    def _on_zoom_in_triggered(self) -> None:
        self.matrix.zoom(STEP)

    def _on_zoom_out_triggered(self) -> None:
        self.matrix.zoom(1 / STEP)

    # --- the three methods of a panel ----------------------------------------------------------------------------

    def needs_logits(self) -> bool:
        return False

    def spec(self) -> attention.Spec | None:
        scene = self.session.scene()
        if scene is None:
            return None
        weighting = self.weighting.current()
        if weighting not in dict(WEIGHTINGS[self._options()]):
            weighting = "weight"
        return attention.Spec(scene, weighting, self.shading.current(), self._stage, self._part(scene))

    def _part(self, scene: Scene) -> Part | None:
        """The part of a long prompt's matrix that is looked at; a shorter one is computed whole."""
        long = isinstance(scene, HeadScene) and scene.trace.n_tokens > MOST
        return self.matrix.part if long else None

    def draw(self, result: attention.Result) -> None:
        head, squares = result.kind == "head", result.squares
        self.matrix.set_data(
            MatrixData(
                result.shade,
                diverging=result.diverging,
                visible=None if result.visible.all() else result.visible,
                row_labels=result.query_labels,
                column_labels=result.key_labels,
                row_axis=result.query_axis,
                column_axis=result.key_axis,
                row=result.query,
                column=result.key,
                row_title=Piece("query ↓" if head else "query x ↓", "query"),
                column_title=Piece("key →" if head else "key x →", "key"),
                size=result.n_pooled,
                corner=(0, 0) if squares is None else (squares.part.rows[0], squares.part.columns[0]),
                shape=(len(result.query_labels), len(result.key_labels)),
                cells=None if squares is None else (squares.rows, squares.columns),
            )
        )
        if head:
            self.mosaic.set_thumbs(result.thumbs, result.layer, result.head)
            self.mosaic.set_caption(result.role, result.role_text)
        else:
            self.gallery.set_shapes(result.gallery, result.kernel)
        low, high, note = bar_ends(result)
        self.bar.set_range(low, high, diverging=result.diverging, note=note)
        self.footer_bar.refit()
        self._share_out()

    def shows_edit(self, result: attention.Result) -> bool:
        return result.changed

    def on_compact(self, compact: bool) -> None:
        self.mosaic.set_compact(compact)
        self.footer_bar.refit(anew=True)
        self._offer_weightings()
        self._share_out()
        self.request()

    def on_scene(self, kind: str) -> None:
        self._offer_weightings()
        self.mosaic.setVisible(kind == "head")
        self.gallery.setVisible(kind == "regression")
        self.inspector.dismiss()

    def _options(self) -> str:
        """Which weightings there are now."""
        if self.session.kind == "regression":
            return "regression"
        model = self.session.model
        if model is not None and not model.config.has_logits:
            return "headless"
        return "compact" if self.compact else "head"

    def _on_session_model_changed(self) -> None:
        self._offer_weightings()

    def _share_out(self) -> None:
        """Give the navigator what it can use, and the matrix the rest."""
        width, height = self.body.width(), self.body.height()
        most = round(NAVIGATOR * width)
        self.mosaic.setFixedWidth(self.mosaic.wanted_width(height, most))
        self.gallery.setFixedWidth(min(self.gallery.wanted_width(height), most))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Share the room anew when the body changes its size."""
        if watched is self.body and event.type() == QEvent.Type.Resize:
            self._share_out()
        return super().eventFilter(watched, event)

    # --- what the person does ------------------------------------------------------------------------------------

    def _on_control_changed(self, key: str) -> None:
        self._wanted[self.session.kind] = self.weighting.current()
        self.request()

    def _offer_weightings(self) -> None:
        """Offer the weightings there are now, and choose again what was chosen in this scene if it is among them."""
        self.weighting.set_options(WEIGHTINGS[self._options()])
        self.weighting.set_current(self._wanted.get(self.session.kind, "weight"))

    def _on_stages_triggered(self, action: QAction) -> None:
        self._stage = action.data()
        reason = "" if self._stage == "pattern" else "Scores have no weighting or shading: show the weights again first"
        self.weighting.set_available(reason)
        self.shading.set_available(reason)
        self.request()

    def _on_matrix_cell_activated(self, row: int, column: int) -> None:
        result = self.result
        if result is None or result.kind != self.session.kind:
            return
        if result.kind == "regression":
            self.session.select_sample(int(result.sample_of_key[column]))
            if row != result.query:
                self.session.set_x_query(float(result.query_axis[row]), merge="query")
        elif row == result.query:
            self.session.select(key=column)
        else:
            # Another query asks another question: what it predicts is again the obvious target.
            place = result.place(row, column)
            key = column if place is None or result.visible[place] else None
            self.session.select(query=row, key=key, target=None, foil=None)

    def _on_matrix_cell_hovered(self, row: int, column: int) -> None:
        if row < 0 or self.result is None or self.result.place(row, column) is None:
            self.inspector.dismiss()
            return
        place = self.matrix.cell_rect(row, column).toAlignedRect()
        corner = self.matrix.mapToGlobal(place.topLeft())
        self.inspector.explain(QRect(corner, place.size()), cell_rows(self.result, row, column))
