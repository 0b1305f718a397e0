"""By which circuit? W_QK and W_OV of the head with their spectra; in the regression scene the fit written as a head."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from PySide6.QtCore import QRect
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QWidget

from kav.errors import KavError
from kav.views import circuits
from kav.views.words import Piece, signed

from ..panel import Panel
from ..widgets.caption import Caption
from ..widgets.color_bar import ColorBar, level_text
from ..widgets.combo import Combo
from ..widgets.formula_view import FormulaView
from ..widgets.inspector import Inspector
from ..widgets.matrix import MatrixView
from ..widgets.matrix_layout import MatrixData
from ..widgets.segmented import Segmented
from ..widgets.spectrum import Spectrum
from ..widgets.value_field import ValueField

CIRCUITS = (("ov", "OV"), ("qk", "QK"))
SPACES = (("tokens", "prompt tokens"), ("d_model", "d_model"))
ROLES = {"ov": ("key", "target"), "qk": ("query", "key")}
UNITS = {
    "promotes": "logits of a full weight before the final norm divides them, by embeddings alone; "
    "not what the head adds on this prompt",
    "score": "scores by embeddings alone; not those of this prompt",
    "matrix": "entries of the matrix",
}
NARROW, WIDE, LEAST_WIDE = 164, 284, 202  # of the spectrum: one over the other, beside each other


class CircuitsPanel(Panel):
    """A signed table or heat map, and the spectrum beside it."""

    name = "circuits"
    question = "By which circuit?"
    titles: ClassVar[dict[str, str]] = {"head": "Circuits", "regression": "Circuits"}
    view = circuits
    lane = "long"  # of a large model it takes a second, and an edit never waits for it
    depends_on_run = False

    def build(self) -> None:
        self._exact = False  # whether the kernel of the samples is a head
        self._head = QWidget(self.body)
        self.matrix = MatrixView(self._head, name="circuits.matrix", label="circuit")
        self.spectrum = Spectrum(self._head, name="circuits.spectrum")
        self.spectrum.setFixedWidth(NARROW)
        self.formula = FormulaView(self.body, name="circuits.formula")
        self.inspector = Inspector(self)
        row = QHBoxLayout(self._head)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.matrix, 1)
        row.addWidget(self.spectrum)
        self._stack = QStackedLayout(self.body)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self._head)
        self._stack.addWidget(self.formula)
        self._build_footer()
        self.matrix.cellActivated.connect(self._on_matrix_cell_activated)
        self.matrix.cursorMoved.connect(self._on_matrix_cell_activated)
        self.matrix.cellHovered.connect(self._on_matrix_cell_hovered)

    def _build_footer(self) -> None:
        self.circuit = Segmented(
            CIRCUITS, self, name="circuits.circuit", label="circuit", tip="OV: what is moved. QK: where it looks"
        )
        self.space = Combo(
            SPACES, self, name="circuits.space", label="space", tip="Between tokens of the prompt, or the whole matrix"
        )
        self._offset_caption = Caption("offset", self)
        self.offset = ValueField(
            self,
            name="circuits.offset",
            label="offset",
            tip="Query position minus key position, in tokens: the rotation between them is part of W_QK",
            rule=self._broken_offset,
            written=_whole,
        )
        self.exact = Caption("exact for Gaussian and exp-dot-product", self)
        self.bar = ColorBar(self)
        for widget in (self.circuit, self.space, self._offset_caption, self.offset):
            self.footer.addWidget(widget)
        self.footer.addStretch(1)
        self.footer.addWidget(self.exact)
        self.footer.addWidget(self.bar)
        self.circuit.changed.connect(self._on_control_changed)
        self.space.changed.connect(self._on_control_changed)
        self.offset.valueEntered.connect(self._on_offset_value_entered)
        self.offset.refused.connect(self._on_offset_refused)
        self.session.modelChanged.connect(self._on_session_model_changed)

    # --- the three methods of a panel ----------------------------------------------------------------------------

    def needs_logits(self) -> bool:
        return self.circuit.current() != "qk"  # what a head promotes is read off by the output matrix

    def spec(self) -> circuits.Spec | None:
        scene = self.session.scene()
        if scene is None:
            return None
        if self.session.kind == "regression":
            return circuits.Spec(scene, circuit="qk")
        return circuits.Spec(scene, self.circuit.current(), str(self.space.current()), round(self.offset.value()))

    def draw(self, result: circuits.Result) -> None:
        if result.kind == "regression":
            self.formula.set_formula(result.formula)
            self._exact = result.formula.exact
            self.exact.setVisible(self._exact and self.circuit.isHidden())  # beside them there is no room for it
            return
        rows, columns = ROLES[result.circuit]
        tokens = result.space == "tokens"
        if result.values is not None:
            self.matrix.set_data(
                MatrixData(
                    result.values / (result.level or 1.0),
                    diverging=True,
                    row_labels=result.row_labels,
                    column_labels=result.column_labels,
                    row=result.row,
                    column=result.column,
                    row_role=rows,
                    column_role=columns,
                    row_title=_title(result.row_title, rows if tokens and result.circuit == "qk" else ""),
                    column_title=_title(result.column_title, columns if tokens and result.circuit == "qk" else ""),
                )
            )
        titles = (result.spectrum_title, result.eigen_title)
        self.spectrum.set_values(result.singular_values, result.eigenvalues, titles=titles, caption=result.eigen_note)
        low, high = (level_text(value, True) for value in (-result.level, result.level))
        self.bar.set_range(low, high, diverging=True, note=UNITS[_unit(result)])
        self._show_offset()
        self._show_titles()

    def subtitle(self) -> str:
        result = self.result
        cut = result is not None and result.kind == self.session.kind and len(result.tokens) < result.n_distinct
        return super().subtitle() + (f", {len(result.tokens)} of {result.n_distinct:,} tokens" if cut else "")

    def on_compact(self, compact: bool) -> None:
        self._share_out()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_out()

    def _share_out(self) -> None:
        """Give the spectrum its width, and in a small window no more than half."""
        self.spectrum.setFixedWidth(min(WIDE, max(LEAST_WIDE, self.width() // 2)) if self.compact else NARROW)

    def on_scene(self, kind: str) -> None:
        head = kind == "head"
        for widget in (self.circuit, self.space, self.bar):
            widget.setVisible(head)
        self.exact.setVisible(not head and self._exact)
        self._stack.setCurrentWidget(self._head if head else self.formula)
        self.inspector.dismiss()
        self._show_offset()

    def _show_offset(self) -> None:
        """Only the scores of a rotary model depend on how far apart query and key are."""
        model = self.session.model
        rotary = model is not None and model.config.position == "rotary"
        shown = rotary and self.session.kind == "head" and self.circuit.current() == "qk"
        self._offset_caption.setVisible(shown)
        self.offset.setVisible(shown)

    # --- what the person does ------------------------------------------------------------------------------------

    def _on_control_changed(self, key: object) -> None:
        self._show_offset()
        self.request()

    def _on_session_model_changed(self) -> None:
        self.offset.set_value(0.0)

    def _broken_offset(self, value: float) -> str:
        longest = self.session.model.config.n_ctx - 1 if self.session.model is not None else 0
        if value == round(value) and 0 <= value <= longest:
            return ""
        return f"offset must be a whole number from 0 to {longest}, got {value:g}".replace("-", "−")

    def _on_offset_value_entered(self, value: float) -> None:
        self.accept()
        self.request()

    def _on_offset_refused(self, message: str) -> None:
        self.refuse(KavError(message))

    def _on_matrix_cell_activated(self, row: int, column: int) -> None:
        """Select the tokens of a cell where the prompt has them; the target may be any token."""
        result, trace = self.result, self.session.trace
        if result is None or result.kind != "head" or not result.tokens or trace is None:
            return
        ids, n = trace.tokens.ids, trace.n_tokens
        chosen = self.session.selection.query
        query = n - 1 if chosen is None else chosen % n
        if result.circuit == "ov":
            key = last_place(ids, result.tokens[row], query)
            changes = {"target": result.tokens[column]} | ({} if key is None else {"key": key})
            self.session.select(**changes)
            return
        place = last_place(ids, result.tokens[row], n - 1)
        query = query if ids[query] == result.tokens[row] or place is None else place
        key = last_place(ids, result.tokens[column], query)
        self.session.select(query=query, **({} if key is None else {"key": key}))

    def _on_matrix_cell_hovered(self, row: int, column: int) -> None:
        result = self.result
        if row < 0 or result is None or result.values is None:
            self.inspector.dismiss()
            return
        place = self.matrix.cell_rect(row, column).toAlignedRect()
        corner = self.matrix.mapToGlobal(place.topLeft())
        self.inspector.explain(QRect(corner, place.size()), cell_rows(result, row, column))


def last_place(ids: tuple[int, ...], token: int, end: int) -> int | None:
    """Return the last position up to `end` at which the prompt has a token, None if it has none."""
    places = np.flatnonzero(np.asarray(ids[: end + 1]) == token)
    return int(places[-1]) if places.size else None


def cell_rows(result: circuits.Result, row: int, column: int) -> tuple[tuple[str, str, str], ...]:
    """Return what the inspector says about a cell."""
    roles = ROLES[result.circuit] if result.space == "tokens" else ("", "")
    names = []
    for labels, index in ((result.row_labels, row), (result.column_labels, column)):
        label = labels[index] if labels else None
        names.append(f"coordinate {index}" if label is None else f"{label}  {label.exact}".rstrip())
    unit, value = _unit(result), signed(float(result.values[row, column]))
    what = {"promotes": "by embeddings, before the norm", "score": "score by embeddings", "matrix": "entry"}[unit]
    return ((roles[0], names[0], ""), (roles[1], names[1], ""), ("", what, value))


def _unit(result: circuits.Result) -> str:
    """What the numbers are, a key of `UNITS`."""
    if result.space != "tokens":
        return "matrix"
    return "score" if result.circuit == "qk" else "promotes"


def _title(text: str, role: str) -> Piece:
    return Piece(text, role)


def _whole(value: float) -> str:
    return f"{value:.0f}"
