"""Starts the window, or draws it without a display and writes a file: what `kav.cli` hands over to."""

from __future__ import annotations

import faulthandler
import gc
import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType

from PySide6.QtCore import QCoreApplication, QSettings, QTimer
from PySide6.QtGui import QGuiApplication, QIcon
from PySide6.QtWidgets import QApplication

from kav.errors import KavError
from kav.model.edits import resolve
from kav.options import Options
from kav.paths import resource

from . import theme
from .engine import Engine
from .export import export
from .session import Session
from .window import Window

SIZE = (1440, 900)
COLLECT_EVERY = 2000  # ms


def run(options: Options) -> int:
    """Open the window and return its exit code; with ``options.export`` write that file instead.

    Raises
    ------
    KavError
        If the model, the prompt, the selection, an edit or the export file is refused.
    """
    app = QApplication.instance() or QApplication(["kav"])
    app.setApplicationName("KAV")
    app.setOrganizationName("KAV")
    app.setDesktopFileName("kav")
    theme.configure_pyqtgraph()
    return _export(app, options) if options.export is not None else _open(app, options)


def _open(app: QApplication, options: Options) -> int:
    if sys.stderr is not None:
        faulthandler.enable()
    settings = QSettings()
    theme.apply(app, options.theme or _preferred_theme(settings))
    app.setWindowIcon(QIcon(str(resource("icons", "kav.svg"))))
    engine = Engine(app)
    session = Session(engine, app)
    window = Window(session, engine, settings=settings)
    window.resize(*(options.size or SIZE))
    _report_unexpected(session)
    window.show()
    opener = Opener(window, options)
    QTimer.singleShot(0, opener.start)  # the window is seen before the model is read
    collector = _collect_here(app)
    code = app.exec()
    collector.stop()
    return code


def _export(app: QApplication, options: Options) -> int:
    theme.apply(app, options.theme or "light")
    engine = Engine.inline(app)
    session = Session(engine, app)
    problems: list[KavError] = []
    session.problemRaised.connect(problems.append)
    window = Window(session, engine)
    window.resize(*(options.size or SIZE))
    window.show()
    Opener(window, options, strict=True).start()
    QCoreApplication.sendPostedEvents()  # one layout pass: no event loop runs in this process
    for panel in window.panels.values():
        panel.set_active(True)
    QCoreApplication.sendPostedEvents()
    window.arrange()  # the scene was chosen before there was a layout whose sizes it could keep
    QCoreApplication.sendPostedEvents()
    if problems:
        raise _as_kav_error(problems[0])
    panel = window.panels.get(options.panel)
    if panel is not None and panel.error is not None:
        raise _as_kav_error(panel.error)
    if panel is None:
        export(window, str(options.export), scale=options.scale)
    else:
        panel.write(str(options.export), options.scale)
    window.close()
    return 0


def _as_kav_error(error: BaseException) -> KavError:
    return error if isinstance(error, KavError) else KavError(f"unexpected {type(error).__name__}: {error}")


class Opener:
    """Opens the model the options name, then puts the window into the state they ask for."""

    def __init__(self, window: Window, options: Options, *, strict: bool = False) -> None:
        self._opening = window.opening
        self._session = window.session
        self._options = options
        self._strict = strict

    def start(self) -> None:
        """Ask for the model; the rest follows when it is there."""
        session, options = self._session, self._options
        session.set_scene(options.scene)
        if options.prompt is not None:
            session.set_prompt(options.prompt)
        if options.head is not None:
            session.select_head(*options.head)
        session.modelChanged.connect(self._on_session_model_changed)
        if options.device != "auto":
            self._opening.set_device(options.device, keep=False)
        self._opening.open(options.model, strict=self._strict)

    def _on_session_model_changed(self) -> None:
        session, options = self._session, self._options
        session.modelChanged.disconnect(self._on_session_model_changed)
        try:
            if options.head is not None:
                _check_head(session, options.head)
            if options.query is not None:
                session.select_query(options.query)
            if options.target is not None:
                session.select(target=session.model.find_token(options.target))
        except KavError as error:
            session.problemRaised.emit(error)
        session.traceChanged.connect(self._on_session_trace_changed)
        for edit in options.edits:
            session.put_edit(edit)

    def _on_session_trace_changed(self) -> None:
        """How many tokens there are is known now."""
        session, query = self._session, self._options.query
        session.traceChanged.disconnect(self._on_session_trace_changed)
        n_tokens = session.trace.n_tokens
        if query is not None and not -n_tokens <= query < n_tokens:
            session.select(query=None)
            session.problemRaised.emit(KavError(f"query must be in {-n_tokens}..{n_tokens - 1}, got {query}"))
        try:
            resolve(self._options.edits, session.model.config, n_tokens)
        except KavError as error:
            session.problemRaised.emit(error)


def _check_head(session: Session, head: tuple[int, int]) -> None:
    config = session.model.config
    if not (head[0] < config.n_layers and head[1] < config.n_heads):
        session.select_head(0, 0)
        last = f"{config.n_layers - 1}.{config.n_heads - 1}"
        raise KavError(f"head must be one of 0.0 to {last} of {session.model.name}, got {head[0]}.{head[1]}")


def _preferred_theme(settings: QSettings) -> str:
    kept = settings.value("theme")
    if kept in ("light", "dark"):
        return str(kept)
    scheme = QGuiApplication.styleHints().colorScheme()
    return "dark" if scheme.name == "Dark" else "light"


def _collect_here(app: QApplication) -> QTimer:
    """Collect cycles in the GUI thread only: a worker's collection could free graphics items under Qt's feet."""
    gc.collect()
    gc.freeze()
    gc.disable()
    timer = QTimer(app, interval=COLLECT_EVERY)
    timer.timeout.connect(gc.collect)
    timer.start()
    return timer


def _report_unexpected(session: Session) -> None:
    """Show what nobody caught as a notice, print its traceback, and go on."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if sys.stderr is not None:
            traceback.print_exception(kind, error, trace)
        session.problemRaised.emit(error)

    sys.excepthook = show
    threading.excepthook = _thread_hook(show)


def _thread_hook(show: Callable[..., None]) -> Callable[[threading.ExceptHookArgs], None]:
    def hook(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            show(args.exc_type, args.exc_value, args.exc_traceback)

    return hook
