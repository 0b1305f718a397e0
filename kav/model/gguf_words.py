"""The vocabulary of a GGUF file as a tokenizer.json, which is how kav reads every tokenizer.

Three kinds are rebuilt: byte-level BPE, whose text is first cut by the patterns that the file names
(``tokenizer.ggml.pre``); SentencePiece, as BPE over ▁ and bytes or as a unigram model; and WordPiece. Nothing of the
file is executed: a chat template stays the string it is.

References
----------
The GGUF format description, github.com/ggml-org/ggml, docs/gguf.md, "Tokenizer".
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from kav.errors import ModelError
from kav.model.gguf import GgufFile
from kav.model.gguf_patterns import PATTERNS, WHOLE_WORDS
from kav.model.tokenizer_specs import added_token, byte_level, whole, wordpiece
from kav.model.tokenizer_trial import check_plan

_NORMAL, _UNKNOWN, _CONTROL, _USER, _UNUSED, _BYTE = 1, 2, 3, 4, 5, 6


class UnknownWordsError(ModelError):
    """A vocabulary of a kind that kav does not rebuild: tokens can still be written by their ids."""


def tokenizer_json(file: GgufFile) -> str | None:
    """Return the text of a tokenizer.json with the file's vocabulary; None if it has none.

    Raises
    ------
    UnknownWordsError
        If the kind of vocabulary or the way it cuts text is not known.
    ModelError
        If the vocabulary is broken.
    """
    values = file.values
    kind = values.get("tokenizer.ggml.model")
    if kind is None or kind in ("none", "no_vocab"):
        return None
    makers = {"gpt2": _bpe, "llama": _sentencepiece, "bert": _wordpiece, "t5": _unigram}
    if not isinstance(kind, str) or kind not in makers:
        raise UnknownWordsError(f"tokenizer.ggml.model must be one of {', '.join(makers)}, got {str(kind)[:60]!r}")
    words = _Words(values)
    spec = whole(words.added(), makers[kind](words))
    check_plan({**spec, "model": None})  # a vocabulary and its merges are no steps
    return json.dumps(spec, ensure_ascii=False)


def start_token(file: GgufFile) -> tuple[int | None, bool]:
    """Return the id of the start token, None if there is none, and whether text starts with it by itself."""
    values = file.values
    number = values.get("tokenizer.ggml.bos_token_id")
    if type(number) is not int:
        return None, False
    kind, cut = values.get("tokenizer.ggml.model"), values.get("tokenizer.ggml.pre")
    usual = kind == "llama" or (kind == "gpt2" and cut in WHOLE_WORDS)
    return number, bool(values.get("tokenizer.ggml.add_bos_token", usual)) and kind != "bert"


class _Words:
    """The vocabulary as lists of equal length, each entry once."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        tokens = self.strings("tokens")
        self.kinds = self.numbers("token_type", np.full(len(tokens), _NORMAL), len(tokens)).astype(np.int64)
        self.scores = self.numbers("scores", np.zeros(len(tokens)), len(tokens)).astype(np.float64)
        self.ids: dict[str, int] = dict(zip(tokens, range(len(tokens)), strict=True))
        self.tokens: list[str] = tokens
        if len(self.ids) == len(tokens):
            return
        self.ids, self.tokens = {}, []
        for number, token in enumerate(tokens):
            # Broken files name an entry twice; the later one can be read but never be written.
            name = token if token not in self.ids else f"{token}<{number}>"
            self.ids[name] = number
            self.tokens.append(name)

    def strings(self, key: str) -> list[str]:
        """A list of strings."""
        found = self.values.get(f"tokenizer.ggml.{key}")
        if not isinstance(found, list) or not found or not all(isinstance(item, str) for item in found):
            raise ModelError(f"tokenizer.ggml.{key} must be a list of strings, got {type(found).__name__}")
        return found

    def numbers(self, key: str, default: np.ndarray, n_items: int) -> np.ndarray:
        """A list of n_items finite numbers."""
        found = self.values.get(f"tokenizer.ggml.{key}", default)
        if not isinstance(found, np.ndarray) or len(found) != n_items or not np.isfinite(found).all():
            raise ModelError(f"tokenizer.ggml.{key} must be {n_items:,} finite numbers, got something else")
        return found

    def special(self, key: str) -> str | None:
        """The token whose id a key gives."""
        number = self.values.get(f"tokenizer.ggml.{key}_token_id")
        return self.tokens[number] if type(number) is int and 0 <= number < len(self.tokens) else None

    def added(self) -> list[dict[str, Any]]:
        """Tokens that are found in the text before anything else."""
        return [
            added_token(number, self.tokens[number], special=bool(self.kinds[number] == _CONTROL))
            for number in np.flatnonzero(np.isin(self.kinds, (_CONTROL, _USER))).tolist()
        ]


