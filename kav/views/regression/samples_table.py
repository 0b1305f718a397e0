"""The samples with what the fit makes of them, for a file: fitted value and residual of every one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kav.regression.baselines import BASELINES
from kav.regression.samples import Samples
from kav.task import Task
from kav.views.regression.at_query import at_query
from kav.views.scene import RegressionScene
from kav.views.tables import own_names

N_BLOCK = 20_000
COLUMNS = ("sample", "fitted", "residual", "weight", "query_at", "f", "h")
CURVES = ("curve_at", "curve_f")


def axes_columns(samples: Samples) -> tuple[str, str]:
    """Return what the columns of x and y are called: as in the data, whatever else the table holds."""
    return own_names(samples.axes, (*COLUMNS, *CURVES, *(words for words, _ in BASELINES.values())))


def samples_table(scene: RegressionScene, task: Task, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return columns over all samples, in the order they were given: sample, x, y, fitted, residual, weight.

    x and y are called what they are called in the data. The weight is the share at the scene's query. A sample alone
    within the support of a kernel fits itself.

    Parameters
    ----------
    more : mapping of name to column
        What else the table holds, after these: curves of the fit (`CURVES`) and of baselines, by their words.

    Raises
    ------
    KavError
        If there are no samples, or h, query or kernel are refused.
    Cancelled
        If the answer is no longer wanted.
    """
    now = at_query(scene)
    samples, prepared = scene.samples, now.prepared
    x, y = samples.x, samples.y
    fitted, weight = np.empty(samples.n), np.empty(samples.n)
    log_mass = float(prepared.log_mass(np.asarray([scene.x_query]), scene.h, now.kernel.name)[0])
    scale = np.ones(samples.n)
    for index, dose in scene.doses:
        if 0 <= index < samples.n:
            scale[index] = dose
    for start in range(0, samples.n, N_BLOCK):
        task.report(start / samples.n, "fitted values")
        block = slice(start, start + N_BLOCK)
        fitted[block] = prepared.fit(x[block], scene.h, now.kernel.name)
        log_K = prepared.log_kernel(np.asarray([scene.x_query]), x[block], scene.h, now.kernel.name)[0]
        held = (scale[block] != 0) & (log_mass > -np.inf)  # a sample at dose 0 may exceed all others beyond measure
        weight[block] = scale[block] * np.exp(np.where(held, log_K - log_mass, -np.inf))
    rest = {
        "fitted": fitted,
        "residual": y - fitted,
        "weight": weight,
        "query_at": np.asarray([scene.x_query]),
        "f": np.asarray([now.f]),
        "h": np.asarray([scene.h]),
        **(more or {}),
    }
    x_name, y_name = axes_columns(samples)
    return {"sample": np.arange(samples.n), x_name: x, y_name: y, **rest}
