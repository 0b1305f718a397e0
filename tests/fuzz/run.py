"""Opening many spoilt models: only a ModelError may come out, within two seconds and 200 MB.

    python -m tests.fuzz.run gguf --count 20000

prints one line for every mutation that does anything else, and a summary. A mutation is named by its number: the same
number is the same file. Time is processor time, so that a busy machine does not matter.
"""

import argparse
import json
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from tests.fuzz.mutate import MUTATORS

SECONDS = 2.0
MEMORY = 200 << 20


class TooLongError(BaseException):
    """Raised by the clock inside whatever runs too long; nothing catches it by accident."""


def write(folder, target, number):
    """Put a mutation's files into an empty folder; the path to open."""
    for file in folder.iterdir():
        file.unlink()
    files = MUTATORS[target](random.Random(f"{target}-{number}"))
    for name, raw in files.items():
        (folder / name).write_bytes(raw)
    return folder / "model.gguf" if "model.gguf" in files else folder


def attempt(source):
    """Open a model, write and read a few tokens, and run; "opened", "refused", or what went wrong."""
    import kav
    from kav.errors import KavError, ModelError

    try:
        model = kav.open_model(source, device="cpu")
    except ModelError as error:
        said = str(error)
        return "refused" if " must " in said and len(said) < 2000 else f"says {said[:300]!r}"
    try:
        tokens = model.encode("1 2" if model.tokenizer is None else "ab abc de 12 é!")
        model.tokens(range(min(model.config.d_vocab, 16)))
        if len(tokens):
            kav.run(model, tokens).logits(-1)
    except KavError:
        return "refused"
    return "opened"


def peak():
    """Most memory ever held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _late(*_):
    raise TooLongError


def one(folder, target, number):
    """The outcome of one mutation, with its time and memory."""
    source, before, start = write(folder, target, number), peak(), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        outcome = attempt(source)
    except TooLongError:
        outcome = f"takes more than {SECONDS} s"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        outcome = f"{type(error).__name__}: {str(error)[:200]} ({Path(place.filename).name}:{place.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if peak() - before > MEMORY:
        outcome = f"takes {(peak() - before) >> 20} MB"
    return outcome, time.process_time() - start


def limit_memory(n_bytes):
    """Let this process take at most so much more than it has."""
    if sys.platform == "linux":
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + n_bytes, held + n_bytes))


def without_trials():
    """Let tokenizers be read in this process, ten times as fast; the trial is returned.

    A crash here is one more thing to find. What only takes too long or too much is for the trial, which must say so.
    """
    from kav.model import tokenizer_trial

    trial, tokenizer_trial.verdict = tokenizer_trial.verdict, lambda source: ""
    return lambda folder: bool(trial((folder / "tokenizer.json").read_bytes()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target", choices=MUTATORS)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--with-trials", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    signal.signal(signal.SIGPROF, _late)
    refused_by_trial = None if options.with_trials else without_trials()
    import tokenizers  # noqa: F401 - loaded before memory is counted

    counts, slowest = {"opened": 0, "refused": 0}, 0.0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        limit_memory(1 << 30)
        for number in range(options.start, options.start + options.count):
            sys.stderr.write(f"{number}\n")
            outcome, seconds = one(folder, options.target, number)
            if options.target == "tokenizer" and outcome.startswith("takes") and refused_by_trial is not None:
                outcome, seconds = ("refused", 0.0) if refused_by_trial(folder) else (outcome, seconds)
            slowest = max(slowest, seconds)
            if outcome in counts:
                counts[outcome] += 1
            else:
                sys.stdout.write(f"{options.target} {number} {outcome}\n")
                sys.stdout.flush()
    sys.stdout.write(json.dumps(counts | {"slowest": round(slowest, 3), "peak": peak() >> 20}) + "\n")


if __name__ == "__main__":
    main()
