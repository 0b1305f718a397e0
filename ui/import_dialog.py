"""What a table will become, before it does: its first rows, how it is written, which columns are x and y.

Everything guessed is shown and can be changed; what cannot be used is grey and says why.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QDialog, QHBoxLayout, QHeaderView, QLabel, QTableWidget, QTableWidgetItem, QVBoxLayout
from PySide6.QtWidgets import QWidget as Widget

from kav.errors import KavError
from kav.regression.dialect import Dialect
from kav.regression.samples import Samples
from kav.regression.tables import Table, samples_from, skipped_text

from . import theme
from .widgets.button import Button, Check
from .widgets.caption import Caption
from .widgets.combo import Combo

DELIMITERS = ((",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar"), (" ", "blanks"))
DECIMALS = ((".", "point"), (",", "comma"))
ENCODINGS = (("utf-8", "UTF-8"), ("utf-16", "UTF-16"), ("cp1252", "Windows-1252"))
ROW_NUMBER = -1
SIZE = (720, 430)
MOST_COLUMNS = 40  # in the preview


class ImportDialog(QDialog):
    """Preview of one table; not modal: the window behind stays alive.

    Signals
    -------
    readAgain(dialect, encoding) : the person knows better how the table is written. samplesAccepted(samples).
    """

    readAgain = Signal(object, object)
    samplesAccepted = Signal(object)

    def __init__(self, name: str, parent: Widget, *, of_file: bool) -> None:
        super().__init__(parent)
        self.setObjectName("dialog.import")
        self.setWindowTitle(f"Import {name}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(*SIZE)
        self._table: Table | None = None
        self._samples: Samples | None = None
        self._build_controls(of_file)
        self._build_preview()
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        for row in (self._written, self._chosen):
            column.addLayout(row)
        column.addWidget(self.preview, 1)
        column.addWidget(self.said)
        column.addLayout(self._buttons)
        self.show_progress("Reading …")

    def _build_controls(self, of_file: bool) -> None:
        self.delimiter = Combo(
            DELIMITERS, self, width=108, name="import.delimiter", label="delimiter", tip="Between two cells"
        )
        self.decimal = Combo(
            DECIMALS, self, width=88, name="import.decimal", label="decimal mark", tip="Before the decimals"
        )
        self.encoding = Combo(
            ENCODINGS, self, width=128, name="import.encoding", label="encoding", tip="How letters are written"
        )
        self.header = Check("names in the first row", self, name="import.header", tip="Or values, from there on")
        self.x = Combo(parent=self, name="import.x", label="x", tip="The column of x")
        self.y = Combo(parent=self, name="import.y", label="y", tip="The column of the response y")
        self._written, self._chosen = QHBoxLayout(), QHBoxLayout()
        rows: tuple[tuple[QHBoxLayout, tuple[Widget, ...]], ...] = (
            (self._written, (Caption("cells", self), self.delimiter, Caption("decimal", self), self.decimal)),
            (self._chosen, (Caption("x", self), self.x, Caption("y", self), self.y)),
        )
        for row, widgets in rows:
            row.setSpacing(8)
            for widget in widgets:
                row.addWidget(widget)
        self._written.addWidget(self.header)
        for widget in (Caption("encoding", self), self.encoding):
            widget.setVisible(of_file)
            self._written.addWidget(widget)
        for row, _ in rows:
            row.addStretch(1)
        for combo in (self.delimiter, self.decimal, self.encoding):
            combo.changed.connect(self._on_dialect_changed)
        self.header.clicked.connect(self._on_dialect_changed)
        self.x.changed.connect(self._on_column_changed)
        self.y.changed.connect(self._on_column_changed)

    def _build_preview(self) -> None:
        self.preview = QTableWidget(self)
        self.preview.setObjectName("import.preview")
        self.preview.setAccessibleName("first rows")
        self.preview.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.preview.setSelectionMode(QTableWidget.SelectionMode.NoSelection)
        self.preview.setFont(theme.font(12))
        self.preview.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.preview.verticalHeader().setDefaultSectionSize(22)
        self.said = QLabel(self)
        self.said.setObjectName("import.said")
        self.said.setTextFormat(Qt.TextFormat.PlainText)
        self.said.setWordWrap(True)
        self.said.setFont(theme.font(12))
        self.accept_button = Button("Import", self, name="import.accept", tip="Show these samples", primary=True)
        self.cancel_button = Button("Cancel", self, name="import.cancel", tip="Leave the samples as they are (Esc)")
        self.accept_button.setDefault(True)
        self.accept_button.clicked.connect(self.accept)
        self.cancel_button.clicked.connect(self.reject)
        self._buttons = QHBoxLayout()
        self._buttons.addStretch(1)
        self._buttons.addWidget(self.cancel_button)
        self._buttons.addWidget(self.accept_button)

    # --- what the importer says ----------------------------------------------------------------------------------

    def show_progress(self, text: str) -> None:
        """Say how far the reading is."""
        self._say(text)
        self.accept_button.set_available("The table is being read")

    def show_refusal(self, error: KavError) -> None:
        """Say why there is no table, or none like this; another dialect may be the way out."""
        self._samples = None
        self._say(f"{error.message}; {error.hint}" if error.hint else error.message, "error")
        self.accept_button.set_available(error.message)

    def show_table(self, table: Table) -> None:
        """Show a table as it was read."""
        self._table = table
        self.delimiter.set_current(table.dialect.delimiter)
        self.decimal.set_current(table.dialect.decimal)
        self.header.setChecked(table.dialect.header)
        self.encoding.set_current(table.encoding)
        self._fill_preview(table)
        usable = [(at, column.name) for at, column in enumerate(table.columns) if column.kind == "number"]
        self.x.set_options([(ROW_NUMBER, "row number"), *usable])
        self.y.set_options(usable)
        try:
            x, y = table.suggested()
        except KavError as error:
            return self.show_refusal(error)
        self.x.set_current(ROW_NUMBER if x is None else x)
        self.y.set_current(y)
        return self._on_column_changed()

    def _fill_preview(self, table: Table) -> None:
        columns = table.columns[:MOST_COLUMNS]
        grey = QColor(theme.current().disabled)
        self.preview.setColumnCount(len(columns))
        self.preview.setRowCount(len(table.first_rows))
        for at, column in enumerate(columns):
            head = QTableWidgetItem(column.name if column.kind == "number" else f"{column.name} ({column.kind})")
            head.setToolTip(column.reason or "numbers")
            self.preview.setHorizontalHeaderItem(at, head)
            for row, cells in enumerate(table.first_rows):
                item = QTableWidgetItem(cells[at])
                item.setToolTip(column.reason)
                if column.kind != "number":
                    item.setForeground(grey)
                self.preview.setItem(row, at, item)

    def _say(self, text: str, role: str = "text2") -> None:
        self.said.setText(text)
        self.said.setStyleSheet(f"color: {getattr(theme.current(), role)}")

    # --- what the person does ------------------------------------------------------------------------------------

    def dialect(self) -> Dialect:
        """Return how the table is said to be written."""
        delimiter, decimal = str(self.delimiter.current()), str(self.decimal.current())
        return Dialect(delimiter, decimal, self.header.isChecked())

    def _on_dialect_changed(self, *_: object) -> None:
        self.show_progress("Reading …")
        self.readAgain.emit(self.dialect(), self.encoding.current() if self.encoding.isVisible() else None)

    def _on_column_changed(self, *_: object) -> None:
        """Say what the two columns make: how many samples, which rows are set aside, which columns are no axis."""
        x = self.x.current()
        try:
            self._samples = samples_from(self._table, None if x == ROW_NUMBER else x, self.y.current())
        except KavError as error:
            return self.show_refusal(error)
        grey = [f"{one.name} is no axis: {one.reason}" for one in self._table.columns if one.reason]
        kept = f"{self._samples.n:,} samples" if self._samples.n != 1 else "1 sample"
        guess = "" if self._table.dialect == self._table.guessed else f"guessed: {self._table.guessed.in_words}"
        facts = (kept, skipped_text(self._samples), *self._table.notes, *grey[:4], guess)
        self._say("; ".join(fact for fact in facts if fact))
        return self.accept_button.set_available()

    def accept(self) -> None:
        """Show the samples; Enter does it too."""
        if self._samples is not None and self.accept_button.isEnabled():
            self.samplesAccepted.emit(self._samples)
