"""Colours, type and style of the window: one table per theme, and everything that is derived from it.

Widgets ask `current()` when they paint, so a change of theme needs no wiring: `apply` sets the palette and the style
sheet of the application, Qt repaints every widget, and each reads the new table. Colours are "#RRGGBB" strings because
QColor can be changed in place; `QColor(theme.ink)` makes one, and pyqtgraph takes the strings as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QToolTip

from .style import style_sheet

if TYPE_CHECKING:
    pass

RESOURCES = Path(__file__).resolve().parent.parent / "resources"
FAMILIES = ("Inter", "Segoe UI", "SF Pro Text", "Noto Sans", "DejaVu Sans")
WHITE, BLACK = "#FFFFFF", "#10141A"  # of numbers inside coloured cells
_PROPERTY = "kavTheme"


@dataclass(frozen=True)
class Theme:
    """The colours of one theme by what they mean, as "#RRGGBB"."""

    name: str
    dark: bool
    window: str  # page
    panel: str  # card
    sunk: str  # excluded cells, disabled controls
    border: str  # card edge
    grid: str  # grid lines, rules
    ctrl: str  # control borders
    hover: str
    pressed: str
    ink: str  # text, rerun curve
    text2: str
    muted: str  # axes, captions, tangent
    disabled: str  # text of disabled controls
    query: str
    qtint: str
    key: str
    ktint: str
    target: str
    ttint: str
    positive: str  # = target
    negative: str
    direct: str
    band: str
    edited: str
    onedit: str
    editedink: str
    error: str
    errtint: str
    weight_ink: str
    hatch: str
    sequential: tuple[str, ...]  # weights: 0 is the panel colour
    diverging: tuple[str, ...]  # signed: 0 is the panel colour


def _theme(name: str, table: str, sequential: str, diverging: str) -> Theme:
    """Return the theme of a table of "token colour" pairs."""
    words = table.split()
    colours = dict(zip(words[::2], words[1::2], strict=True))
    stops = {
        "sequential": tuple(sequential.split()),
        "diverging": tuple(diverging.split()),
    }
    return Theme(name=name, dark=name == "dark", positive=colours["target"], **colours, **stops)


LIGHT = _theme(
    "light",
    """window #F3F4F6 panel #FFFFFF sunk #F7F8FA border #DDE1E7 grid #ECEFF3 ctrl #8A93A3 hover #EEF1F5
    pressed #E3E8EF ink #171A20 text2 #475063 muted #667080 disabled #9AA2AF query #1F74C9 qtint #E6F0FA
    key #C2410C ktint #FBEAE3 target #0B7A6F ttint #E1F2F0 negative #A65E1A direct #5E2472 band #F8F5FA
    edited #F2B90D onedit #1B1400 editedink #8F6400 error #B3261E errtint #FCECEA weight_ink #274676 hatch #D5DAE2""",
    "#FFFFFF #DCE4F0 #9DB3D3 #5476A8 #274676 #0C1A33",
    "#6E3A07 #C98A45 #F0DCC4 #FFFFFF #C5E6E1 #3E9D92 #05504A",
)
DARK = _theme(
    "dark",
    """window #121419 panel #1B1E25 sunk #16181E border #2E333D grid #262A33 ctrl #6A7385 hover #262B34
    pressed #303641 ink #ECEFF4 text2 #B9C1CE muted #98A1B0 disabled #5E6675 query #58A6F2 qtint #1B2D42
    key #FF8552 ktint #3A251D target #35C2AC ttint #16332F negative #D9924A direct #EBC6F7 band #231F2B
    edited #F5C542 onedit #1B1400 editedink #F5C542 error #FF8A80 errtint #3A2020 weight_ink #B1CEF0 hatch #343A45""",
    "#1B1E25 #26364F #3A5D8F #6C97CF #B1CEF0 #F4F8FF",
    "#F3BE86 #B8742F #553719 #1B1E25 #12453F #27978A #8EEADB",
)


@lru_cache(maxsize=1)
def current() -> Theme:
    """Return the theme the application was last given; the light one if none."""
    app = QApplication.instance()
    return DARK if app is not None and app.property(_PROPERTY) == "dark" else LIGHT


def apply(app: QApplication, name: str) -> Theme:
    """Give the application the theme called `name` ("light" or "dark") and return it; every widget repaints."""
    theme = DARK if name == "dark" else LIGHT
    register_fonts()
    app.setProperty(_PROPERTY, theme.name)
    current.cache_clear()
    if app.style().objectName() != "fusion":
        app.setStyle("Fusion")
    app.setFont(font(12))
    app.setPalette(palette(theme))
    app.setStyleSheet(style_sheet({**colours(theme), "onquery": ink_on(theme.query).name()}))
    QToolTip.setFont(font(11))
    QToolTip.setPalette(palette(theme))
    return theme


