"""The parts of a tokenizer.json, for vocabularies that come in another form: how each kind cuts and joins text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kav.errors import ModelError
from kav.model.gguf_patterns import PATTERNS, WHOLE_WORDS

Spec = dict[str, Any]


def whole(added: Sequence[Spec], parts: Spec) -> Spec:
    """Return a whole tokenizer.json: tokens that are found in the text before anything else, and the parts below."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": list(added),
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        **parts,
    }


def added_token(number: int, content: str, *, special: bool) -> Spec:
    """Return an entry of a tokenizer.json's added_tokens."""
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": number, "content": content, **plain, "special": special}


def byte_level(ids: Mapping[str, int], merges: Sequence[str], cut: str, *, space_first: bool = False) -> Spec:
    """Return byte-level BPE: text is cut by patterns, its bytes are written as letters, and pairs of them merge.

    Parameters
    ----------
    ids : mapping
        Vocabulary entry -> id.
    merges : sequence of str
        "left right", the first one first.
    cut : str
        A name of `PATTERNS`.
    space_first : bool
        Whether text that begins without a blank is given one.

    Raises
    ------
    ModelError
        If a merge does not join two entries to a third.
    """
    steps: list[Spec] = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern in PATTERNS[cut]
    ]
    letters = {"type": "ByteLevel", "add_prefix_space": space_first, "trim_offsets": True, "use_regex": False}
    pairs = [line.partition(" ")[::2] for line in merges]
    for line, (left, right) in zip(merges, pairs, strict=True):
        if left not in ids or right not in ids or left + right not in ids:
            raise ModelError(f"a merge must join two vocabulary entries to a third, got {line[:60]!r}")
    return {
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*steps, letters]},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": cut in WHOLE_WORDS,
            "vocab": ids,
            # Written as they stand in the file, unless a blank in an entry made that ambiguous.
            "merges": pairs if any(" " in right for _, right in pairs) else merges,
        },
    }


def wordpiece(ids: Mapping[str, int], *, first: str, last: str, unknown: str, lowercase: bool) -> Spec:
    """Return WordPiece as BERT has it, with its start and end tokens around the text; ##part continues a word.

    Parameters
    ----------
    ids : mapping
        Vocabulary entry -> id.

    Raises
    ------
    ModelError
        If one of the special tokens is not in the vocabulary.
    """
    for name in (first, last, unknown):
        if name not in ids:
            raise ModelError(f"a WordPiece vocabulary must hold its special tokens, got none called {name[:60]!r}")
    return {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _around(first, last, ids),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    }


def _around(first: str, last: str, ids: Mapping[str, int]) -> Spec:
    """What stands before and after a text, of one or two parts."""

    def token(name: str) -> Spec:
        return {"SpecialToken": {"id": name, "type_id": 0}}

    text: list[Spec] = [token(first), {"Sequence": {"id": "A", "type_id": 0}}, token(last)]
    return {
        "type": "TemplateProcessing",
        "single": text,
        "pair": [*text, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in (first, last)},
    }
