"""The text that the bundled model is trained on: three Debian packages, cleaned and cut into tokens.

Six novels by Jane Austen and the King James Bible give running prose with names that come back; WordNet's definitions
and examples give today's words. Nothing is fetched from anywhere but a Debian archive, through apt. A source is a list
of documents (paragraphs, chapters, definitions); every document starts with a blank when it is encoded, as a prompt
does.
"""

from __future__ import annotations

import random
import re
import shutil
import struct
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

PACKAGES = ("r-cran-janeaustenr", "bible-kjv", "bible-kjv-text", "wordnet-base")
START = "<|endoftext|>"  # id 0, first in every row
D_VOCAB = 5120
N_BLOCKS = 20  # held-out blocks of each source, evenly spaced
BLOCK_CHARS = 10_300  # about 2,600 tokens
FIRST_MERGED = 257  # ids below are the start token and single bytes


@dataclass(frozen=True)
class Corpus:
    """Training text as token ids, and what the rows are drawn from.

    Parameters
    ----------
    streams : dict of str to array
        Ids of each source, documents end to end.
    held_out : dict of str to list of str
        Text blocks that no row is drawn from.
    phrases : list of array
        Ids of WordNet's lemmas of several words.
    counts : array, shape (d_vocab,)
        How often each token stands in the streams.
    starts_word : array of bool, shape (d_vocab,)
        Which tokens start with a blank.
    """

    tokenizer: Tokenizer
    streams: dict[str, np.ndarray]
    held_out: dict[str, list[str]]
    phrases: list[np.ndarray]
    counts: np.ndarray
    starts_word: np.ndarray


def fetch(folder: Path) -> Path:
    """Return a folder into which the Debian packages have been unpacked, fetching them if need be."""
    unpacked = folder / "unpacked"
    if unpacked.is_dir():
        return unpacked
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise SystemExit(
            f"apt-get and dpkg-deb must be installed to fetch the text: on another system, download the Debian "
            f"packages {', '.join(PACKAGES)} and unpack each into {unpacked}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=True)
    partial = folder / "unpacking"
    for package in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(partial)], check=True)
    return partial.rename(unpacked)


def austen(unpacked: Path) -> list[str]:
    """Return the paragraphs of the six novels.

    R keeps each as a compressed character vector: 4 bytes of length, then zlib; inside, R's XDR format, in which
    a string is a header word 0x00040009, its length and its bytes.
    """
    raw = (unpacked / "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb").read_bytes()
    paragraphs: list[str] = []
    at = 0
    while at < len(raw):
        unpacker = zlib.decompressobj()
        vector = unpacker.decompress(raw[at + 4 :])
        at = len(raw) - len(unpacker.unused_data)
        lines = _strings(vector)
        paragraphs += [" ".join(part.split()) for part in "\n".join(lines).split("\n\n")]
    heading = re.compile(r"(chapter|volume|the end|finis|by jane austen|\(?\d+\)?)\b.{0,40}", re.IGNORECASE)
    cleaned = [part.replace("_", "").replace("--", " -- ") for part in paragraphs if part]
    return [" ".join(part.split()) for part in cleaned if not (heading.fullmatch(part) or part.isupper())]


def _strings(vector: bytes) -> list[str]:
    """Strings of a serialised R character vector."""
    start = vector.index(b"\x00\x04\x00\t") - 4
    (n_strings,) = struct.unpack_from(">i", vector, start)
    at, found = start + 4, []
    for _ in range(n_strings):
        (length,) = struct.unpack_from(">i", vector, at + 4)
        found.append(vector[at + 8 : at + 8 + max(length, 0)].decode("utf-8", "replace"))
        at += 8 + max(length, 0)
    return found


def bible(unpacked: Path) -> list[str]:
    """Return the chapters of the King James Bible, verses end to end without their numbers."""
    program = unpacked / "usr/bin/bible"
    command = [str(program), "-p", str(unpacked / "usr/lib"), "-l100000", "gen1:1-rev22:21"]
    text = subprocess.run(command, check=True, capture_output=True).stdout.decode("latin-1")
    chapters: list[list[str]] = []
    for line in text.splitlines():
        verse = re.fullmatch(r"\s+\d+ (.*)", line)
        if verse:
            chapters[-1].append(" ".join(verse[1].split()))
        elif line.strip():
            chapters.append([])  # "Genesis 1"
    return [" ".join(verses) for verses in chapters if verses]


