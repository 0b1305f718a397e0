"""Kernel regression against other programs, in one run.

``KAV_PEERS_PYTHON`` names a Python that has statsmodels, scikit-learn, scipy and KDEpy; R is used where ``Rscript``
with KernSmooth is found. What is not there is left out. Ratios are least time over least time on the same data: x
uniform on [0, 10], sorted, bandwidth 0.2, 1,000 queries. "prepared" means that the samples were sorted and their
moments taken before, as they are at every drag.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import kav
from kav.regression.accounts import accounts
from kav.regression.fit import fit_every_pair, observe
from kav.regression.grid import Spectra
from kav.regression.grid_fit import fit_on_grid
from kav.regression.kernels import KERNELS
from kav.regression.prepared import Prepared
from kav.regression.samples import Samples
from kav.task import Task
from kav.views import attention, attribution, circuits, dose, fit, prompt
from kav.views.scene import RegressionScene

_spec = importlib.util.spec_from_file_location("regression_peers", Path(__file__).with_name("regression_peers.py"))
_peers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_peers)
H, best, data = _peers.H, _peers.best, _peers.data

QUERIES = np.linspace(0, 10, 1000)
FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def peers():
    python = os.environ.get("KAV_PEERS_PYTHON")
    if not python:
        pytest.skip("KAV_PEERS_PYTHON is not set")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [python, str(FOLDER / "regression_peers.py")], env=environment, check=True, capture_output=True, text=True
    )
    return json.loads(run.stdout)


@pytest.mark.parametrize("n", [1_000, 10_000, 100_000, 1_000_000])
def test_fits(n, report, peers):
    x, y = data(n)
    prepared = Prepared.of(x, y)
    prepared.fit(QUERIES, H)
    cold, f = best(lambda: kav.fit(x, y, QUERIES, H), most=9)
    warm, f_warm = best(lambda: prepared.fit(QUERIES, H), most=15)
    report(f"fit n={n:,}: cold, prepared", 1e3 * cold, f"ms, {1e3 * warm:.3g} ms")
    for name in ("statsmodels", "scikit-learn", "scipy", "KDEpy"):
        theirs = peers.get(f"{name} fit {n}")
        if theirs is None:
            continue
        away = np.max(np.abs(np.asarray(theirs["f"]) - f))
        report(f"fit n={n:,}: cold", theirs["seconds"] / cold, "x", against=f"{name} (differs by {away:.1e})")
        report(f"fit n={n:,}: prepared", theirs["seconds"] / warm, "x", against=name)
    report(f"fit n={n:,}: prepared from cold", float(np.max(np.abs(f - f_warm))), "apart")


@pytest.mark.parametrize("n", [1_000, 10_000])
def test_leave_one_out_of_fifty_bandwidths(n, report, peers):
    x, y = data(n)
    hs = np.geomspace(0.1, 1, 50)
    prepared = Prepared.of(x, y)
    spectra = Spectra(prepared.core.cells())
    warm, _ = best(lambda: [accounts(prepared, h, "gaussian", spectra=spectra) for h in hs])
    cold, _ = best(lambda: kav.loo_score(x, y, hs))
    theirs = peers.get(f"statsmodels loo {n}")
    report(f"loo, 50 bandwidths, n={n:,}: cold, prepared", 1e3 * cold, f"ms, {1e3 * warm:.3g} ms")
    if theirs is not None:
        away = np.max(np.abs(np.asarray(theirs["errors"]) / kav.loo_score(x, y, theirs["h"]) - 1))
        report(f"loo, 50 bandwidths, n={n:,}", theirs["seconds"] / cold, "x", against=f"statsmodels ({away:.0e} apart)")


def test_leave_one_out_of_a_million(report):
    prepared = Prepared.of(*data(1_000_000))
    spectra = Spectra(prepared.core.cells())
    hs = np.geomspace(0.1, 1, 50)
    seconds, _ = best(lambda: [accounts(prepared, h, "gaussian", spectra=spectra) for h in hs])
    report("loo, 50 bandwidths, n=1,000,000: prepared", 1e3 * seconds, "ms")


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name not in ("gaussian", "exp-dot-product")])
def test_accounts_summed_at_every_sample(kernel, report):
    """What replaces the grid's numbers once nothing is dragged."""
    for n in (100_000, 1_000_000):
        prepared = Prepared.of(*data(n))
        exact, sums = best(lambda prepared=prepared: accounts(prepared, H, kernel))
        quick, close = best(lambda prepared=prepared: accounts(prepared, H, kernel, quick=100))
        away = abs(close.dof / sums.dof - 1)
        report(
            f"dof and loo n={n:,} {kernel}: exact", 1e3 * exact, f"ms, {1e3 * quick:.3g} ms on a grid ({away:.0e} off)"
        )