def palette(theme: Theme) -> QPalette:
    """Return the palette of a theme; menus and dialogs of the system take their colours from it."""
    role, group = QPalette.ColorRole, QPalette.ColorGroup
    table = {
        role.Window: theme.window,
        role.WindowText: theme.ink,
        role.Base: theme.panel,
        role.AlternateBase: theme.sunk,
        role.Text: theme.ink,
        role.PlaceholderText: theme.muted,
        role.Button: theme.panel,
        role.ButtonText: theme.ink,
        role.BrightText: theme.error,
        role.Light: theme.panel,
        role.Midlight: theme.hover,
        role.Mid: theme.border,
        role.Dark: theme.ctrl,
        role.Shadow: theme.border,
        role.Highlight: theme.query,
        role.HighlightedText: ink_on(theme.query).name(),
        role.Link: theme.query,
        role.LinkVisited: theme.direct,
        role.ToolTipBase: theme.ink,
        role.ToolTipText: theme.panel,
    }
    result = QPalette()
    for key, colour in table.items():
        result.setColor(key, QColor(colour))
    for key in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(group.Disabled, key, QColor(theme.disabled))
    result.setColor(group.Disabled, role.Base, QColor(theme.sunk))
    result.setColor(group.Disabled, role.Button, QColor(theme.sunk))
    return result


def register_fonts() -> None:
    """Make the bundled typeface known to Qt; harmless to repeat."""
    if "Inter" in QFontDatabase.families() and QFontDatabase.weight("Inter", "SemiBold") > 0:
        return
    for path in sorted((RESOURCES / "fonts").glob("*.otf")):
        QFontDatabase.addApplicationFont(str(path))
    font.cache_clear()


@lru_cache(maxsize=64)
def font(px: int, weight: int = 400) -> QFont:
    """Return the interface font, `px` pixels high, with figures of equal width; shared, so copy it to change it."""
    result = QFont(list(FAMILIES))
    result.setPixelSize(px)
    result.setWeight(QFont.Weight(weight))
    result.setFeature(QFont.Tag("tnum"), 1)
    result.made_of = (px, weight)  # Qt's own answers are slow to turn into Python numbers
    return result


def role_color(role: str, strong: bool = False) -> QColor:
    """Return the text colour of a piece: that of its role, else ink for strong text and second text for the rest."""
    theme = current()
    if role in ("query", "key", "target", "direct", "muted", "error"):
        return QColor(getattr(theme, role))
    return QColor(theme.ink if strong else theme.text2)


def contrast(first: QColor | str, second: QColor | str) -> float:
    """Return the contrast ratio of two colours, 1 to 21.

    References
    ----------
    W3C (2018), Web Content Accessibility Guidelines 2.1, "relative luminance" and "contrast ratio".
    """
    low, high = sorted((_luminance(QColor(first)), _luminance(QColor(second))))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: QColor) -> float:
    srgb = np.asarray([color.redF(), color.greenF(), color.blueF()])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.asarray([0.2126, 0.7152, 0.0722]))


def ink_on(color: QColor | str) -> QColor:
    """Return white or near-black, whichever is easier to read on `color`."""
    return QColor(WHITE if contrast(color, WHITE) >= contrast(color, BLACK) else BLACK)


def _lut(stops: Sequence[str], n: int) -> np.ndarray:
    """Return `n` colours at equal steps along the stops, straight lines in sRGB; shape (n, 4), uint8."""
    table = np.asarray([QColor(stop).getRgb() for stop in stops], dtype=float)  # (n_stops, 4)
    places = np.linspace(0, len(stops) - 1, n)
    columns = [np.interp(places, np.arange(len(stops)), table[:, channel]) for channel in range(4)]
    return np.rint(np.stack(columns, axis=1)).astype(np.uint8)


def sequential_lut(theme: Theme | None = None) -> np.ndarray:
    """Return the colours of weights, shape (256, 4), uint8; row 0 is exactly the panel colour."""
    return _lut((theme or current()).sequential, 256)


def diverging_lut(theme: Theme | None = None) -> np.ndarray:
    """Return the colours of signed values over (-m, +m), shape (256, 4), uint8.

    Rows 127 and 128 are both exactly the panel colour, so that zero is the colour of the page although 256 is even.
    """
    stops = (theme or current()).diverging
    half = len(stops) // 2
    return np.concatenate([_lut(stops[: half + 1], 128), _lut(stops[half:], 128)])


def configure_pyqtgraph() -> None:
    """Set the global options of pyqtgraph, here and nowhere else."""
    import pyqtgraph as pg

    pg.setConfigOptions(antialias=True, imageAxisOrder="row-major")


def colours(theme: Theme) -> dict[str, str]:
    """Return the table of a theme: token -> colour."""
    values = {field.name: getattr(theme, field.name) for field in fields(theme)}
    return {name: value for name, value in values.items() if isinstance(value, str) and name != "name"}
