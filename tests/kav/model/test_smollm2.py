"""SmolLM2, a real model in GGUF (Q4_1), against what transformers computes on it: see tests/data/smollm2/README.md."""

import json
from pathlib import Path

import numpy as np
import pytest

import kav
from tests.kav.real_models import smollm2

DATA = Path(__file__).resolve().parents[2] / "data" / "smollm2"
PROMPTS = ("english", "code", "unicode")


@pytest.fixture(scope="module")
def model(request):
    return kav.open_model(smollm2(request.config.cache.mkdir("models")), device="cpu")


@pytest.fixture(scope="module", params=PROMPTS)
def case(request, model):
    """A prompt's reference, its text and its run."""
    reference = np.load(DATA / f"smollm2_{request.param}.npz")
    text = json.loads((DATA / "smollm2.json").read_text())[request.param]["prompt"]
    return reference, text, kav.run(model, model.tokens(reference["ids"]))


def test_text_becomes_the_ids_that_llama_cpp_gives(model, case):
    reference, text, _ = case
    tokens = model.encode(text)
    assert tokens.ids == tuple(reference["ids"].tolist())
    assert b"".join(model.tokenizer.spelled(number) for number in tokens.ids) == text.encode()


def test_digits_stand_alone(model):
    assert model.encode("in 1234, ½").labels[-6:] == model.encode("1234, ½").labels[-6:]
    assert [label for label in model.encode(" 3.14159").labels if label.isdecimal()] == list("314159")


def test_logits_agree_with_transformers(case):
    reference, _, trace = case
    logits = trace.logits()
    np.testing.assert_allclose(logits[-1, reference["top_ids"]], reference["top_logits"], atol=3e-4)
    assert logits[-1].argsort()[::-1][:5].tolist() == reference["top_ids"][:5].tolist()
    assert (logits.argmax(axis=-1) == reference["argmax"]).all()
    sums = np.log(np.exp(logits - logits.max(axis=-1, keepdims=True)).sum(axis=-1)) + logits.max(axis=-1)
    np.testing.assert_allclose(sums, reference["logsumexp"], atol=3e-4)
    following = logits[np.arange(len(sums) - 1), reference["ids"][1:]] - sums[:-1]
    np.testing.assert_allclose(following, reference["next_logprobs"][: len(following)], atol=2e-4)


def test_patterns_agree_with_transformers(case):
    reference, _, trace = case
    for (layer, head), pattern in zip(reference["heads"].tolist(), reference["patterns"], strict=True):
        np.testing.assert_allclose(trace.pattern(layer, head), pattern, atol=3e-5)


def test_residual_streams_agree_with_transformers(case):
    reference, _, trace = case
    for layer, (norms, last) in enumerate(zip(reference["resid_norms"], reference["resid_last_pos"], strict=True)):
        resid = trace.resid(layer)
        np.testing.assert_allclose(np.linalg.norm(resid, axis=-1), norms, rtol=2e-5)
        np.testing.assert_allclose(resid[-1], last, atol=5e-5 * np.abs(last).max())


def test_doses_agree_with_hooks_on_transformers(model, case):
    reference, _, trace = case
    target, foil = reference["dose_tokens"].tolist()
    for (layer, head), expected in zip(reference["dose_heads"].tolist(), reference["dose_logit_diff"], strict=True):
        found = kav.dose_response(
            model, trace.tokens, (layer, head), reference["alphas"].tolist(), target=target, foil=foil
        )
        np.testing.assert_allclose(found.response, expected, atol=3e-4)
