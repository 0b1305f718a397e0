"""Measure a bundled model: the report that stands in its MODEL_CARD.md, from the shipped files alone.

    python resources/models/induction/measure.py [FOLDER]

Everything goes through kav's public functions, in float32, with the start token first. Random prompts are a start
token and random tokens, twice over (n of them: "length n"); their seed is fixed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import kav

HERE = Path(__file__).resolve().parent
PROMPTS = HERE.parents[2] / "tests" / "data" / "induction"
PREVIOUS, INDUCTION = (0, 0), ((1, 0), (1, 1))
FIRST_MERGED = 257  # ids below are the start token and single bytes
LENGTHS = (10, 25, 50, 100, 127)
N_PROMPTS = 16


@dataclass(frozen=True)
class Sentence:
    """What the model makes of one sentence.

    Parameters
    ----------
    prompt : str
    answer : str
        Label of the right next token.
    top : str
        Label of the model's first guess.
    p : float
        Probability of the right token.
    attention : float
        Mass of the better induction head on the token after the earlier copy.
    head : tuple of int
        That head.
    """

    prompt: str
    answer: str
    top: str
    p: float
    attention: float
    head: tuple[int, int]

    @property
    def right(self) -> bool:
        """Whether the first guess is right and holds at least half of the probability."""
        return self.top == self.answer and self.p >= 0.5

    @property
    def seen(self) -> bool:
        """Whether an induction head puts at least half of its attention on the right source."""
        return self.attention >= 0.5


class Measured:
    """One opened model and what is measured on it; each measure is made when first asked for."""

    def __init__(self, folder: Path = HERE) -> None:
        self.model = kav.open_model(folder, device="cpu")
        self.held_out = (HERE / "held_out.txt").read_text(encoding="utf-8").splitlines()

    @property
    def heads(self) -> list[tuple[int, int]]:
        """Every head."""
        return [
            (layer, head) for layer in range(self.model.config.n_layers) for head in range(self.model.config.n_heads)
        ]

    def repeats(self, length: int, n_prompts: int = N_PROMPTS) -> Iterator[tuple[int, ...]]:
        """Yield prompts of random tokens, twice over."""
        rng = np.random.default_rng(length)
        for _ in range(n_prompts):
            half = rng.integers(FIRST_MERGED, self.model.config.d_vocab, length).tolist()
            yield (0, *half, *half)

    def second_copy(self, length: int, *edits: object) -> float:
        """Return how often the first guess is right within the second copy."""
        right = []
        for ids in self.repeats(length):
            logits = kav.run(self.model, self.model.tokens(ids), edits).logits(slice(length + 1, -1))
            right.append(np.argmax(logits, axis=-1) == np.array(ids[length + 2 :]))
        return float(np.mean(right))

    @cached_property
    def prefix_matching(self) -> dict[tuple[int, int], float]:
        """Each head's mean attention from the second copy of a token to what followed the first (length 50)."""
        length, masses = 50, []
        for ids in self.repeats(length):
            trace = kav.run(self.model, self.model.tokens(ids))
            query = np.arange(length + 1, 2 * length + 1)
            masses.append([trace.pattern(*head)[query, query - length + 1].mean() for head in self.heads])
        return dict(zip(self.heads, np.mean(masses, axis=0).tolist(), strict=True))

    def previous_token(self, prompts: Iterable[Sequence[int]]) -> dict[tuple[int, int], float]:
        """Return each head's mean attention to the token before."""
        masses = []
        for ids in prompts:
            trace = kav.run(self.model, self.model.tokens(ids))
            query = np.arange(1, len(ids))
            masses.append([trace.pattern(*head)[query, query - 1].mean() for head in self.heads])
        return dict(zip(self.heads, np.mean(masses, axis=0).tolist(), strict=True))

    def windows(self, block: str) -> list[tuple[int, ...]]:
        """Return a text block as prompts that fill the context, start token first."""
        ids, n = self.model.encode(block, bos=False).ids, self.model.config.n_ctx - 1
        return [(0, *ids[at : at + n]) for at in range(0, len(ids) - n + 1, n)]

    @cached_property
    def losses(self) -> list[np.ndarray]:
        """Mean loss of every full context of held-out prose, in nats per token, by block."""
        return [np.array([self.loss(ids) for ids in self.windows(block)]) for block in self.held_out]

    def loss(self, ids: tuple[int, ...]) -> float:
        """Return the mean loss on one prompt, in nats per token."""
        logits = kav.run(self.model, self.model.tokens(ids)).logits(slice(0, -1)).astype(np.float64)
        top = logits.max(axis=-1)
        chosen = np.take_along_axis(logits, np.array(ids[1:])[:, None], axis=-1)[:, 0]
        return float(np.mean(top + np.log(np.exp(logits - top[:, None]).sum(axis=-1)) - chosen))

    def text_loss(self, blocks: slice = slice(None)) -> float:
        """Return the mean loss over blocks of held-out prose: Austen's come first, then as many of the Bible's."""
        return float(np.mean(np.concatenate(self.losses[blocks])))

    @cached_property
    def copying(self) -> dict[tuple[int, int], float]:
        """Each head's copying score."""
        return {head: kav.copying_score(self.model, *head) for head in self.heads}

    @cached_property
    def k_composition(self) -> list[tuple[float, tuple[int, int], tuple[int, int]]]:
        """K-composition above baseline of every pair (score, from, to), largest first."""
        found = kav.composition(self.model, "K")
        above = found.values - found.baseline
        pairs = [(float(above[(*a, *b)]), a, b) for a in self.heads for b in self.heads if a[0] < b[0]]
        return sorted(pairs, reverse=True)

    def sentence(self, prompt: str, answer: str) -> Sentence:
        """Return what the model makes of a prompt whose last token stood earlier, before the answer's first token."""
        tokens = self.model.encode(prompt)
        target = self.model.encode(f"{prompt} {answer}").ids[len(tokens)]
        pairs = list(zip(tokens.ids, tokens.ids[1:], strict=False))
        source = pairs.index((tokens.ids[-1], target)) + 1
        trace = kav.run(self.model, tokens)
        log_probs = trace.log_probs(-1)
        mass, head = max((float(trace.pattern(*head)[-1, source]), head) for head in INDUCTION)
        top = self.model.label(int(np.argmax(log_probs)))
        return Sentence(prompt, self.model.label(target), top, float(np.exp(log_probs[target])), mass, head)

    def suite(self, name: str) -> list[Sentence]:
        """Return what the model makes of the sentences in one file of tests/data/induction."""
        items = json.loads((PROMPTS / f"{name}.json").read_text(encoding="utf-8"))
        return [self.sentence(item["prompt"], item["answer"]) for item in items]


