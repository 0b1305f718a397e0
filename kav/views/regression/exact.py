"""What the pictures of very many samples show only approximately while something is dragged, summed at every sample.

Degrees of freedom and residual standard deviation at the bandwidth at hand come first, then the leave-one-out error
over bandwidths with its minimum. All is kept with the samples: a picture computed afterwards has it, and work that was
given up is taken up again where it stopped.
"""

from __future__ import annotations

from kav.regression.accounts import lasting_accounts
from kav.regression.kernels import Kernel
from kav.regression.loo_curve import LooCurve, best_curve
from kav.regression.prepared import Prepared
from kav.task import Task
from kav.views.regression.at_query import at_query
from kav.views.scene import RegressionScene, Scene

APPROXIMATE = "≈"
"""Stands before a number that is approximate."""
_WHY = "≈: on a grid, while the sums over every sample are not there yet"
_WHY_FOR_GOOD = "≈: on a grid, to about 0.1 %"
_WHY_NOT_SEARCHED = "≈: near the lowest bandwidth of the curve, while its minimum is looked for"


def refine(scene: RegressionScene, task: Task) -> None:
    """Sum at every sample what the scene's pictures show; ``task.show`` is called when the fit's own numbers are there.

    Raises
    ------
    Cancelled
        If it is no longer wanted; what was summed stays.
    """
    now = at_query(scene)
    task.report(0.0, "exact degrees of freedom")
    lasting_accounts(now.prepared, scene.h, now.kernel.name, task)
    task.show(None)
    prepared, kernel = scene.samples.prepared, now.kernel.name
    prepared.lasting.kept(("loo", kernel), lambda: best_curve(prepared, kernel, task=task))


def depends_on(scene: Scene | None) -> tuple[object, ...] | None:
    """Return what these numbers belong to: samples, kernel, bandwidth, doses; None if it is no regression scene."""
    if not isinstance(scene, RegressionScene):
        return None
    return scene.samples, scene.kernel, scene.h, scene.doses


def known_curve(prepared: Prepared, kernel: str) -> LooCurve | None:
    """Return the leave-one-out curve that `refine` found before."""
    found = prepared.lasting.known(("loo", kernel))
    return found if isinstance(found, LooCurve) else None


def why(kernel: Kernel, *, summed: bool = False) -> str:
    """Return why a number is approximate, for a tooltip; `summed` = all sums are exact."""
    if summed:
        return _WHY_NOT_SEARCHED
    return _WHY_FOR_GOOD if kernel.log_K is None else _WHY
