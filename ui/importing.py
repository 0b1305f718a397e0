"""Data from files, drops and the clipboard: read off the GUI thread, looked at in a dialog, then shown.

A paste that can only be meant one way (two columns of numbers, nothing left out) is shown at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from kav.errors import KavError
from kav.regression.dialect import Dialect
from kav.regression.samples import Samples
from kav.regression.tables import Table, read_file, read_text, samples_from
from kav.task import Task

from .import_dialog import ImportDialog
from .job import Job
from .sample_sets import SampleSets
from .session import Session

DROPPED = (".csv", ".tsv")  # by any other name a dropped file is taken for a model
KINDS = "Tables (*.csv *.tsv *.txt *.dat);;All files (*)"


@dataclass(frozen=True)
class Source:
    """Where a table comes from: a file, or a text that was pasted (`path` is "")."""

    path: str
    text: str = ""

    @property
    def name(self) -> str:
        """As it is shown."""
        return Path(self.path).name if self.path else "pasted"


def is_table(path: str) -> bool:
    """Return whether a file that is dropped is taken for a table of data, by its name."""
    return path.lower().endswith(DROPPED)


class Importing(QObject):
    """Reads one table at a time and, once it is accepted, shows its samples."""

    def __init__(self, session: Session, sets: SampleSets, window: QWidget) -> None:
        super().__init__(window)
        self.dialog: ImportDialog | None = None
        self._session, self._sets, self._window = session, sets, window
        self._source: Source | None = None
        self._folder = ""
        self._job = Job("import", session.engine, self)
        self._job.finished.connect(self._on_job_finished)
        self._job.failed.connect(self._on_job_failed)
        self._job.progressed.connect(self._on_job_progressed)

    def ask(self) -> None:
        """Ask for a file and look into it."""
        path, _ = QFileDialog.getOpenFileName(self._window, "Import data", self._folder, KINDS)
        if path:
            self.open(path)

    def open(self, path: str) -> None:
        """Look into a file; the dialog is there at once."""
        self._folder = str(Path(path).parent)
        self._source = Source(path)
        self._show_dialog()
        self._read(None, None)

    def paste(self) -> None:
        """Read what is on the clipboard."""
        text = QGuiApplication.clipboard().text()
        if not text.strip():
            error = KavError("the clipboard must hold a table as text, got nothing", "copy two columns of numbers")
            self._session.problemRaised.emit(error)
            return
        self._close_dialog()
        self._source = Source("", text)
        self._read(None, None)

    def cancel(self) -> None:
        """Give up reading; the samples stay."""
        self._job.cancel()
        self._close_dialog()

    # --- reading -------------------------------------------------------------------------------------------------

    def _read(self, dialect: Dialect | None, encoding: str | None) -> None:
        self._job.start(partial(_read, self._source, dialect, encoding))

    def _on_job_progressed(self, fraction: float, text: str) -> None:
        if self.dialog is not None:
            self.dialog.show_progress(text)

    def _on_job_finished(self, answer: tuple[Source, Table]) -> None:
        source, table = answer
        if source is not self._source:  # another one was opened meanwhile
            return
        if self.dialog is None:
            samples = only_way(table)
            if samples is not None:
                self._accept(samples)
                return
            self._show_dialog()
        self.dialog.show_table(table)

    def _on_job_failed(self, error: BaseException) -> None:
        if self.dialog is not None and isinstance(error, KavError):
            self.dialog.show_refusal(error)
        else:
            self._session.problemRaised.emit(error)

    # --- the dialog ----------------------------------------------------------------------------------------------

    def _show_dialog(self) -> None:
        self._close_dialog()
        self.dialog = ImportDialog(self._source.name, self._window, of_file=bool(self._source.path))
        self.dialog.readAgain.connect(self._read)
        self.dialog.samplesAccepted.connect(self._on_dialog_samples_accepted)
        self.dialog.rejected.connect(self.cancel)
        self.dialog.show()

    def _close_dialog(self) -> None:
        dialog, self.dialog = self.dialog, None
        if dialog is not None:
            dialog.close()

    def _on_dialog_samples_accepted(self, samples: Samples) -> None:
        self._close_dialog()
        self._accept(samples)

    def _accept(self, samples: Samples) -> None:
        self._source = None
        self._sets.add(samples)
        self._session.set_scene("regression")


def only_way(table: Table) -> Samples | None:
    """Return a table's samples if nothing about it is left to choose or to say, else None."""
    plain = len(table.columns) == 2 and not table.notes and all(column.kind == "number" for column in table.columns)
    if not plain:
        return None
    samples = samples_from(table, 0, 1)
    return None if samples.skipped else samples


def _read(source: Source, dialect: Dialect | None, encoding: str | None, task: Task) -> tuple[Source, Table]:
    task.report(0.0, f"reading {source.name}")
    if source.path:
        return source, read_file(source.path, dialect, encoding=encoding, task=task)
    return source, read_text(source.text, dialect, task=task)
