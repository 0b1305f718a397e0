"""A thousand spoilt models of each kind: only a ModelError comes out, soon and without much memory.

Each kind runs in a process of its own, so that a crash or a hang is one failing test that names the mutation. More by
hand: ``python -m tests.fuzz.run gguf --count 20000``. What was found is kept as a test of its own in tests/kav/model.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.mutate import MUTATORS

ROOT = Path(__file__).resolve().parents[2]
COUNT = 1000
PATIENCE = 300


def fuzz(target, *options):
    command = [sys.executable, "-m", "tests.fuzz.run", target, *map(str, options)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    last = done.stderr.strip().splitlines()[-1:]
    assert done.returncode == 0, f"ended with {done.returncode} at {target} {last}"
    *wrong, summary = done.stdout.strip().splitlines()
    return wrong, json.loads(summary)


@pytest.mark.skipif(sys.platform == "win32", reason="clock and memory limits are those of POSIX")
@pytest.mark.parametrize("target", MUTATORS)
def test_spoilt_models_are_refused_or_opened_and_nothing_else(target):
    wrong, counts = fuzz(target, "--count", COUNT)
    assert wrong == []
    assert counts["opened"] > COUNT * 0.02, "mutations must be mild enough to get past the first check"
    assert counts["refused"] > COUNT * 0.5


@pytest.mark.skipif(sys.platform == "win32", reason="clock and memory limits are those of POSIX")
def test_tokenizers_that_are_tried_first_are_refused_too():
    wrong, counts = fuzz("tokenizer", "--count", 25, "--with-trials")
    assert wrong == []
    assert counts["refused"] > 10