def test_against_kernsmooth(report):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    with tempfile.TemporaryDirectory() as folder:
        ours = {}
        for n in (1_000, 10_000, 100_000, 1_000_000):
            x, y = data(n)
            seconds, (places, f) = best(lambda x=x, y=y: fit_on_grid(x, y, H, 1000), most=15)
            observed = observe(x, y, H, "gaussian")
            truth = fit_every_pair(observed, places) if n <= 100_000 else Prepared.of(x, y).fit(places, H)
            ours[n] = seconds, float(np.max(np.abs(f - truth)))
            np.savetxt(Path(folder) / f"{n}.csv", np.column_stack([x, y]), "%.17g", ",", header="x,y", comments="")
            np.savetxt(Path(folder) / f"{n}_fit.csv", truth, "%.17g", header="f", comments="")
        run = subprocess.run(
            ["Rscript", str(FOLDER / "regression_peers.R"), folder], capture_output=True, text=True, check=False
        )
        if run.returncode:
            pytest.skip(f"KernSmooth did not run: {run.stderr[-300:]}")
    for line in run.stdout.splitlines():
        n, seconds, error = int(float(line.split()[0])), float(line.split()[2]), float(line.split()[3])
        report(f"grid fit n={n:,}", 1e3 * ours[n][0], f"ms, error {ours[n][1]:.1e}")
        report(f"grid fit n={n:,}", seconds / ours[n][0], "x", against=f"KernSmooth (error {error:.1e})")


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_events_of_a_million_samples(kernel, report):
    """What one step of a drag costs in each panel; no peer does this."""
    x, y = data(1_000_000)
    samples = Samples(x, y, "million")
    tracemalloc.start()
    scene = RegressionScene(samples, kernel, H, 4.2)
    last = {}
    panels = (fit, attention, attribution, circuits, dose, prompt)

    def draw(scene):
        for panel in panels:
            last[panel] = panel.compute(panel.Spec(scene), Task(), last.get(panel))

    draw(scene)
    draw(RegressionScene(samples.moved(7, 4.0, 1.0), kernel, H, 4.2, selected=7))
    kept = tracemalloc.get_traced_memory()[0] / 2**20 - 2 * (x.nbytes + y.nbytes) / 2**20
    tracemalloc.stop()
    report(f"n=1,000,000 {kernel}: kept beside the samples", kept, "MB")
    moved = samples.moved(7, 4.1, 1.0)
    events = {
        "query": lambda at: RegressionScene(moved, kernel, H, 4.2 + 0.01 * at, selected=7),
        "bandwidth": lambda at: RegressionScene(moved, kernel, H * (1 + 0.01 * at), 4.2, selected=7),
        "sample": lambda at: RegressionScene(moved.moved(7, 4 + 0.01 * at, 1.0), kernel, H, 4.2, selected=7),
    }
    steps = iter(range(1, 10_000))
    for event, scene_of in events.items():
        seconds, _ = best(lambda scene_of=scene_of: fit.compute(fit.Spec(scene_of(next(steps))), Task(), last[fit]))
        every, _ = best(lambda scene_of=scene_of: draw(scene_of(next(steps))))
        report(f"n=1,000,000 {kernel}: {event}", 1e3 * seconds, f"ms the fit, {1e3 * every:.3g} ms all panels")
