"""Runs computations off the GUI thread: at most one running and one waiting per channel.

A channel is whatever asks (a panel, the session). On the lane "live" the running job finishes and is shown, then the
newest request runs; restarting instead would starve a drag, which asks faster than it can be answered. So it is on
"aside", for what is live but takes half a second of a large model and must not hold the others up, and on the lane
"runs", where the model runs, unless a run takes so long that no drag could be alive: then a newer one cancels it. On
"long" and "sweeps", and on "open" where models are read, a newer request of the same channel always cancels the
running one. One thread per lane, so neither a long run nor a sweep nor a large model delays what is looked at. Workers
touch no Qt object but the engine's own signal; what is stale is dropped in the GUI thread.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from PySide6.QtCore import QObject, Signal

from kav.errors import Cancelled
from kav.task import Task

LANES = ("live", "aside", "long", "sweeps", "open", "runs")
PATIENT = ("live", "aside", "runs")
PATIENCE = 1.0  # s; a run that has taken longer is not waited for when another one is wanted
CLOSE_SECONDS = 2.0


class InlineExecutor(Executor):
    """Runs each job at once in the calling thread: for tests, and for exports that draw without a display."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn`` now."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@dataclass(eq=False)
class _Job:
    """One request: its work, its task, and what came of it."""

    channel: str
    lane: str
    work: Callable[[Task], Any]
    task: Task = field(default_factory=Task)
    began: float = 0.0
    dropped: bool = False
    value: Any = None
    error: BaseException | None = None


