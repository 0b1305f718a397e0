"""Exact numbers for the kernel fit of very many samples: worked out at rest, in place of the approximate ones.

While something is dragged the fit shows what a grid gives at once, named as approximate. Once it is let go the sums
over every sample run beside what is looked at; each new drag gives them up, and what was summed by then is kept.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import QObject

from kav.views.fit import Result
from kav.views.regression.exact import depends_on, refine
from kav.views.scene import RegressionScene

from .job import Job
from .session import Session
from .stage import Stage


class Refining(QObject):
    """The exact sums of what the fit panel draws; `Session.refined` is emitted whenever some are there."""

    def __init__(self, session: Session, stage: Stage, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._stage = session, stage
        self._scene: RegressionScene | None = None  # that is drawn with approximate numbers
        self._asked: Any = None  # what the sums are of that run, ran, or were given up by hand
        self._job = Job("fit.exact", session.engine, self)
        self._job.busied.connect(self._on_job_busied)
        self._job.progressed.connect(stage.set_progress)
        self._job.showed.connect(self._on_job_answered)
        self._job.finished.connect(self._on_job_answered)
        self._job.failed.connect(session.problemRaised)
        stage.cancelRequested.connect(self._job.cancel)
        session.samplesChanged.connect(self._on_session_changed)
        session.sceneChanged.connect(self._on_session_changed)
        session.dragEnded.connect(self._start)

    def follow(self, result: Result, scene: Any) -> None:
        """Take note of what is drawn, and begin if it is to be refined and nothing is dragged."""
        self._scene = scene if result.refinable and isinstance(scene, RegressionScene) else None
        if self._job.running:
            self._on_job_busied(True)  # the live answer has taken the pill away
        self._start()

    def _start(self) -> None:
        if self._scene is None or self._session.dragging:
            return
        wanted = depends_on(self._scene)
        if wanted == self._asked or wanted != depends_on(self._session.scene()):
            return
        self._asked = wanted
        self._job.start(partial(refine, self._scene))

    def _on_session_changed(self) -> None:
        if self._asked is None or (not self._session.dragging and self._asked == depends_on(self._session.scene())):
            return
        self._asked = None
        self._job.cancel()

    def _on_job_busied(self, busy: bool) -> None:
        self._stage.set_busy(busy)
        if busy:
            self._stage.show_glance(left=True)

    def _on_job_answered(self, _: Any) -> None:
        self._session.refined.emit()
