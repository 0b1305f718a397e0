"""Where arrays live: nothing moves between devices unless it is asked to."""

import numpy as np
import pytest

from kav.arrays import indices, like, namespace, probe, to_device, to_host
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
