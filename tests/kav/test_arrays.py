"""Where arrays live: nothing moves between devices unless it is asked to."""

import sys
import time

import numpy as np
import pytest

import kav
from kav.arrays import exponential, indices, like, namespace, probe, to_device, to_host
from kav.errors import KavError


def test_host_copy_has_the_same_numbers_and_dtype(xp):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    back = to_host(xp.put(array))
    assert type(back) is np.ndarray
    assert back.dtype == np.float32
    assert (back == array).all()


def test_host_copy_of_a_host_array_is_the_array_itself():
    array = np.arange(3.0)
    assert to_host(array) is array


def test_like_puts_values_on_the_device_in_its_dtype(xp):
    array = xp.put([1.0, 2.0], "float32")
    made = like(array, [[3, 4]])
    assert made.dtype == array.dtype
    assert made.device == array.device
    assert to_host(array + made).tolist() == [[4, 6]]
    assert to_host(like(array, (5, 6), dtype=xp.int64)).dtype == np.int64


def test_indices_count_on_the_device_and_can_take(xp):
    array = xp.put([5.0, 6.0, 7.0])
    assert to_host(xp.take(array, indices(1, 3, like=array), axis=0)).tolist() == [6, 7]
    assert indices(2, 2, like=array).shape == (0,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponential_is_infinite_where_it_overflows_without_a_word(xp, dtype):
    values = np.array([-np.inf, -1e4, -1.0, 0.0, 2.0, 1e4], dtype)
    found = xp.get(exponential(xp.put(values)))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, [0, 0, np.exp(-1), 1, np.exp(2), np.inf], rtol=1e-6)
    with np.errstate(all="ignore"):
        assert np.array_equal(exponential(np.array(3)), np.exp(3))  # whole numbers have no room for the answer


def test_arrays_of_two_libraries_are_refused_together():
    import array_api_strict

    with pytest.raises(TypeError, match="Multiple namespaces"):
        namespace(np.ones(2), array_api_strict.ones(2))


def test_unknown_device_is_refused_with_the_known_ones():
    assert to_device(np.ones(2), "cpu").tolist() == [1, 1]
    with pytest.raises(KavError, match=r'device must be "cpu" or "cuda:N", got \'tpu\''):
        to_device(np.ones(2), "tpu")


def test_probe_names_a_device_or_says_why_there_is_none():
    device, reason = probe()
    assert device in (None, "cuda:0")
    assert reason


class FakeCupy:
    """As much of CuPy as `probe` touches; `broken` says what fails."""

    def __init__(self, broken):
        self.broken, self.cuda = broken, self
        self.runtime = self

    def is_available(self):
        return self.broken != "no driver"

    def ones(self, n):
        if self.broken == "kernel":
            raise RuntimeError("nvrtc: invalid architecture")
        if self.broken == "hang":
            time.sleep(5)
        return np.ones(n)

    def getDeviceProperties(self, number):
        return {"name": b"Some GPU"}


@pytest.mark.parametrize(
    ("broken", "device", "reason"),
    [
        ("", "cuda:0", "Some GPU"),
        ("no driver", None, "no CUDA driver or device"),
        ("kernel", None, "unusable: nvrtc: invalid architecture"),
        ("hang", None, "did not answer within 0.2 seconds"),
    ],
)
def test_a_gpu_is_used_only_if_it_computes_in_time(monkeypatch, broken, device, reason):
    monkeypatch.setitem(sys.modules, "cupy", FakeCupy(broken))
    found, said = probe(0.2 if broken == "hang" else 10.0)
    assert found == device
    assert reason in said


@pytest.mark.parametrize("error", [ImportError("libcudart.so.12: no such file"), OSError("wrong ELF class")])
def test_cupy_that_cannot_be_imported_means_cpu(monkeypatch, error):
    # CuPy present, driver library absent: the import itself fails (cupy#1790).
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "cupy":
                raise error
            return

    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    assert probe() == (None, f"CuPy is not usable: {error}")
    assert kav.open_model("bundled", device="auto").device == "cpu"
    with pytest.raises(KavError, match="CuPy is not usable"):
        kav.open_model("bundled", device="cuda")
