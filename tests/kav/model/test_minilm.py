"""MiniLM, a real encoder without output matrix, against transformers: see tests/data/minilm/README.md."""

import json
from pathlib import Path

import numpy as np
import pytest

import kav
from kav.errors import KavError
from tests.kav.real_models import minilm

DATA = Path(__file__).resolve().parents[2] / "data" / "minilm"


@pytest.fixture(scope="module")
def model(request):
    return kav.open_model(minilm(request.config.cache.mkdir("models")), device="cpu")


@pytest.fixture(scope="module", params=["english", "code", "unicode"])
def case(request, model):
    """A text's reference, the text and its run."""
    reference = np.load(DATA / f"minilm_{request.param}.npz")
    text = json.loads((DATA / "minilm.json").read_text())[request.param]["prompt"]
    return reference, text, kav.run(model, model.tokens(reference["ids"]))


def test_text_becomes_the_ids_of_its_own_tokenizer(model, case):
    reference, text, _ = case
    tokens = model.encode(text)
    assert tokens.ids == tuple(reference["ids"].tolist())
    assert tokens.labels[0] == "‹CLS›"
    assert tokens.labels[-1] == "‹SEP›"


def test_streams_agree_with_transformers(case):
    reference, _, trace = case
    for layer, (norms, first) in enumerate(zip(reference["hidden_norms"], reference["cls_hidden"], strict=True)):
        resid = trace.resid(layer)
        np.testing.assert_allclose(np.linalg.norm(resid, axis=-1), norms, rtol=2e-5)
        np.testing.assert_allclose(resid[0], first, atol=2e-5)


def test_patterns_agree_with_transformers(case):
    reference, _, trace = case
    for (layer, head), pattern in zip(reference["heads"].tolist(), reference["patterns"], strict=True):
        np.testing.assert_allclose(trace.pattern(layer, head), pattern, atol=1e-5)


def test_sentence_embedding_agrees_with_transformers(model, case):
    reference, _, trace = case
    mean = trace.resid(model.config.n_layers).mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(mean / np.linalg.norm(mean), reference["sentence_embedding"], atol=1e-6)


def test_predictions_are_refused_in_one_sentence(case):
    with pytest.raises(KavError, match="a prediction must come from a model with an output matrix, got bert without"):
        case[2].logits(-1)
