"""The numerical identities KAV rests on, checked on this machine through its own public functions.

What the panels claim is true only as long as these hold: `kav --self-check` measures each one on the open model and
prints the largest deviation beside what is allowed. The tests check the same on many more inputs.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version

import numpy as np

import kav
from kav.arrays import probe
from kav.errors import KavError
from kav.model.layers import raw_logits
from kav.model.model import Model
from kav.model.tokenizer import Tokens
from kav.model.trace import Trace
from kav.regression.attention_form import attention_form
from kav.regression.samples import sine
from kav.task import Task
from kav.views import fit as fit_view
from kav.views.scene import HeadScene, Selection

TEXT = "the cat sat on the mat. the cat"
PACKAGES = ("numpy", "array-api-compat", "PySide6-Essentials", "pyqtgraph", "tokenizers")
MOST_HEADS = 16


@dataclass(frozen=True)
class Subject:
    """The run that the identities are measured on."""

    model: Model
    tokens: Tokens
    trace: Trace

    @property
    def heads(self) -> list[tuple[int, int]]:
        """Every head of a small model, evenly chosen ones of a large model."""
        config = self.model.config
        every = [(layer, head) for layer in range(config.n_layers) for head in range(config.n_heads)]
        return every[:: -(-len(every) // MOST_HEADS)]


@dataclass(frozen=True)
class Identity:
    """One identity: its name, what measures the largest deviation from it, and how large that may be."""

    name: str
    deviation: Callable[[Subject], float]
    allowed: float
    of_logits: bool = False  # means nothing for a model without an output matrix


def _kernel_rows(subject: Subject) -> float:
    x = sine().x
    rows = [kav.smoother_matrix(x, x, 0.7, kernel=kernel).sum(axis=-1) for kernel in kav.KERNELS]
    return float(np.max(np.abs(np.stack(rows) - 1)))


def _pattern_rows(subject: Subject) -> float:
    rows = [subject.trace.pattern(layer, head).sum(axis=-1) for layer, head in subject.heads]
    return float(np.max(np.abs(np.stack(rows) - 1)))


def _line_is_attribution(subject: Subject) -> float:
    parts = kav.attribution(subject.trace)
    values = dict(zip(parts.components, parts.values.tolist(), strict=True))

    def apart(layer: int, head: int) -> float:
        scene = HeadScene(subject.trace, Selection(layer, head))
        line = fit_view.compute(fit_view.Spec(scene), Task()).f
        return abs(line - float(values[f"head {layer}.{head}"]))

    return max(apart(layer, head) for layer, head in subject.heads)


def _attribution_sums(subject: Subject) -> float:
    parts = kav.attribution(subject.trace)
    final = subject.trace.resid_final[-1:, :]
    logit = float(raw_logits(subject.model.config, subject.model.weights, final)[0, parts.target])  # before a soft cap
    return max(abs(float(parts.values.sum()) - parts.total), abs(parts.total - logit))


def _dose_one(subject: Subject) -> float:
    unedited = float(subject.trace.logits(-1).max())

    def apart(head: tuple[int, int]) -> float:
        return abs(float(kav.dose_response(subject.model, subject.tokens, head, [1.0]).response[0]) - unedited)

    return max(apart(head) for head in subject.heads)


def _fit_is_a_head(subject: Subject) -> float:
    x, y = sine().x, sine().y
    h = kav.select_bandwidth(x, y)
    return float(np.max(np.abs(attention_form("gaussian", h).output(x, y, x) - kav.fit(x, y, x, h))))


IDENTITIES = (
    Identity("smoother rows sum to 1, every kernel", _kernel_rows, 1e-12),
    Identity("smoother rows sum to 1, heads of the model", _pattern_rows, 1e-5),
    Identity("head-scene line = attribution of that head", _line_is_attribution, 1e-5, of_logits=True),
    Identity("attribution sums to the logit", _attribution_sums, 1e-3, of_logits=True),
    Identity("dose 1 = unedited", _dose_one, 1e-5, of_logits=True),
    Identity("regression scene as an attention head = Gaussian fit", _fit_is_a_head, 1e-10),
)


def _prompt(model: Model) -> Tokens:
    if model.tokenizer is not None:
        return model.encode(TEXT)
    return model.tokens(7 * place % model.config.d_vocab for place in (1, 2, 3, 4, 1, 2))


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} not installed"


def _judged(name: str, measure: Callable[[], float], allowed: float) -> tuple[str, bool]:
    try:
        deviation = measure()
    except KavError as error:
        return f"FAIL  {name:<52}  {error}", False
    passed = deviation <= allowed  # False for NaN as well
    return f"{'pass' if passed else 'FAIL'}  {name:<52}  {deviation:.1e}, at most {allowed:.0e}", passed


def _cpu_is_gpu(source: str, text: Tokens) -> float:
    on_cpu, on_gpu = (kav.run(kav.open_model(source, device=device), text).log_probs(-1) for device in ("cpu", "cuda"))
    return float(np.max(np.abs(on_cpu - on_gpu)))


def lines(source: str = "bundled", device: str = "auto") -> Iterator[tuple[str, bool]]:
    """Yield the lines of the self-check as they are known, each with False if it says that an identity fails.

    Parameters
    ----------
    source : str
        The model to check on; see `kav.open_model`.
    device : str
        "auto", "cpu" or "cuda".

    Raises
    ------
    ModelError
        If the model cannot be opened.
    """
    yield f"{_version('kav')}, Python {platform.python_version()}, {platform.platform()}", True
    yield ", ".join(_version(package) for package in PACKAGES), True
    gpu, reason = probe()
    model = kav.open_model(source, device=device)
    yield f"device {model.device}; GPU: {reason}", True
    config = model.config
    yield f"model {model.name}: {config.family}, {config.n_layers} layers x {config.n_heads} heads", True
    tokens = _prompt(model)
    subject = Subject(model, tokens, kav.run(model, tokens))
    for identity in IDENTITIES:
        if identity.of_logits and not config.has_logits:
            yield f"skip  {identity.name:<52}  the model has no output matrix", True
            continue
        yield _judged(identity.name, partial(identity.deviation, subject), identity.allowed)
    if gpu is None:
        yield f"skip  {'CPU = GPU':<52}  no usable GPU", True
    else:
        yield _judged("CPU = GPU", partial(_cpu_is_gpu, source, tokens), 5e-4)
