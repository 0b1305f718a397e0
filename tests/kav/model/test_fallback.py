"""A GPU that fails at any moment: the same numbers from the CPU, one notice, and the GPU is used again if it can be.

The GPU is the strict array API's second device, whose functions are made to fail at the k-th call, as CuPy fails: with
exceptions whose classes live in its modules.
"""

import dataclasses
import tracemalloc

import array_api_strict
import numpy as np
import pytest

import kav
from kav.arrays import device_failure
from kav.effects.ablation import ablation_map
from kav.effects.dose import dose_response
from kav.errors import KavError, ModelError
from kav.model.edits import ScaleHead
from kav.model.fallback import on_cpu
from kav.model.forecast import forecast_trace
from kav.model.trace import run
from kav.task import Task
from kav.views import attention
from kav.views.scene import HeadScene, Selection
from tests.conftest import Backend
from tests.kav.model_factory import some_ids, tiny_model

GPU = Backend("gpu", array_api_strict, array_api_strict.Device("device1"))
FUNCTIONS = ("asarray", "concat", "exp", "full_like", "matmul", "max", "mean", "permute_dims", "reshape", "sqrt", "sum")
FUNCTIONS += ("take", "tanh", "where", "zeros_like", "arange", "matrix_transpose", "argmax", "any", "log")


class OutOfMemoryError(MemoryError):
    """As CuPy raises it."""


class CUDARuntimeError(RuntimeError):
    """Likewise."""


OutOfMemoryError.__module__ = "cupy.cuda.memory"
CUDARuntimeError.__module__ = "cupy_backends.cuda.api.runtime"


class FailingGpu:
    """Counts calls of the namespace's functions and fails at chosen ones."""

    def __init__(self, monkeypatch):
        self.calls, self.fails, self.error = 0, (), OutOfMemoryError
        for name in FUNCTIONS:
            monkeypatch.setattr(array_api_strict, name, self._failing(getattr(array_api_strict, name)))

    def _failing(self, function):
        def call(*args, **kwargs):
            found = function(*args, **kwargs)
            if getattr(found, "device", None) == GPU.device:
                self.calls += 1
                if self.calls in self.fails:
                    raise self.error("out of memory")
            return found

        return call

    def fail(self, *calls, error=OutOfMemoryError):
        self.calls, self.fails, self.error = 0, calls, error


@pytest.fixture
def gpu(monkeypatch):
    return FailingGpu(monkeypatch)


def expected(ids):
    return run(tiny_model(), tiny_model().tokens(ids)).logits()


@pytest.mark.parametrize("k", range(1, 51))
def test_run_whose_kth_allocation_fails_has_the_numbers_of_the_cpu(gpu, k):
    model, ids = tiny_model(GPU), some_ids(7)
    gpu.fail(k)
    trace = run(model, model.tokens(ids))
    assert gpu.calls == k
    assert trace.notice == "the GPU ran out of memory; kav goes on, on the CPU"
    assert type(trace.resid_final) is np.ndarray
    assert trace.model.device == "cpu"
    np.testing.assert_allclose(trace.logits(), expected(ids), rtol=1e-5, atol=1e-5)
    again = run(model, model.tokens(ids), base=trace)  # the GPU is tried again, and works
    assert again.model is model
    assert again.notice == ""
    np.testing.assert_allclose(again.logits(), expected(ids), rtol=1e-4, atol=1e-5)


def test_the_user_is_told_once(gpu):
    model = tiny_model(GPU)
    notices = []
    for _ in range(3):
        gpu.fail(20)
        notices.append(run(model, model.tokens(some_ids(7))).notice)
    assert [bool(notice) for notice in notices] == [True, False, False]
    assert model.fallback.text == notices[0]


