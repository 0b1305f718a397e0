"""Arrays from shared memory: right shapes, never on top of each other, large ones alone."""

import numpy as np

from kav.model.room import LINE, PIECE, Room


def test_arrays_have_the_shapes_asked_for_and_do_not_overlap():
    shapes = [(3, 5), (7,), (1,), (0, 4), (2, 3, 4)]
    room = Room(sum(int(np.prod(shape)) for shape in shapes))
    arrays = [room.empty(shape) for shape in shapes]
    for number, array in enumerate(arrays):
        array[...] = number
    for number, (array, shape) in enumerate(zip(arrays, shapes, strict=True)):
        assert array.shape == shape
        assert array.dtype == np.float32
        assert (array == number).all()


def test_neighbours_share_a_piece_and_begin_at_whole_lines():
    room = Room(1000)
    first, second = room.empty((5,)), room.empty((6,))
    assert first.base is second.base is not None
    assert second.ctypes.data - first.ctypes.data == LINE * first.itemsize


def test_more_than_was_announced_is_given_too():
    room = Room(0)
    assert [room.empty((n,)).shape for n in (10, 20)] == [(10,), (20,)]


def test_a_large_array_keeps_nothing_else_alive():
    assert Room(2 * PIECE).empty((PIECE // 2 + 1,)).base is None
