import pytest

import kav
from kav import cli, selfcheck
from kav.errors import KavError
from tests.kav.model_factory import tiny_model

PROMISED = (
    "smoother rows sum to 1",
    "head-scene line = attribution of that head",
    "attribution sums to the logit",
    "dose 1 = unedited",
    "regression scene as an attention head = Gaussian fit",
)


@pytest.fixture
def one_identity(monkeypatch):
    """Leaves one identity, with the deviation that a test wants measured."""

    def only(deviation, allowed=1e-5):
        monkeypatch.setattr(selfcheck, "IDENTITIES", (selfcheck.Identity("the one", deviation, allowed),))

    return only


def test_the_bundled_model_passes_every_promised_identity(capsys):
    assert cli.main(["--self-check", "--device", "cpu"]) == 0
    printed = capsys.readouterr().out.splitlines()
    passed = [line for line in printed if line.startswith("pass  ")]
    assert all(any(name in line for line in passed) for name in PROMISED)
    assert "numpy " in printed[1]
    assert printed[2].startswith("device cpu")


def test_a_deviation_larger_than_allowed_fails_the_run(one_identity, capsys):
    one_identity(lambda subject: 2e-5)
    assert cli.main(["--self-check", "--device", "cpu"]) == 1
    assert "FAIL  the one" in capsys.readouterr().out


@pytest.mark.parametrize("deviation", [float("nan"), float("inf")])
def test_a_deviation_that_is_no_number_is_no_pass(one_identity, deviation):
    one_identity(lambda subject: deviation)
    assert not all(passed for _, passed in selfcheck.lines(device="cpu"))


def test_an_identity_that_is_refused_is_a_failure_with_its_reason(one_identity):
    def refuse(subject):
        raise KavError("bandwidth h must be > 0, got 0")

    one_identity(refuse)
    line = next(line for line, passed in selfcheck.lines(device="cpu") if not passed)
    assert "bandwidth h must be > 0" in line


def test_a_model_that_cannot_be_opened_is_refused_in_one_line(capsys):
    assert cli.main(["no-such-folder", "--self-check"]) == 1
    assert capsys.readouterr().err.startswith("kav: ")


@pytest.mark.parametrize("features", [{"logit_cap": 8.0, "score_cap": 1.5}, {"has_logits": False}])
def test_no_identity_fails_on_a_model_with_caps_or_without_logits(monkeypatch, features):
    # The attribution, which is before a soft cap, was compared with the capped logit.
    model = tiny_model(**features)
    monkeypatch.setattr(kav, "open_model", lambda source, device="auto": model, raising=False)
    said = list(selfcheck.lines("tiny"))
    assert all(passed for _, passed in said)
    skipped = [line for line, _ in said if line.startswith("skip") and "no output matrix" in line]
    assert len(skipped) == (0 if "logit_cap" in features else 3)
