"""What the packages that every start pays for cost, each in a fresh interpreter."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
N_RUNS = 5


def seconds(code):
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return time.perf_counter() - begin


def median_seconds(code):
    return statistics.median(seconds(code) for _ in range(N_RUNS))


@pytest.mark.parametrize("module", ["kav", "kav.cli"])
def test_importing(module, report):
    empty, numpy, kav = (median_seconds(code) for code in ("pass", "import numpy", f"import {module}"))
    report(f"import {module}", 1000 * (kav - empty), "ms")
    report(f"import {module}, ratio", (kav - empty) / (numpy - empty), "x", against="import numpy")
