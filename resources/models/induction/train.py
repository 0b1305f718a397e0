"""Train the bundled model: one command, from Debian's text packages to the files that ship.

    pip install -e '.[train]'
    python resources/models/induction/train.py --seed 21 --out build/induction

A second model with a small MLP starts from the first:

    python resources/models/induction/train.py --seed 31 --base build/induction --out build/induction_mlp

Three stages. `circuit`: repeated random tokens only, until an induction circuit has formed; from then on the queries
and keys of head 0.0 are held. `prose`: mostly text, the learning rate falling to zero. `polish`: more repeats, so that
the heads dare to act in sentences. What is started or held instead of learned is said in MODEL_CARD.md.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from corpus import D_VOCAB, FIRST_MERGED, START, Corpus, build, encode
from network import D_HEAD, N_CTX, Block, Network, mean_loss
from rows import Mix, Sampler
from tokenizers import Tokenizer
from torch import Tensor

WARM_UP = 30
CLIP = 1.0
MUON = {"momentum": 0.95, "weight_decay": 0.01}
EVERY = 250  # steps between two lines of the log
SAVED = 1000  # steps between two exports


@dataclass(frozen=True)
class Stage:
    """One stretch of training.

    Parameters
    ----------
    name : str
    n_steps, n_rows, n_ctx : int
        n_rows * n_ctx = 2,048 positions a step.
    adam, muon : float
        Learning rates: Muon's for the attention matrices, AdamW's for everything else.
    embedding : float
        The embedding's learning rate as a multiple of `adam`.
    mix : Mix
    falling : bool
        Whether the rates fall linearly to zero, or stay.
    n_active : int
        Heads of the last layer that take part.
    """

    name: str
    n_steps: int
    n_rows: int
    n_ctx: int
    adam: float
    muon: float
    mix: Mix
    embedding: float = 10.0  # its numbers are of size 1, fifty times those of the output matrix
    falling: bool = True
    n_active: int = 4


CIRCUIT = Stage("circuit", 400, 32, 64, 5e-3, 0.02, Mix(1.0, 0.0, 32, flattened=0.0), 1.0, falling=False, n_active=2)
PROSE = Stage("prose", 5000, 8, N_CTX, 4e-3, 0.016, Mix(0.15, 0.35, N_CTX // 2))
POLISH = Stage("polish", 400, 8, N_CTX, 1e-3, 0.004, Mix(0.2, 0.5, N_CTX // 2, repeat_weight=3.0))
WITH_MLP = Stage("mlp", 2000, 8, N_CTX, 2e-3, 0.008, Mix(0.15, 0.35, N_CTX // 2))


class Held:
    """Keeps the queries and keys of one head as they are: text would pull a previous-token head to two tokens back."""

    def __init__(self, block: Block) -> None:
        columns = slice(0, D_HEAD)  # head 0
        self.parts = [(block.W_Q, columns), (block.W_K, columns), (block.b_Q, columns), (block.b_K, columns)]
        self.values = [parameter.detach()[..., part].clone() for parameter, part in self.parts]

    def drop_gradients(self) -> None:
        """Leave the optimiser nothing to follow."""
        for parameter, part in self.parts:
            parameter.grad[..., part] = 0

    @torch.no_grad()
    def restore(self) -> None:
        """Undo what momentum and weight decay have moved."""
        for (parameter, part), value in zip(self.parts, self.values, strict=True):
            parameter[..., part] = value


class Log:
    """Writes to the screen and to train.log."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("w")
        self.start, self.cpu = time.time(), time.process_time()

    def __call__(self, text: str) -> None:
        """Write one line with the seconds so far, on the clock and on the CPU."""
        line = f"{time.time() - self.start:6.0f} s  cpu {time.process_time() - self.cpu:6.0f} s  {text}"
        for file in (sys.stdout, self.file):
            print(line, file=file, flush=True)


def optimisers(network: Network, stage: Stage) -> list[torch.optim.Optimizer]:
    """Return Muon for the matrices inside the layers and AdamW for the rest; only the output matrix decays."""
    matrices = [p for p in network.blocks.parameters() if p.ndim == 2]
    vectors = [p for p in network.parameters() if p.ndim == 1]
    groups = [
        {"params": vectors, "weight_decay": 0.0},
        {"params": [network.W_E], "weight_decay": 0.0, "multiple": stage.embedding},
        {"params": [network.W_U], "weight_decay": 0.1},
    ]
    return [
        torch.optim.Muon(matrices, lr=stage.muon, **MUON),
        torch.optim.AdamW(groups, lr=stage.adam, betas=(0.9, 0.98), fused=True),
    ]


def rate(stage: Stage, step: int) -> float:
    """Return the learning rate of a step, as a share of the stage's."""
    return min(1.0, (step + 1) / WARM_UP) * (1 - step / stage.n_steps if stage.falling else 1.0)