def removed(head: tuple[int, int]) -> object:
    """Return the edit that removes a head."""
    return kav.ScaleHead(*head, 0.0)


def report(found: Measured) -> Iterator[str]:
    """Yield the lines of the report, in Markdown."""
    yield from ("| measure | value |", "| --- | --- |")
    for length in LENGTHS:
        yield f"| right within the second copy, length {length} | {found.second_copy(length):.3f} |"
    for head in INDUCTION:
        yield f"| prefix matching, length 50, head {name(head)} | {found.prefix_matching[head]:.3f} |"
    on_random = found.previous_token(found.repeats(50))[PREVIOUS]
    on_text = found.previous_token(ids for block in found.held_out for ids in found.windows(block)[:1])[PREVIOUS]
    yield f"| previous token, head {name(PREVIOUS)}, random tokens | {on_random:.3f} |"
    yield f"| previous token, head {name(PREVIOUS)}, prose | {on_text:.3f} |"
    yield f"| copying, layer 1 | {', '.join(f'{name(head)} {found.copying[head]:.2f}' for head in found.heads[4:])} |"
    for score, start, end in found.k_composition[:3]:
        yield f"| K-composition above baseline, {name(start)} to {name(end)} | {score:.3f} |"
    for head in (PREVIOUS, *INDUCTION):
        without = found.second_copy(50, removed(head))
        yield f"| right within the second copy, length 50, without head {name(head)} | {without:.3f} |"
    half = len(found.held_out) // 2
    austen, bible = found.text_loss(slice(half)), found.text_loss(slice(half, None))
    yield f"| loss on held-out prose, nats a token | {found.text_loss():.3f} |"
    yield f"| of it Austen, King James Bible | {austen:.3f}, {bible:.3f} |"
    for title, file in (("suite", "sentences"), ("others", "others")):
        suite = found.suite(file)
        right, seen = sum(item.right for item in suite), sum(item.seen for item in suite)
        yield f"| sentences, {title}: right with p >= 0.5; attention >= 0.5 | {right}; {seen} of {len(suite)} |"
    yield from (
        "",
        "| sentence | right token | first guess | p | attention | head |",
        "| --- | --- | --- | --- | --- | --- |",
    )
    for item in found.suite("sentences") + found.suite("others"):
        guess = f"{item.answer} | {item.top} | {item.p:.2f} | {item.attention:.2f} | {name(item.head)} |"
        yield f"| {item.prompt} | {guess}"


def name(head: tuple[int, int]) -> str:
    """Return a head's name."""
    return f"{head[0]}.{head[1]}"


def main() -> None:
    """Print the report."""
    for line in report(Measured(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)):
        print(line)


if __name__ == "__main__":
    main()
