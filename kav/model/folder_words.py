"""The tokenizer of a folder in Hugging Face layout: its tokenizer.json, or one made of older vocabulary files.

Older checkpoints have no tokenizer.json but the lists that it was made of: vocab.json and merges.txt (byte-level BPE),
or vocab.txt (WordPiece). How text is cut then follows from the family. Nothing of these files is executed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kav.errors import ModelError
from kav.model.family_config import Raw
from kav.model.files import contained, read_file, read_json
from kav.model.tokenizer_specs import added_token, byte_level, whole, wordpiece
from kav.model.tokenizer_trial import check_plan

MAX_CONFIG = 16 << 20
MAX_TOKENIZER = 64 << 20

CUT = MappingProxyType(
    {"gpt2": "gpt-2", "gpt_neo": "gpt-2", "gpt_neox": "gpt-2", "phi": "gpt-2", "qwen2": "qwen2", "qwen3": "qwen2"}
)
"""How the families whose older checkpoints have vocab.json and merges.txt cut text: names of `PATTERNS`."""

SPECIAL = MappingProxyType({"bert": ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")})
"""Special tokens that a family's older files do not name; elsewhere <|endoftext|>."""


@dataclass(frozen=True)
class Words:
    """A tokenizer before it is loaded.

    Parameters
    ----------
    source : bytes
        What tokenizer.json holds.
    bos_id : int or None
    starts_with_bos : bool
    tried : bool
        Whether it must be tried in another process first: kav has not written it.
    """

    source: bytes
    bos_id: int | None
    starts_with_bos: bool
    tried: bool = True


def folder_words(folder: Path, raw: Raw) -> Words | None:
    """Return the folder's tokenizer, None if it has none.

    Parameters
    ----------
    raw : mapping
        Its config.json.

    Raises
    ------
    ModelError
        If a file is broken, or would break the library that reads it.
    """
    settings = _object(folder, "tokenizer_config.json")
    source = _tokenizer_json(folder) or _from_lists(folder, str(raw.get("model_type")), settings)
    if source is None:
        return None
    first = raw.get("bos_token_id")
    first = first[0] if isinstance(first, list) and first else first
    ours = raw.get("kav")
    # The folder's own tokenizer class may put a start token first even if tokenizer.json itself does not.
    wanted = (isinstance(ours, dict) and ours.get("prepend_bos") is True) or settings.get("add_bos_token") is True
    return Words(source, first if type(first) is int and first >= 0 else None, wanted)


def _tokenizer_json(folder: Path) -> bytes | None:
    if not (folder / "tokenizer.json").is_file():
        return None
    source = read_file(contained(folder, "tokenizer.json"), MAX_TOKENIZER)
    spec = read_json(source, "tokenizer.json")
    if not isinstance(spec, dict):
        raise ModelError(f"tokenizer.json must hold an object, got {type(spec).__name__}")
    check_plan(spec)
    return source


def _from_lists(folder: Path, family: str, settings: Mapping[str, Any]) -> bytes | None:
    """A tokenizer.json made of the older files of a family, None without them."""
    if family in CUT and (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        ids = _ids(_object(folder, "vocab.json"))
        merges = [line for line in _lines(folder, "merges.txt") if line and not line.startswith("#version")]
        space_first = settings.get("add_prefix_space") is True
        parts = byte_level(ids, merges, CUT[family], space_first=space_first)
        if CUT[family] == "qwen2":
            parts["normalizer"] = {"type": "NFC"}
    elif family == "bert" and (folder / "vocab.txt").is_file():
        lines = _lines(folder, "vocab.txt")
        ids = {line: number for number, line in enumerate(lines)}
        lowercase = settings.get("do_lower_case", True) is not False
        parts = wordpiece(ids, first="[CLS]", last="[SEP]", unknown="[UNK]", lowercase=lowercase)
    else:
        return None
    found = {number: (name, True) for name, number in ids.items() if name in SPECIAL.get(family, ("<|endoftext|>",))}
    found |= _named_apart(folder, settings)
    added = [added_token(number, name, special=special) for number, (name, special) in sorted(found.items())]
    return json.dumps(whole(added, parts)).encode()


def _named_apart(folder: Path, settings: Mapping[str, Any]) -> dict[int, tuple[str, bool]]:
    """Tokens besides the vocabulary, by their id: the text, and whether it is special."""
    found = {number: (name, False) for name, number in _ids(_object(folder, "added_tokens.json")).items()}
    listed = settings.get("added_tokens_decoder", {})
    for number, entry in listed.items() if isinstance(listed, dict) else ():
        content = entry.get("content") if isinstance(entry, dict) else None
        if not number.isdecimal() or len(number) > 8 or not isinstance(content, str) or not content:
            raise ModelError(f"added_tokens_decoder must map ids to tokens, got {number[:40]!r}")
        found[int(number)] = (content, entry.get("special") is True)
    return found


def _ids(vocabulary: Mapping[str, Any]) -> dict[str, int]:
    for name, number in vocabulary.items():
        if type(number) is not int or not 0 <= number < 1 << 24:
            raise ModelError(f"a vocabulary must map tokens to ids, got {str(number)[:40]} for {name[:40]!r}")
    return dict(vocabulary)


def _object(folder: Path, name: str) -> dict[str, Any]:
    """What a JSON file of the folder holds, {} without the file."""
    if not (folder / name).is_file():
        return {}
    found = read_json(read_file(contained(folder, name), MAX_TOKENIZER), name)
    if not isinstance(found, dict):
        raise ModelError(f"{name} must hold an object, got {type(found).__name__}")
    return found


def _lines(folder: Path, name: str) -> list[str]:
    try:
        text = read_file(contained(folder, name), MAX_TOKENIZER).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(f"{name} must hold UTF-8 text, got other bytes at {error.start:,}") from error
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
