"""Prompts that are too long are refused in words, and the part that is offered fits."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kav
from kav.errors import PromptError
from kav.model.prompt_size import SHARE, check_prompt, cut, room, run_bytes
from tests.kav.model_factory import tiny_model


@cache
def opened():
    return kav.open_model("bundled")


def test_one_token_too_many_says_both_numbers():
    model = tiny_model(n_ctx=1024)
    check_prompt(model, model.tokens([1] * 1024))
    with pytest.raises(PromptError, match="1,025 tokens, model limit 1,024") as refused:
        check_prompt(model, model.tokens([1] * 1025))
    assert refused.value.n_fit == 1024


@pytest.mark.parametrize("keep", ["first", "last"])
@settings(max_examples=40, deadline=None)
@given(text=st.text(min_size=1, max_size=60), n_tokens=st.integers(1, 12))
def test_what_is_kept_fits_and_is_an_end_of_the_text(keep, text, n_tokens):
    bundled = opened()
    kept = cut(bundled, text, n_tokens, keep=keep)
    assert len(bundled.encode(kept)) <= n_tokens
    assert text.endswith(kept) if keep == "last" else text.startswith(kept)


def test_as_much_as_fits_is_kept():
    bundled = opened()
    text = "A dark green carriage passed our house. " * 60
    for keep in ("first", "last"):
        kept = cut(bundled, text, bundled.config.n_ctx, keep=keep)
        assert bundled.config.n_ctx - 2 <= len(bundled.encode(kept)) <= bundled.config.n_ctx


def test_ids_are_cut_where_there_is_no_tokenizer():
    model = tiny_model()
    assert cut(model, "1 2, 3 #4", 2) == "3 #4"
    assert cut(model, "1 2 3 4", 2, keep="first") == "1 2"


@given(free=st.integers(0, 10**8), n_ctx=st.integers(2, 10**5))
def test_room_is_the_most_tokens_that_take_half_of_what_is_free(free, n_ctx):
    model = tiny_model(n_ctx=n_ctx)
    found = room(model, n_free=free)
    assert 1 <= found.n_tokens <= n_ctx
    assert found.n_tokens == 1 or run_bytes(model.config, found.n_tokens) <= SHARE * free
    if found.why == "memory" and found.n_tokens + 1 < n_ctx:
        assert run_bytes(model.config, found.n_tokens + 1) > SHARE * free


def test_a_prompt_beyond_the_memory_is_refused_with_both_sizes(monkeypatch):
    model = tiny_model(n_ctx=100_000)
    monkeypatch.setattr("kav.model.prompt_size.free_memory", lambda: 10**8)
    with pytest.raises(PromptError, match=r"50,000 tokens that need 82 MB of 0\.1 GB") as refused:
        check_prompt(model, model.tokens([1] * 50_000))
    check_prompt(model, model.tokens([1] * refused.value.n_fit))
