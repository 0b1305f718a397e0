"""How alive the window is: painted updates a second during a drag, gaps of the event loop, and start to first paint.

Each figure comes from a program of its own, with a real mouse drag; on Xvfb where it is installed, else offscreen.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DRIVER = HERE / "drive_window.py"
LONG_PROMPT = " ".join(["A dark green carriage passed our house and the old dog of my sister saw it go"] * 4)


def drive(*arguments):
    command = [sys.executable, str(DRIVER), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    if shutil.which("xvfb-run"):
        command = ["xvfb-run", "-a", "-s", "-screen 0 1600x1000x24", *command]
        environment.pop("QT_QPA_PLATFORM", None)
    else:
        environment["QT_QPA_PLATFORM"] = "offscreen"
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("what", ["sample", "query", "bandwidth", "dose", "key"])
def test_a_drag_is_painted_often(what, report):
    found = drive("drag", what, LONG_PROMPT)
    size = f"n = {found['n']}" if what in ("sample", "query", "bandwidth") else f"{found['n']} tokens"
    report(f"drag of {what}, {size}: painted updates", found["updates_per_second"], "/s")
    report(f"drag of {what}, {size}: processor time an update", found["cpu_ms_per_update"], "ms")
    report(f"drag of {what}, {size}: event loop gap p99", found["gap_p99_ms"], "ms")
    report(f"drag of {what}, {size}: event loop gap max", found["gap_max_ms"], "ms")


@pytest.mark.parametrize("what", ["sample", "query", "bandwidth"])
def test_a_million_samples_stay_live(what, report):
    found = drive("drag", what, LONG_PROMPT, "1000000")
    report(f"drag of {what}, n = 1,000,000: painted updates", found["updates_per_second"], "/s")
    report(f"drag of {what}, n = 1,000,000: event loop gap p99", found["gap_p99_ms"], "ms")
    report(f"drag of {what}, n = 1,000,000: event loop gap max", found["gap_max_ms"], "ms")
    report(f"drag of {what}, n = 1,000,000: more memory than at rest", found["extra_mb"], "MB")


def test_start_to_first_paint(report):
    runs = [drive("start") for _ in range(3)]
    best = min(runs, key=lambda run: run["first_paint_s"])
    python = best["python_s"]
    report("process start to first paint", best["first_paint_s"], "s")
    report("process start to all panels live", best["live_s"], "s")
    report(
        "process start to first paint", best["first_paint_s"] / python, "x", against=f"python -c '' ({python:.3f} s)"
    )
