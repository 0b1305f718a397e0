"""The numbers that the bundled model is accepted by, measured on the shipped files; nothing is trained here."""

import re

import numpy as np
import pytest

import kav
from resources.models.induction.measure import HERE, INDUCTION, PREVIOUS, Measured, removed, report

CARD = (HERE / "MODEL_CARD.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found():
    return Measured()


@pytest.mark.parametrize(("length", "least"), [(25, 0.97), (50, 0.97), (127, 0.93)])
def test_second_copy_of_random_tokens_is_predicted(found, length, least):
    assert found.second_copy(length) >= least


def test_both_induction_heads_attend_to_what_followed_the_first_copy(found):
    assert min(found.prefix_matching[head] for head in INDUCTION) >= 0.85
    assert max(mass for head, mass in found.prefix_matching.items() if head not in INDUCTION) < 0.1


def test_previous_token_head_attends_one_token_back_on_random_tokens(found):
    assert found.previous_token(found.repeats(50))[PREVIOUS] >= 0.95


def test_previous_token_head_attends_one_token_back_on_prose(found):
    prose = (ids for block in found.held_out for ids in found.windows(block)[:1])
    assert found.previous_token(prose)[PREVIOUS] >= 0.85


def test_induction_heads_copy(found):
    assert min(found.copying[head] for head in INDUCTION) >= 0.95


def test_previous_token_head_composes_with_both_induction_heads_and_no_other_pair_does(found):
    first, second, third = found.k_composition[:3]
    assert {first[1:], second[1:]} == {(PREVIOUS, head) for head in INDUCTION}
    assert second[0] >= 0.12
    assert second[0] >= 2 * third[0]


def test_nothing_is_copied_without_the_previous_token_head(found):
    assert found.second_copy(50, removed(PREVIOUS)) < 0.05


def test_each_induction_head_stands_in_for_the_other(found):
    without = [found.second_copy(50, removed(head)) for head in INDUCTION]
    assert min(without) > 0.5
    assert found.second_copy(50, *(removed(head) for head in INDUCTION)) < 0.1


def test_loss_on_held_out_prose(found):
    assert found.text_loss() <= 4.05


@pytest.mark.parametrize("name", ["sentences", "others"])
def test_sentences_are_continued_with_the_earlier_word(found, name):
    suite = found.suite(name)
    assert len(suite) == 12
    assert sum(item.right for item in suite) >= 10
    assert sum(item.seen for item in suite) >= 9


def test_file_is_small_and_has_half_precision():
    file = HERE / "model.safetensors"
    assert file.stat().st_size <= 5_000_000
    assert b'"dtype":"F16"' in file.read_bytes()[:4096]
    assert b'"dtype":"F32"' not in file.read_bytes()[:4096]


def test_card_holds_the_report(found):
    number = re.compile(r"\d+\.\d+")
    lines = CARD.splitlines()
    for line in report(found):
        text = number.sub("#", line)
        printed = [own for own in lines if number.sub("#", own) == text]
        assert printed, f"MODEL_CARD.md has no line like {line}"
        values = np.array(number.findall(line), float)
        near = [np.allclose(values, np.array(number.findall(own), float), atol=0.011) for own in printed]
        assert any(near), f"MODEL_CARD.md says {printed}, measured {line}"


@pytest.mark.parametrize("word", ["started", "held", "Weaknesses", "torch", "seed"])
def test_card_says_how_the_model_came_about(word):
    assert word in CARD


@pytest.mark.parametrize(
    ("name", "notice"),
    [
        ("NOTICE.wordnet.txt", "WordNet 3.0 Copyright 2006 by Princeton University"),
        ("NOTICE.text.txt", "legend is included on all tape media"),
    ],
)
def test_notices_travel_with_the_model(name, notice):
    assert notice in (HERE / name).read_text(encoding="utf-8")
    assert name in CARD


@pytest.fixture(scope="module")
def with_mlp():
    return Measured(HERE.parent / "induction_mlp")


def test_model_with_mlp_fits_in_six_megabytes_with_its_words():
    folder = HERE.parent / "induction_mlp"
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 6_000_000
    assert (folder / "tokenizer.json").read_bytes() == (HERE / "tokenizer.json").read_bytes()


def test_model_with_mlp_keeps_the_circuit(with_mlp):
    assert with_mlp.second_copy(50) >= 0.97
    assert min(with_mlp.prefix_matching[head] for head in INDUCTION) >= 0.85
    assert with_mlp.second_copy(50, removed(PREVIOUS)) < 0.05
    assert sum(item.right for item in with_mlp.suite("sentences")) >= 10


def test_mlps_take_part_in_predictions(with_mlp):
    model = with_mlp.model
    trace = kav.run(model, model.encode("The old carriage stopped before Rosings Park. And the LORD said unto"))
    parts = kav.attribution(trace)
    values = dict(zip(parts.components, parts.values, strict=True))
    assert parts.values.sum() == pytest.approx(parts.total, abs=1e-3)
    assert max(abs(values["mlp 0"]), abs(values["mlp 1"])) > 0.5


def test_mlps_lower_the_loss_on_prose(found, with_mlp):
    windows = [ids for block in found.held_out[::4] for ids in found.windows(block)[:2]]
    losses = [float(np.mean([measured.loss(ids) for ids in windows])) for measured in (found, with_mlp)]
    assert losses[1] < losses[0] - 0.05