def wordnet(unpacked: Path) -> tuple[list[str], list[str]]:
    """Return WordNet's entries, ``lemma: definition. Example. Example.``, and its lemmas of several words."""
    with_example, plain, phrases = [], [], set()
    for part in ("noun", "verb", "adj", "adv"):
        for line in (unpacked / f"usr/share/wordnet/data.{part}").read_text("latin-1").splitlines():
            if line.startswith("  "):
                continue  # the licence
            fields, _, gloss = line.partition(" | ")
            words = fields.split()
            names = words[4 : 4 + 2 * int(words[3], 16) : 2]
            lemmas = [re.sub(r"\(.*\)", "", name).replace("_", " ") for name in names]
            phrases.update(lemma for lemma in lemmas if 2 <= len(lemma.split()) <= 4 and len(lemma) < 26)
            examples = re.findall(r'"([^"]+)"', gloss)
            definition = " ".join(re.sub(r'"[^"]*"', "", gloss).replace(";", "; ").split()).strip("; ")
            entry = f"{lemmas[0]}: {definition}." + "".join(f" {_sentence(example)}" for example in examples)
            if examples:
                with_example.append(entry)
            elif re.fullmatch("[a-z]{3,9}", lemmas[0]):
                plain.append(entry)
    rng = random.Random(0)
    entries = with_example + rng.sample(plain, int(0.6 * len(plain)))
    rng.shuffle(entries)
    return entries, sorted(phrases)


def _sentence(example: str) -> str:
    text = " ".join(example.split()).strip("; ")
    return text[:1].upper() + text[1:] + ("" if text[-1:] in ".!?" else ".")


def hold_out(documents: list[str]) -> tuple[list[str], list[str]]:
    """Return the documents to train on, and evenly spaced blocks of neighbouring documents that are kept from it."""
    train, blocks = [], []
    first = [int((i + 0.5) * len(documents) / N_BLOCKS) for i in range(N_BLOCKS)]
    at = 0
    for start in first:
        train += documents[at:start]
        at, block = start, ""
        while len(block) < BLOCK_CHARS:
            block = f"{block} {documents[at]}".strip()
            at += 1
        blocks.append(block[:BLOCK_CHARS].rpartition(" ")[0])
    return train + documents[at:], blocks


def train_tokenizer(documents: list[str]) -> Tokenizer:
    """Return a byte-level BPE tokenizer that puts the start token first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=D_VOCAB,
        special_tokens=[START],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A", pair=f"{START} $A {START} $B", special_tokens=[(START, 0)]
    )
    return tokenizer


def build(folder: Path, tokenizer: Tokenizer | None = None) -> Corpus:
    """Return the corpus; `folder` keeps the fetched packages.

    Parameters
    ----------
    folder : Path
    tokenizer : Tokenizer or None
        None trains one: on Austen, every second chapter of the Bible, and WordNet.
    """
    unpacked = fetch(folder)
    entries, phrases = wordnet(unpacked)
    parts = {"austen": hold_out(austen(unpacked)), "bible": hold_out(bible(unpacked)), "wordnet": hold_out(entries)}
    train = {name: part[0] for name, part in parts.items()}
    if tokenizer is None:
        tokenizer = train_tokenizer(train["austen"] + train["bible"][::2] + train["wordnet"])
    streams = {name: np.concatenate(encode(tokenizer, documents)) for name, documents in train.items()}
    pieces = [ids for ids in encode(tokenizer, phrases) if 2 <= len(ids) <= 6]
    counts = np.bincount(np.concatenate(list(streams.values())), minlength=D_VOCAB)
    starts_word = np.array([tokenizer.id_to_token(number).startswith("Ġ") for number in range(D_VOCAB)])
    return Corpus(tokenizer, streams, {name: part[1] for name, part in parts.items()}, pieces, counts, starts_word)


def encode(tokenizer: Tokenizer, texts: list[str]) -> list[np.ndarray]:
    """Return the ids of each text, without the start token."""
    return [np.array(found.ids, np.int64) for found in tokenizer.encode_batch(texts, add_special_tokens=False)]