def test_a_lost_driver_is_not_asked_again_and_weights_are_copied_once(gpu):
    model, ids = tiny_model(GPU), some_ids(7)
    gpu.fail(20, error=CUDARuntimeError)
    first = run(model, model.tokens(ids))
    assert first.notice == "the GPU failed (out of memory); kav goes on, on the CPU"
    gpu.fail()
    second = run(model, model.tokens((*ids, 3)), base=first)
    assert gpu.calls == 0
    assert second.model is first.model is on_cpu(model)
    np.testing.assert_allclose(second.logits()[:7], expected(ids), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("k", [1, 60, 120, 170])
def test_curves_and_maps_survive_too(gpu, k):
    model, plain, ids = tiny_model(GPU), tiny_model(), some_ids(7)
    tokens, doses = plain.tokens(ids), [0.0, 1.0, 2.0]
    gpu.fail(k)
    found = dose_response(model, tokens, (0, 1), doses, target=5)
    assert gpu.calls >= k
    np.testing.assert_allclose(
        found.response, dose_response(plain, tokens, (0, 1), doses, target=5).response, atol=1e-5
    )
    gpu.fail(k)
    heads = ablation_map(model, tokens, target=5).heads
    np.testing.assert_allclose(heads, ablation_map(plain, tokens, target=5).heads, atol=2e-5)


@pytest.mark.parametrize("edits", [(), (ScaleHead(0, 1, 0.5),)])
def test_panel_of_a_run_on_a_failing_gpu_is_that_of_the_cpu(gpu, edits):
    def scene(model):
        base = run(model, model.tokens(some_ids(7)))
        if not edits:
            return HeadScene(base, Selection())
        return HeadScene(run(model, base.tokens, edits, base=base), Selection(), edits, base)

    made, plain = scene(tiny_model(GPU)), scene(tiny_model())
    gpu.fail(10)
    found = attention.compute(attention.Spec(made), Task())
    assert gpu.calls == 10
    np.testing.assert_allclose(found.weights, attention.compute(attention.Spec(plain), Task()).weights, atol=1e-6)
    assert made.trace.model.fallback.text


def test_model_that_cannot_be_read_back_is_opened_again(gpu, monkeypatch):
    opened = []

    def open_again(source, *, device, dtype, tied):
        opened.append((source, device, dtype, tied))
        return tiny_model()

    def lost(array):
        raise CUDARuntimeError("device gone")

    model = dataclasses.replace(tiny_model(GPU), source="somewhere.gguf", tied=True)
    monkeypatch.setattr("kav.model.checkpoint.open_model", open_again)
    monkeypatch.setattr("kav.model.fallback.to_host", lost)
    gpu.fail(5, error=CUDARuntimeError)
    trace = run(model, model.tokens(some_ids(7)))
    assert opened == [("somewhere.gguf", "cpu", "float32", True)]
    np.testing.assert_allclose(trace.logits(), expected(some_ids(7)), rtol=1e-5, atol=1e-5)
    with pytest.raises(ModelError, match="readable on its device or from where it was opened"):
        on_cpu(tiny_model(GPU))


def test_other_errors_pass_through(gpu):
    model = tiny_model(GPU)
    gpu.fail(5, error=ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        run(model, model.tokens(some_ids(7)))
    with pytest.raises(KavError, match="at least one token"):
        run(model, model.tokens(()))
    assert model.fallback.text == ""
    assert device_failure(MemoryError()) is None
    assert device_failure(OutOfMemoryError()).lost is False
    assert device_failure(CUDARuntimeError("x")).lost is True


def test_memory_of_a_run_grows_with_its_tokens_and_too_much_is_refused(monkeypatch):
    model = tiny_model(n_ctx=4096)
    one, two = (forecast_trace(model.config, n).n_bytes for n in (1000, 2000))
    assert two == 2 * one
    monkeypatch.setattr("kav.model.forecast.free_memory", lambda: 10_000)
    tokens = model.tokens(some_ids(2000))
    with pytest.raises(ModelError, match=r"must fit in memory, got .* GB for 2,000 tokens and 0.0 GB that are free"):
        run(model, tokens)
    assert run(model, model.tokens(some_ids(20))).n_tokens == 20


def test_forecast_is_close_to_what_a_run_takes():
    model = tiny_model(n_ctx=2048, n_layers=6, d_model=32)
    tokens = model.tokens(some_ids(1000))
    tracemalloc.start()
    trace = kav.run(model, tokens)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert trace.n_tokens == 1000
    forecast = forecast_trace(model.config, 1000).n_bytes
    assert 0.5 * forecast < peak < 2 * forecast + (8 << 20)


@pytest.mark.parametrize("error", [OutOfMemoryError, CUDARuntimeError])
def test_model_that_does_not_fit_on_the_gpu_is_opened_on_the_cpu_and_says_so(monkeypatch, error):
    def full(array, where):
        if where != "cpu":
            raise error("no room")
        return np.ascontiguousarray(array)

    monkeypatch.setattr("kav.model.checkpoint.probe", lambda: ("cuda:0", "Some GPU"))
    monkeypatch.setattr("kav.model.checkpoint.to_device", full)
    for device in ("auto", "cuda"):
        model = kav.open_model("bundled", device=device)
        assert model.device == "cpu"
        assert "kav goes on, on the CPU" in model.notes[0]
