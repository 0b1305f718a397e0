"""The samples and the curves of a fit as a file: what the kernel fit of the regression scene exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kav.task import Task
from kav.views.fit import Result
from kav.views.regression.samples_table import CURVES, samples_table
from kav.views.scene import RegressionScene
from kav.views.tables import write_table


def curves(result: Result) -> dict[str, Any]:
    """Return the curve of the fit and those of the baselines drawn, as columns for `samples_table`."""
    curve = zip(CURVES, (result.curve_at, result.curve_f), strict=True)
    return {**dict(curve), **{words: f for words, _, f in result.baselines}}


def write_samples(path: str, scene: RegressionScene, result: Result, task: Task) -> str:
    """Write every sample with what the fit makes of it, and the curves of a result; return the path.

    Raises
    ------
    KavError
        If the scene is refused, or the file cannot be written.
    Cancelled
        If the file is no longer wanted.
    """
    table = samples_table(scene, task, curves(result))
    task.report(0.99, f"writing {Path(path).name}")
    write_table(table, path)
    return path
