"""An open model: its description, its weights on one device, and its words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kav.arrays import Array
from kav.errors import ModelError
from kav.model.config import Config, Weights
from kav.model.fallback import Fallback
from kav.model.layers import unembed
from kav.model.tokenizer import Token, Tokenizer, Tokens, tokens_from_ids

MOST_DIGITS = 20
"""Letters of a token id that is typed: Python refuses to read very long numbers, in words of its own."""


@dataclass(frozen=True, eq=False)
class Model:
    """A model as opened; compares by identity.

    Parameters
    ----------
    config : Config
    weights : Weights
        On `device`.
    device : str
        "cpu" or "cuda:N".
    name : str
        What the window's title says.
    tokenizer : Tokenizer or None
        None: labels are "#id" and prompts are written as ids.
    source : str
        What `open_model` was given, so that a script can open it again; "" if it was not opened from anywhere.
    tied : bool
        Whether it was opened with the embedding as its output matrix because its file has none.
    notes : tuple of str
        What the user should know about the file: weights that are not finite, words that could not be read.
    fallback : Fallback
        What happens if the device fails.
    """

    config: Config
    weights: Weights
    device: str = "cpu"
    name: str = ""
    tokenizer: Tokenizer | None = None
    source: str = ""
    tied: bool = False
    notes: tuple[str, ...] = ()
    fallback: Fallback = field(default_factory=Fallback, repr=False)

    @property
    def has_start_token(self) -> bool:
        """Whether a start token can stand first."""
        return self.tokenizer is not None and self.tokenizer.bos_id is not None

    def encode(self, text: str, bos: bool | None = None) -> Tokens:
        """Return the tokens of a text.

        Parameters
        ----------
        text : str
            Anything, also empty; lone surrogates become U+FFFD. Without a tokenizer: ids, for example ``"5 17 #3"``.
        bos : bool or None
            Whether a start token stands first; None = what the model's own tokenizer does. Never two of them.

        Raises
        ------
        ModelError
            If there is no start token to put first, or no tokenizer and the text is not made of ids.
        """
        if self.tokenizer is not None:
            return self.tokenizer.encode(text, bos)
        words = text.replace(",", " ").split()
        if not all(word.lstrip("#").isdecimal() and len(word) <= MOST_DIGITS for word in words):
            raise ModelError("a prompt must be made of token ids where a model has no tokenizer, got other text")
        return self.tokens(int(word.lstrip("#")) for word in words)

    def tokens(self, ids: Iterable[int]) -> Tokens:
        """Return tokens from ids as they are, nothing added.

        Raises
        ------
        ModelError
            If an id is not in the vocabulary.
        """
        numbers = tuple(int(number) for number in ids)
        for number in numbers:
            if not 0 <= number < self.config.d_vocab:
                raise ModelError(f"a token id must be in 0..{self.config.d_vocab - 1}, got {number}")
        return tokens_from_ids(numbers, self.tokenizer)

    def token(self, token_id: int) -> Token:
        """Return how one vocabulary entry is written when it stands alone."""
        return Token(f"#{token_id}", f"#{token_id}") if self.tokenizer is None else self.tokenizer.token(token_id)

    def label(self, token_id: int) -> str:
        """Return the label of one vocabulary entry, without a leading space."""
        return self.token(token_id).label

    def find_token(self, text: str) -> int:
        """Return the id of the one token that is written `text`; the variant with a leading space is tried first.

        Raises
        ------
        ModelError
            If the text is not exactly one token.
        """
        number = text.removeprefix("#")
        if number != text and number.isdecimal() and int(number) < self.config.d_vocab:
            return int(number)
        if self.tokenizer is None:
            raise ModelError(f'a token must be written "#id" where a model has no tokenizer, got {text!r}')
        return self.tokenizer.find(text)

    def starts_with(self, other: Model) -> bool:
        """Return whether another model is this one, or one of its first layers alone."""
        n, own = len(other.weights.blocks), self.weights
        return other is self or (
            other.device == self.device
            and other.weights.W_E is own.W_E
            and n <= len(own.blocks)
            and all(one is same for one, same in zip(other.weights.blocks, own.blocks[:n], strict=True))
        )

    def unembed(self, resid: Array) -> Array:
        """Return the logits of final residual streams (..., d_model) on the device, shape (..., d_vocab)."""
        return unembed(self.config, self.weights, resid)