def _bpe(words: _Words) -> dict[str, Any]:
    cut = words.values.get("tokenizer.ggml.pre", "default")
    if not isinstance(cut, str) or cut not in PATTERNS:
        known = ", ".join(sorted(PATTERNS))
        raise UnknownWordsError(f"tokenizer.ggml.pre must be one of {known}, got {str(cut)[:60]!r}")
    space_first = words.values.get("tokenizer.ggml.add_space_prefix") is True
    return byte_level(words.ids, words.strings("merges"), cut, space_first=space_first)


def _blanks(words: _Words) -> dict[str, Any]:
    """Blanks are written ▁, also one before the text."""
    steps: list[dict[str, Any]] = [{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    if words.values.get("tokenizer.ggml.add_space_prefix", True) is not False:
        steps.insert(0, {"type": "Prepend", "prepend": "▁"})
    return {
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
            ],
        },
    }


def _sentencepiece(words: _Words) -> dict[str, Any]:
    """Pairs are merged by the score of what they give: written as merges, best score first."""
    usable = np.isin(words.kinds, (_NORMAL, _USER, _UNUSED)).tolist()
    found: list[tuple[float, int, str, str]] = []
    for token, usable_here, score in zip(words.tokens, usable, words.scores.tolist(), strict=True):
        if usable_here and 1 < len(token) <= 64:
            for at in range(1, len(token)):
                left, right = token[:at], token[at:]
                if left in words.ids and right in words.ids:
                    found.append((-score, words.ids[left], left, right))
    found.sort(key=lambda item: item[:2])
    return {
        **_blanks(words),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": _unknown(words),
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": words.ids,
            "merges": [(left, right) for _, _, left, right in found],
        },
    }


def _unigram(words: _Words) -> dict[str, Any]:
    found = _blanks(words)
    charsmap = words.values.get("tokenizer.ggml.precompiled_charsmap")
    if isinstance(charsmap, np.ndarray) and charsmap.dtype.itemsize == 1 and len(charsmap):
        text = base64.b64encode(charsmap.tobytes()).decode()
        found["normalizer"]["normalizers"].insert(0, {"type": "Precompiled", "precompiled_charsmap": text})
    unknown = _unknown(words)
    return {
        **found,
        "model": {
            "type": "Unigram",
            "unk_id": None if unknown is None else words.ids[unknown],
            "vocab": list(zip(words.tokens, words.scores.tolist(), strict=True)),
            "byte_fallback": bool((words.kinds == _BYTE).any()),
        },
    }


def _unknown(words: _Words) -> str | None:
    named = words.special("unknown")
    numbers = np.flatnonzero(words.kinds == _UNKNOWN)
    return named if named is not None or not len(numbers) else words.tokens[int(numbers[0])]


def _wordpiece(words: _Words) -> dict[str, Any]:
    """Word starts are written ▁word in the file and word here, continuations ##part."""
    names: dict[str, int] = {}
    for number, (token, kind) in enumerate(zip(words.tokens, words.kinds.tolist(), strict=True)):
        name = token if kind != _NORMAL else token[1:] if token.startswith("▁") else f"##{token}"
        names[name if name and name not in names else f"{token}<{number}>"] = number
    first, last, unknown = words.special("cls") or words.special("bos"), words.special("seperator"), _unknown(words)
    last = last or words.special("separator") or words.special("eos")
    if first is None or last is None or unknown is None:
        raise ModelError("a WordPiece vocabulary must name its cls, separator and unknown tokens, got none")
    cased = any(
        token != token.lower() for token, kind in zip(words.tokens, words.kinds, strict=True) if kind == _NORMAL
    )
    return wordpiece(names, first=first, last=last, unknown=unknown, lowercase=not cased)
