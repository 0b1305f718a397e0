"""From text to token ids and back: what a model's own tokenizer.json says, and how each token is written on screen.

A token is written by its *bytes*: byte-level vocabularies are translated back, and a character that spans several
tokens is shown as ``<F0 9F>`` pieces instead of a replacement character. Nothing of a tokenizer file is executed.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from kav.errors import ModelError

BOS = "‹bos›"
"""How the start token is written."""


@dataclass(frozen=True)
class Token:
    """How one token is written: `label` without leading space, `exact` quoted; `joined` continues a word."""

    label: str
    exact: str
    joined: bool = False


@dataclass(frozen=True)
class Tokens:
    """A prompt as the model reads it; tuples of equal length.

    Parameters
    ----------
    ids : tuple of int
    labels : tuple of str
        Text without its leading space; "‹bos›" for the start token and "‹CLS›" for other special ones, "␣" for a blank
        alone, "<F0 9F>" for part of a character.
    spans : tuple of (int, int)
        Where each token stands in the text, in characters; (0, 0) for what was added.
    exact : tuple of str
        The quoted exact text of each token, for tooltips and exports.
    joined : tuple of bool
        Whether the token continues the word before it.
    """

    ids: tuple[int, ...]
    labels: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    exact: tuple[str, ...] = ()
    joined: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


def _byte_letters() -> dict[str, int]:
    """The letters that byte-level vocabularies write bytes with: printable ones stand for themselves."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(others)}


def written(raw: bytes) -> str:
    """Return bytes as text; what is not a whole UTF-8 character becomes ``<F0 9F>``."""
    out, rest = "", raw
    while rest:
        try:
            return out + rest.decode()
        except UnicodeDecodeError as error:
            out += rest[: error.start].decode() + "<" + rest[error.start : error.end].hex(" ").upper() + ">"
            rest = rest[error.end :]
    return out


_SIGNS = str.maketrans({" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\0": "␀"})


def shown(text: str) -> str:
    """Return a label: one leading space dropped, other blanks and control characters made visible."""
    body = text[1:] if text.startswith(" ") and text.strip(" ") else text
    signs = body.translate(_SIGNS) if not body.strip() else body.translate({k: v for k, v in _SIGNS.items() if k != 32})
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in signs)


def special_label(name: str) -> str:
    """Return how a special token is written: "[CLS]", "<|im_start|>" and "</s>" as ‹CLS›, ‹im_start› and ‹/s›."""
    inner = name[1:-1] if name[:1] + name[-1:] in ("<>", "[]") else name
    return f"‹{shown(inner.strip('|') or name)}›"


def tokens_from_ids(ids: tuple[int, ...], tokenizer: Tokenizer | None) -> Tokens:
    """Return the tokens of given ids; spans refer to the text that their bytes spell."""
    if tokenizer is None:
        names = tuple(f"#{number}" for number in ids)
        return Tokens(ids, names, ((0, 0),) * len(ids), names, (False,) * len(ids))
    return tokenizer.describe(ids)