class Engine(QObject):
    """The one place where threads live.

    Signals
    -------
    started(channel), progressed(channel, fraction, text), showed(channel, value) : what there is of the answer so far,
    finished(channel, result), failed(channel, error), stopped(channel) : the job was cancelled. All arrive in the
    thread that owns the engine.
    """

    started = Signal(str)
    progressed = Signal(str, float, str)
    showed = Signal(str, object)
    finished = Signal(str, object)
    failed = Signal(str, object)
    stopped = Signal(str)

    _reported = Signal(object, float, str)
    _shown = Signal(object, object)
    _ended = Signal(object)

    def __init__(self, parent: QObject | None = None, *, executors: dict[str, Executor] | None = None) -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._waiting: dict[str, OrderedDict[str, _Job]] = {lane: OrderedDict() for lane in LANES}
        self._running: dict[str, _Job | None] = dict.fromkeys(LANES)
        self._undelivered: set[_Job] = set()  # done in a worker, not yet announced in the GUI thread
        self._executors = executors or {
            lane: ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"kav-{lane}") for lane in LANES
        }
        self._futures: set[Future[Any]] = set()
        self._closed = False
        self._preferred = ""
        self._latest: dict[str, str] = {}  # lane -> the channel whose job it took last
        self._reported.connect(self._on_reported)
        self._shown.connect(self._on_shown)
        self._ended.connect(self._on_ended)

    @classmethod
    def inline(cls, parent: QObject | None = None) -> Engine:
        """Return an engine that computes at once in the calling thread."""
        return cls(parent, executors={lane: InlineExecutor() for lane in LANES})

    def submit(self, channel: str, work: Callable[[Task], Any], *, lane: str = "live") -> None:
        """Ask for ``work(task)``; it replaces a waiting request of the same channel."""
        if self._closed:
            return
        job = _Job(channel, lane, work)
        alive = ref(job)  # no cycle: what a job holds, results of megabytes, goes as soon as nobody wants it

        def report(fraction: float, text: str) -> None:
            running = alive()
            if running is not None:
                self._reported.emit(running, fraction, text)

        def show(value: Any) -> None:
            running = alive()
            if running is not None:
                self._shown.emit(running, value)

        job.task = Task(report, show)
        with self._lock:
            replaced = channel in self._waiting[lane]
            self._waiting[lane][channel] = job
            running = self._running[lane]
            if running is not None and running.channel == channel and _gives_way(running):
                running.task.cancel()
            if replaced:
                return  # the turn asked for its predecessor is its own
            self._futures = {future for future in self._futures if not future.done()}
        future = self._executors[lane].submit(self._run_next, lane)
        with self._lock:
            self._futures.add(future)

    def prefer(self, channel: str) -> None:
        """Give a channel every second turn while others of its lane wait too: the one that is looked at; "" = none."""
        with self._lock:
            self._preferred = channel

    def _take(self, lane: str) -> _Job:
        """Take the next waiting job off a lane: the oldest, or that of the preferred channel after another's."""
        waiting, preferred = self._waiting[lane], self._preferred
        channel = next(iter(waiting))
        if preferred in waiting and self._latest.get(lane) != preferred:
            channel = preferred
        elif channel == preferred:
            channel = next((other for other in waiting if other != preferred), channel)
        self._latest[lane] = channel
        return waiting.pop(channel)

    def cancel(self, channel: str) -> None:
        """Forget the channel's waiting request and stop its running one at its next report."""
        with self._lock:
            for lane in LANES:
                self._waiting[lane].pop(channel, None)
                running = self._running[lane]
                if running is not None and running.channel == channel:
                    running.dropped = True
                    running.task.cancel()

    def busy(self, channel: str | None = None) -> bool:
        """Return whether the channel (or any) has a request that is waiting, running, or not yet announced."""
        with self._lock:
            jobs = [job for lane in LANES for job in (*self._waiting[lane].values(), self._running[lane]) if job]
            jobs += self._undelivered
        return any(channel is None or job.channel == channel for job in jobs)

    def close(self) -> None:
        """Cancel everything and wait for the workers, at most two seconds."""
        self._closed = True
        with self._lock:
            self._undelivered.clear()
            for lane in LANES:
                self._waiting[lane].clear()
                running = self._running[lane]
                if running is not None:
                    running.dropped = True
                    running.task.cancel()
            futures = set(self._futures)
        for executor in self._executors.values():
            executor.shutdown(wait=False, cancel_futures=True)
        # A future that never started stays "cancelled" and would be waited for in vain.
        wait({future for future in futures if not future.cancelled()}, timeout=CLOSE_SECONDS)

    def _run_next(self, lane: str) -> None:
        """Take the oldest waiting request of the lane and do it (worker thread)."""
        with self._lock:
            if self._closed or not self._waiting[lane]:
                return  # it was replaced or cancelled meanwhile
            job = self._take(lane)
            previous, self._running[lane] = self._running[lane], job  # nested only under the inline executor
            job.began = time.monotonic()
        self._reported.emit(job, -1.0, "")
        try:
            job.value = job.work(job.task)
        except BaseException as error:  # a worker must survive whatever a job raises, panics included
            job.error = error
        with self._lock:
            self._running[lane] = previous
            if not self._closed:
                self._undelivered.add(job)
        self._ended.emit(job)

    def _on_reported(self, job: _Job, fraction: float, text: str) -> None:
        if job.dropped or self._closed:
            return
        if fraction < 0:
            self.started.emit(job.channel)
        else:
            self.progressed.emit(job.channel, fraction, text)

    def _on_shown(self, job: _Job, value: Any) -> None:
        if not (job.dropped or job.task.cancelled or self._closed):
            self.showed.emit(job.channel, value)

    def _on_ended(self, job: _Job) -> None:
        with self._lock:
            self._undelivered.discard(job)
        if self._closed:
            return
        if job.dropped or isinstance(job.error, Cancelled):
            self.stopped.emit(job.channel)
        elif job.error is not None:
            self.failed.emit(job.channel, job.error)
        else:
            self.finished.emit(job.channel, job.value)


def _gives_way(running: _Job) -> bool:
    """Whether a running job is cancelled by a newer request of its channel."""
    slow = running.lane == "runs" and time.monotonic() - running.began > PATIENCE
    return slow or running.lane not in PATIENT
