"""The command line: reads the options, then opens the window, exports a panel, or checks the program.

The only place that knows where the window's code lies: `ui` in a checkout, `kav._ui` in an installed wheel.
Exit codes: 0 done; 1 refused, with one line on stderr; 2 not a valid command line.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TextIO

# OpenBLAS with a thread per core is slower than with one on the small matrices of a prompt, up to thirty times on
# cores that others use too: kav.threads shares rows out instead. It reads this once, when NumPy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from kav.errors import KavError
from kav.model.edit_text import EXAMPLES, parse_edit
from kav.model.edits import Edit
from kav.options import NUMBERS, PANELS, PICTURES, Options

DONE, REFUSED = 0, 1  # argparse itself exits with 2


def _head(text: str) -> tuple[int, int]:
    if not re.fullmatch(r"\d+\.\d+", text):
        raise argparse.ArgumentTypeError(f"head must read LAYER.HEAD, as in 1.1, got {text!r}")
    layer, _, head = text.partition(".")
    return int(layer), int(head)


def _size(text: str) -> tuple[int, int]:
    if not re.fullmatch(r"[1-9]\d{0,4}x[1-9]\d{0,4}", text):
        raise argparse.ArgumentTypeError(f"size must read WIDTHxHEIGHT, as in 1440x900, got {text!r}")
    width, _, height = text.partition("x")
    return int(width), int(height)


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0.25 <= scale <= 8:
        raise argparse.ArgumentTypeError(f"scale must be a number from 0.25 to 8, got {text!r}")
    return scale


def _edit(text: str) -> Edit:
    try:
        return parse_edit(text)
    except KavError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _file(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in PICTURES + NUMBERS:
        kinds = ", ".join(PICTURES + NUMBERS)
        raise argparse.ArgumentTypeError(f"file must end in one of {kinds}, got {text!r}")
    return path


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of KAV's command line."""
    parser = argparse.ArgumentParser(
        prog="kav", description="Handle transformer attention as the kernel regression it is.", allow_abbrev=False
    )
    add = parser.add_argument
    add("model", nargs="?", default="bundled", metavar="MODEL", help="model folder or file (default: the bundled one)")
    add("--prompt", metavar="TEXT", help="text the model reads")
    add("--head", type=_head, metavar="LAYER.HEAD", help="selected head, counted from 0")
    add("--query", type=int, metavar="N", help="position of the query token; negative counts from the end")
    add("--target", metavar="TOKEN", help="token whose logit is explained (default: the top prediction)")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="where the model runs")
    add("--scene", choices=("head", "regression"), default="head", help="a head of the model, or plain samples")
    add("--edit", type=_edit, action="append", default=[], metavar="EDIT", help=f"{EXAMPLES}; may be repeated")
    add("--panel", choices=PANELS, help="what to export (default: window)")
    add("--export", type=_file, metavar="FILE", help="write FILE (png, svg, pdf, csv, npz, json) and exit; no display")
    add("--theme", choices=("light", "dark"), help="default: as the desktop says; light when exporting")
    add("--size", type=_size, metavar="WIDTHxHEIGHT", help="of the window, as in 1440x900")
    add("--scale", type=_scale, default=1.0, metavar="FACTOR", help="pixels per point of an exported picture")
    add("--self-check", action="store_true", help="check the numerical identities KAV rests on, and exit")
    return parser


def parse(arguments: Sequence[str] | None = None) -> tuple[Options, bool]:
    """Return the options of a command line, and whether the self-check is asked for.

    Raises
    ------
    SystemExit
        With code 2, after a usage message, if the command line is not a valid one; with 0 after ``--help``.
    """
    parser = build_parser()
    found = vars(parser.parse_args(arguments))
    self_check = found.pop("self_check")
    panel, export = found.pop("panel"), found["export"]
    if panel is not None and export is None:
        parser.error("--panel says what to export: give --export FILE too")
    panel = panel or "window"
    if export is not None and panel == "window" and export.suffix.lower() in NUMBERS:
        parser.error(f"the whole window has no {export.suffix} form: choose one panel with --panel")
    return Options(panel=panel, edits=tuple(found.pop("edit")), **found), self_check


def load_ui(module: str = "app") -> ModuleType:
    """Return a module of the window's code, wherever it is installed."""
    package = "kav._ui" if importlib.util.find_spec("kav._ui") else "ui"
    return importlib.import_module(f"{package}.{module}")


def display_problem(platform: str, environment: Mapping[str, str]) -> str:
    """Return why no window can open, "" if one can: Qt itself would abort the process.

    Parameters
    ----------
    platform : str
        As in `sys.platform`.
    environment : mapping
        As `os.environ`.
    """
    if platform in {"win32", "cygwin", "darwin"}:
        return ""
    if any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")):
        return ""
    return "no display to open a window on: set DISPLAY or WAYLAND_DISPLAY, or write a picture with --export FILE.png"


def _say(stream: TextIO | None, text: str) -> None:
    if stream is not None:  # a program without console has no streams on Windows
        stream.write(text + "\n")


def _refuse(reason: str) -> int:
    _say(sys.stderr, "kav: " + " ".join(reason.split()))
    return REFUSED


def _check(options: Options) -> int:
    from kav.selfcheck import lines  # opens a model: not needed for a window's first paint

    passed = True
    for line, line_passed in lines(options.model, options.device):
        _say(sys.stdout, line)
        passed = passed and line_passed
    return DONE if passed else REFUSED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run KAV as the command line asks, and return its exit code.

    Parameters
    ----------
    arguments : sequence of str or None
        The command line without the program's name; None = that of this process.
    """
    options, self_check = parse(arguments)
    try:
        if self_check:
            return _check(options)
        if options.export is not None:
            os.environ["QT_QPA_PLATFORM"] = "offscreen"
        elif problem := display_problem(sys.platform, os.environ):
            return _refuse(problem)
        try:
            app = load_ui("app")
        except ImportError as error:
            return _refuse(
                f"the window cannot be loaded ({error}); in a checkout, sh resources/setup.sh installs what it needs"
            )
        return int(app.run(options))
    except KavError as error:
        return _refuse(str(error))
