"""Files made from what is on screen: PNG, SVG and PDF from a widget, CSV, NPZ and JSON from a panel's numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QMarginsF, QPoint, QRect, QSaveFile, QSizeF
from PySide6.QtGui import QImage, QPageSize, QPainter, QPdfWriter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from kav.errors import KavError
from kav.views.tables import DATA_SUFFIXES, write_table

if TYPE_CHECKING:
    from .session import Session

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


def with_suffix(path: str) -> str:
    """Return a path that somebody typed, as a PNG if no kind of file is named."""
    return path if Path(path).suffix else f"{path}.png"


def export(widget: QWidget, path: str, *, table: dict[str, Any] | None = None, scale: float = 1.0) -> None:
    """Write the widget's picture, or the panel's numbers, as the suffix of `path` says.

    Raises
    ------
    KavError
        If the suffix is unknown, there are no numbers to write, or the file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix in PICTURE_SUFFIXES:
        {".png": _png, ".svg": _svg, ".pdf": _pdf}[suffix](widget, path, scale)
    elif suffix in DATA_SUFFIXES and table is not None:
        write_table(table, path)
    elif suffix in DATA_SUFFIXES:
        raise KavError(f"the whole window has no table for {suffix}", "name a panel, or choose png, svg or pdf")
    else:
        known = ", ".join(s[1:] for s in (*PICTURE_SUFFIXES, *DATA_SUFFIXES))
        raise KavError(f"export file must end in one of {known}, got {Path(path).name!r}")


def announced(session: Session, path: str, write: Callable[[], None]) -> None:
    """Write a file and say so; a refusal is announced through the session."""
    try:
        write()
    except KavError as error:
        session.problemRaised.emit(error)
    else:
        session.said.emit(f"Wrote {path}")


def _png(widget: QWidget, path: str, scale: float) -> None:
    image = QImage(widget.size() * scale, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(scale)
    image.fill(widget.palette().window().color())
    widget.render(image)
    file = _opened(path)
    if not image.save(file, "PNG") or not file.commit():
        raise KavError(f"cannot write {path}: {file.errorString()}", "choose another place")


def _svg(widget: QWidget, path: str, scale: float) -> None:
    file = _opened(path)
    generator = QSvgGenerator(QSvgGenerator.SvgVersion.SvgTiny12)
    # That profile has no clips. The other writes them without the place of the widget, which cuts off what is shown.
    generator.setOutputDevice(file)
    generator.setSize(widget.size() * scale)
    generator.setViewBox(QRect(0, 0, widget.width(), widget.height()))
    generator.setResolution(widget.logicalDpiX())  # without it the axes come out smaller than the plot
    generator.setTitle(widget.accessibleName() or "KAV")
    with QPainter(generator) as painter:
        widget.render(painter, QPoint())
    if not file.commit():
        raise KavError(f"cannot write {path}: {file.errorString()}", "choose another place")


def _pdf(widget: QWidget, path: str, scale: float) -> None:
    file = _opened(path)
    writer = QPdfWriter(file)
    dots = widget.logicalDpiX()
    writer.setResolution(dots)
    size = QSizeF(widget.width() * 72 / dots, widget.height() * 72 / dots)  # in points
    writer.setPageSize(QPageSize(size * scale, QPageSize.Unit.Point))
    writer.setPageMargins(QMarginsF())
    with QPainter(writer) as painter:
        painter.scale(scale, scale)
        widget.render(painter, QPoint())
    if not file.commit():
        raise KavError(f"cannot write {path}: {file.errorString()}", "choose another place")


def _opened(path: str) -> QSaveFile:
    file = QSaveFile(path)
    if not file.open(QSaveFile.OpenModeFlag.WriteOnly):
        raise KavError(f"cannot write {path}: {file.errorString()}", "choose another place")
    return file