@contextmanager
def _guarded(doing: str) -> Iterator[None]:
    """Turn every failure of the tokenizers library, its panics too, into a ModelError."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":  # a Rust panic is no Exception
            raise ModelError(f"tokenizer.json must be one that can be {doing}, got: {str(error)[:200]}") from error
        raise


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """A model's tokenizer.

    Parameters
    ----------
    source : str
        Text of tokenizer.json.
    bos_id : int or None
        Id of the start token, if the model has one.
    starts_with_bos : bool
        The model wants a start token even if tokenizer.json adds none.
    """

    source: str = field(repr=False)
    bos_id: int | None = None
    starts_with_bos: bool = False

    @cached_property
    def _engine(self) -> Any:
        import tokenizers

        with _guarded("opened"):
            engine = tokenizers.Tokenizer.from_str(self.source)
            engine.no_padding()
            engine.no_truncation()
        return engine

    @cached_property
    def _added(self) -> dict[int, str]:
        """Tokens that stand beside the vocabulary: their names are their text, whatever the vocabulary's style."""
        return {number: token.content for number, token in self._engine.get_added_tokens_decoder().items()}

    @cached_property
    def _special(self) -> frozenset[int]:
        added = self._engine.get_added_tokens_decoder()
        return frozenset(number for number, token in added.items() if token.special)

    @cached_property
    def _style(self) -> str:
        """How the vocabulary writes text: "bytes" (byte-level), "blocks" (▁ for a blank, <0x0A>), or "pieces" (##)."""
        engine = self._engine
        # A part pickles as its JSON, which is a thousandth of the whole file's.
        parts = (engine.pre_tokenizer, engine.decoder, engine.normalizer)
        if any(part is not None and b'"ByteLevel"' in part.__getstate__() for part in parts):
            return "bytes"
        return "pieces" if type(engine.model).__name__ == "WordPiece" else "blocks"

    @cached_property
    def _letters(self) -> dict[str, int]:
        return _byte_letters()

    def encode(self, text: str, bos: bool | None = None) -> Tokens:
        """Return the tokens of a text; see `kav.model.model.Model.encode`."""
        if bos and self.bos_id is None:
            raise ModelError("bos must be False or None for a model without a start token, got True")
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        with _guarded("used on this text"):
            found = self._engine.encode(text, add_special_tokens=bos is None)
        ids, spans = list(found.ids), [(int(a), int(b)) for a, b in found.offsets]
        if bos or (bos is None and self.starts_with_bos and self.bos_id is not None):
            ids, spans = [self.bos_id, *ids], [(0, 0), *spans]
        while len(ids) > 1 and ids[0] == ids[1] == self.bos_id:
            ids, spans = ids[1:], spans[1:]
        tokens = self.describe(tuple(ids), tuple(spans))
        if self._style != "pieces":
            return tokens
        # Such vocabularies write in small letters and without accents, or not at all: the prompt's own text is exact.
        own = (json.dumps(text[a:b], ensure_ascii=False) for a, b in spans)
        exact = tuple(said if a < b else old for said, old, (a, b) in zip(own, tokens.exact, spans, strict=True))
        return replace(tokens, exact=exact)

    def describe(self, ids: tuple[int, ...], spans: tuple[tuple[int, int], ...] | None = None) -> Tokens:
        """Return tokens with their labels; spans None = counted in the text that the ids spell."""
        raws = [self.spelled(number) for number in ids]
        reader = codecs.getincrementaldecoder("utf-8")("replace")
        ends, text = [], ""
        for raw, number in zip(raws, ids, strict=True):
            text += "" if number in self._special else reader.decode(raw)
            ends.append(len(text))
        starts = [0, *ends][: len(ends)]
        wholes = _split_characters(raws)
        labels, exact, joined = [], [], []
        for i, number in enumerate(ids):
            token = self.token(number)
            labels.append(token.label)
            exact.append(token.exact + (f" {wholes[i]}" if i in wholes else ""))
            joined.append(bool(token.joined and i and number not in self._special and _ends_word(raws[i - 1])))
        own = tuple(zip(starts, ends, strict=True))
        return Tokens(ids, tuple(labels), own if spans is None else spans, tuple(exact), tuple(joined))

    def spelled(self, token_id: int) -> bytes:
        """Return the bytes that a token stands for, a leading blank included."""
        name = self._engine.id_to_token(token_id)
        if name is None:
            return f"#{token_id}".encode()
        if token_id in self._added:
            return self._added[token_id].encode()
        if self._style == "bytes" and all(letter in self._letters for letter in name):
            return bytes(self._letters[letter] for letter in name)
        if self._style == "pieces":
            return str(name).removeprefix("##").encode() if name.startswith("##") else f" {name}".encode()
        if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
            return bytes([int(name[3:5], 16)])
        return str(name).replace("▁", " ").encode()

    def token(self, token_id: int) -> Token:
        """Return how one vocabulary entry is written when it stands alone."""
        if token_id == self.bos_id:
            return Token(BOS, json.dumps(self._engine.id_to_token(token_id) or BOS, ensure_ascii=False))
        text = written(self.spelled(token_id))
        if token_id in self._special:
            return Token(special_label(text), json.dumps(text, ensure_ascii=False))
        return Token(shown(text), json.dumps(text, ensure_ascii=False), text[:1].isalnum())

    def find(self, text: str) -> int:
        """Return the id of the token written `text`, the variant with a leading space first.

        Raises
        ------
        ModelError
            If no single token is written so.
        """
        if text == BOS and self.bos_id is not None:
            return self.bos_id
        for number in self._special if text.startswith("‹") else ():
            if special_label(self._added[number]) == text:
                return number
        letters = {byte: letter for letter, byte in self._letters.items()}
        for candidate in (f" {text}", text):
            raw = candidate.encode("utf-8", "replace")
            names = {
                "bytes": "".join(letters[byte] for byte in raw),
                "pieces": candidate[1:] if candidate.startswith(" ") else f"##{candidate}",
                "blocks": candidate.replace(" ", "▁"),
            }
            for name in (names[self._style], candidate):
                found = self._engine.token_to_id(name)
                if found is not None:
                    return int(found)
        parts = self.encode(text, bos=False).labels
        raise ModelError(f"a token must be one vocabulary entry, got {text!r}", f"the model reads {' · '.join(parts)}")


def _ends_word(raw: bytes) -> bool:
    return written(raw)[-1:].isalnum()


def _split_characters(raws: list[bytes]) -> dict[int, str]:
    """For tokens that hold part of a character: which part, and of what."""
    owners = [i for i, raw in enumerate(raws) for _ in raw]
    text, out = b"".join(raws), {}
    at = 0
    for character in text.decode("utf-8", "surrogateescape"):
        n_bytes = len(character.encode("utf-8", "surrogateescape"))
        parts = sorted(set(owners[at : at + n_bytes]))
        at += n_bytes
        for number, token in enumerate(parts, start=1):
            if len(parts) > 1:
                out[token] = f"part {number} of {len(parts)} of {character}"
    return out