def train(network: Network, sampler: Sampler, stage: Stage, *, held: Held | None, watch: Watch) -> None:
    """Train one stage."""
    network.blocks[-1].n_active = stage.n_active
    steppers = optimisers(network, stage)
    full = [stage.muon, stage.adam]
    recent = 0.0
    for step in range(stage.n_steps):
        ids, weights = sampler.batch(stage.mix, stage.n_rows, stage.n_ctx)
        loss = network.loss(torch.from_numpy(ids), torch.from_numpy(weights).float())
        for stepper, lr in zip(steppers, full, strict=True):
            stepper.zero_grad()
            for group in stepper.param_groups:
                group["lr"] = lr * group.get("multiple", 1.0) * rate(stage, step)
        loss.backward()
        if held is not None:
            held.drop_gradients()
        torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        for stepper in steppers:
            stepper.step()
        if held is not None:
            held.restore()
        recent = loss.item() if step == 0 else 0.98 * recent + 0.02 * loss.item()
        if (step + 1) % EVERY == 0 or step + 1 == stage.n_steps:
            watch(network, f"{stage.name} {step + 1}/{stage.n_steps}: training loss {recent:.3f}")
        if (step + 1) % SAVED == 0:
            network.export(watch.folder)


class Watch:
    """What is measured on the way; nothing is chosen by it, the shipped numbers come from measure.py."""

    def __init__(self, corpus: Corpus, log: Log, folder: Path) -> None:
        self.log, self.folder = log, folder
        blocks = encode(corpus.tokenizer, corpus.held_out["austen"] + corpus.held_out["bible"])
        self.text = torch.from_numpy(np.stack([np.append(0, block[:N_CTX]) for block in blocks]))
        rng = np.random.default_rng(0)
        halves = [rng.choice(np.arange(FIRST_MERGED, D_VOCAB), 50, replace=False) for _ in range(8)]
        self.repeats = torch.from_numpy(np.stack([np.concatenate([[0], half, half]) for half in halves]))

    def __call__(self, network: Network, text: str) -> None:
        """Write one line to the log."""
        loss, right = mean_loss(network, self.text), self.second_copy(network)
        self.log(f"{text}, held-out text {loss:.3f}, second copy right {right:.3f}")

    @torch.no_grad()
    def second_copy(self, network: Network) -> float:
        """Return how often the next token is right from the second token of the second copy on."""
        ids: Tensor = self.repeats
        logits = network(ids[:, :-1])[:, 51:] @ network.W_U.T
        return float((logits.argmax(-1) == ids[:, 52:]).float().mean())


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description="Train KAV's bundled model.")
    parser.add_argument("--out", type=Path, required=True, help="folder that is written")
    parser.add_argument("--text", type=Path, default=Path("build/text"), help="folder that keeps the Debian packages")
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--threads", type=int, default=1, help="seeds side by side use two cores better than threads")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the steps, for a trial run")
    parser.add_argument("--base", type=Path, help="trained folder to which a small MLP is added instead")
    parser.add_argument("--d-mlp", type=int, default=192, help="width of that MLP")
    return parser.parse_args()


def main() -> None:
    """Run the command."""
    chosen = arguments()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    log = Log(chosen.out / "train.log")
    log(f"seed {chosen.seed}, torch {torch.__version__}, {chosen.threads} thread(s), {' '.join(sys.argv[1:])}")
    given = None if chosen.base is None else Tokenizer.from_file(str(chosen.base / "tokenizer.json"))
    corpus = build(chosen.text, given)
    log("text: " + ", ".join(f"{name} {len(ids):,} tokens" for name, ids in corpus.streams.items()))
    save_words(corpus, chosen.out)
    sampler, watch = Sampler(corpus, chosen.seed), Watch(corpus, log, chosen.out)
    if chosen.base is None:
        network = Network(D_VOCAB)
        train(network, sampler, shortened(CIRCUIT, chosen.scale), held=None, watch=watch)
        stages = (PROSE, POLISH)
    else:
        network = Network(D_VOCAB, chosen.d_mlp)
        network.load(chosen.base)
        stages = (WITH_MLP, POLISH)
    held = Held(network.blocks[0])
    for stage in stages:
        train(network, sampler, shortened(stage, chosen.scale), held=held, watch=watch)
        network.export(chosen.out)
    log(f"{sum(p.numel() for p in network.parameters()):,} parameters written to {chosen.out}")


def save_words(corpus: Corpus, folder: Path) -> None:
    """Write the tokenizer's files, and the held-out prose on which measure.py reads the text loss, a block a line."""
    corpus.tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_prefix_space": True,
        "bos_token": START,
        "eos_token": START,
        "model_max_length": N_CTX,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")
    blocks = corpus.held_out["austen"] + corpus.held_out["bible"]
    (folder / "held_out.txt").write_text("\n".join(blocks) + "\n")


def shortened(stage: Stage, scale: float) -> Stage:
    """Return a stage with a share of its steps."""
    return replace(stage, n_steps=max(1, math.ceil(stage.n_steps * scale)))


if __name__ == "__main__":
    main()
