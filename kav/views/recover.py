"""A panel of a run whose GPU fails meanwhile: the run is made again on the CPU, and the panel of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from kav.arrays import device_failure, release_device_memory
from kav.model.fallback import on_cpu
from kav.model.trace import Trace, run
from kav.task import Task
from kav.views.scene import HeadScene

Result = TypeVar("Result")


def on_any_device(
    compute: Callable[[Any, Task, Result | None], Result], spec: Any, task: Task, last: Result | None
) -> Result:
    """Return ``compute(spec, task, last)``, or if the GPU fails meanwhile, the same of the scene on the CPU."""
    try:
        return compute(spec, task, last)
    except Exception as error:
        failure = device_failure(error)
        if failure is None or not isinstance(spec.scene, HeadScene):
            raise
    spec.scene.trace.model.fallback.notice(failure)  # kept there as `text`, for the window to show once
    release_device_memory()
    return compute(replace(spec, scene=_on_cpu(spec.scene, task)), task, None)


def _on_cpu(scene: HeadScene, task: Task) -> HeadScene:
    before = None if scene.before is None else _again(scene.before, None, task)
    return replace(scene, trace=_again(scene.trace, before, task), before=before)


def _again(trace: Trace, base: Trace | None, task: Task) -> Trace:
    return run(on_cpu(trace.model), trace.tokens, trace.edits, base=base, task=task)
