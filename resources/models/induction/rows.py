"""What the model is trained on, row by row: random repeats, text, and text with repeats pasted into it.

Running text alone teaches a small model to trust neighbouring words, and its induction heads stay shy in sentences.
Pasted repeats reward looking back while text goes on around them. A row is (ids, weights): one id more than the
context, and the weight of the loss on predicting ids[1:].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from corpus import D_VOCAB, FIRST_MERGED, Corpus

Row = tuple[np.ndarray, np.ndarray]

SOURCES = ("austen", "bible", "wordnet")
SOURCE_SHARES = (0.5, 0.25, 0.25)
FLATTENED = 0.6  # share of random rows drawn ~ unigram ** 0.5 instead of uniformly
RESUMED = 0.3  # weight of the first token after an interruption, and of a span at its first use
BACK = 120  # a repeat may be copied from this many tokens back


@dataclass(frozen=True)
class Mix:
    """What a batch is made of; the rest is text.

    Parameters
    ----------
    random, paste : float
        Shares of the rows.
    longest : int
        Longest random segment that is repeated.
    flattened : float
        Share of random rows drawn ~ unigram ** 0.5.
    repeat_weight : float
        Weight of the loss on repeated tokens in pasted rows.
    """

    random: float
    paste: float
    longest: int
    flattened: float = FLATTENED
    repeat_weight: float = 2.5


class Sampler:
    """Draws rows from a corpus; the same seed draws the same rows."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.corpus = corpus
        flat = np.sqrt(corpus.counts)
        flat[:FIRST_MERGED] = 0
        self.flat = np.cumsum(flat / flat.sum())
        starts = flat * corpus.starts_word
        self.flat_starts = np.cumsum(starts / starts.sum())
        self.surprisal = -np.log((corpus.counts + 1) / corpus.counts.sum())

    def batch(self, mix: Mix, n_rows: int, n_ctx: int) -> Row:
        """Return ids (n_rows, n_ctx + 1) and weights (n_rows, n_ctx); the shares hold within every batch."""
        places = (np.arange(n_rows) + self.rng.random()) / n_rows
        rows = []
        for place in places:
            if place < mix.random:
                rows.append(self.random_row(mix, n_ctx))
            elif place < mix.random + mix.paste:
                rows.append(self.paste_row(mix, n_ctx))
            else:
                rows.append((np.append(0, self.text(n_ctx)), np.ones(n_ctx)))
        return np.stack([ids for ids, _ in rows]), np.stack([weights for _, weights in rows])

    def random_row(self, mix: Mix, n_ctx: int) -> Row:
        """Return random tokens that repeat; no loss on the first copy, which nothing can predict."""
        n = self.log_uniform(3, mix.longest)
        if self.rng.random() < mix.flattened:
            segment = self.draw(self.flat, n)
        else:
            segment = self.rng.integers(FIRST_MERGED, D_VOCAB, n)
        ids = np.append(0, np.resize(segment, n_ctx))
        return ids, (np.arange(n_ctx) > n).astype(float)  # the first token of the second copy is no repeat yet

    def paste_row(self, mix: Mix, n_ctx: int) -> Row:
        """Return text that is interrupted by spans which come again and again."""
        source = self.source()
        text, at = self.text(n_ctx, source), 0
        spans = [self.span(source) for _ in range(self.rng.integers(1, 4))]
        used: set[int] = set()
        ids, weights = [0], []
        while len(weights) < n_ctx:
            n = self.log_uniform(1, 30)
            weights += [1.0 if at == 0 else RESUMED] + [1.0] * (len(text[at : at + n]) - 1)
            ids += text[at : at + n].tolist()
            at += n
            if self.rng.random() < 0.3 and len(ids) > 16:
                start = int(self.rng.integers(max(1, len(ids) - BACK), len(ids) - 3))
                piece, weight = ids[start : start + int(self.rng.integers(3, 13))], mix.repeat_weight
            else:
                chosen = int(self.rng.integers(len(spans)))
                piece, weight = spans[chosen].tolist(), mix.repeat_weight if chosen in used else RESUMED
                used.add(chosen)
            ids += piece
            weights += [0.0] + [weight] * (len(piece) - 1)
        return np.array(ids[: n_ctx + 1]), np.array(weights[:n_ctx])

    def span(self, source: str) -> np.ndarray:
        """Return what a row repeats: a stretch of text, a phrase, or random tokens."""
        kind = self.rng.random()
        if kind < 0.4:
            candidates = [self.stretch(source) for _ in range(3)]
            return max(candidates, key=lambda ids: float(self.surprisal[ids].mean()))
        if kind < 0.7:
            return self.corpus.phrases[int(self.rng.integers(len(self.corpus.phrases)))]
        return self.draw(self.flat_starts if self.rng.random() < 0.7 else self.flat, int(self.rng.integers(2, 6)))

    def stretch(self, source: str) -> np.ndarray:
        """Return 2 to 10 tokens of a source that start at a word and end with one."""
        stream, starts = self.corpus.streams[source], self.corpus.starts_word
        at = int(self.rng.integers(len(stream) - 40))
        while not starts[stream[at]]:
            at += 1
        end = at + self.log_uniform(2, 10)
        while end < len(stream) and not starts[stream[end]]:
            end += 1
        return stream[at:end]

    def text(self, n: int, source: str | None = None) -> np.ndarray:
        """Return n tokens of running text."""
        stream = self.corpus.streams[source or self.source()]
        at = int(self.rng.integers(len(stream) - n))
        return stream[at : at + n]

    def source(self) -> str:
        """Return the name of a source."""
        return str(self.rng.choice(SOURCES, p=SOURCE_SHARES))

    def log_uniform(self, low: int, high: int) -> int:
        """Return a whole number in low..high, short ones more often."""
        return int(math.exp(self.rng.uniform(math.log(low), math.log(high + 1))))

    def draw(self, cumulative: np.ndarray, n: int) -> np.ndarray:
        """Return n token ids drawn from cumulative probabilities."""
        return np.minimum(np.searchsorted(cumulative, self.rng.random(n), side="right"), D_VOCAB - 1)
