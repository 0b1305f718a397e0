"""Memory for weights: many tensors in a few large pieces, which the system can map with large pages.

One row's product is as fast as memory is read, and memory in small pages is read at half speed: the processor reads
ahead only to the end of a page. Systems give large pages to large pieces alone (NumPy asks for them from 4 MB on),
and most weights of a small model are smaller. Measured for 106 MB in tensors of 3.5 MB: 7.1 ms alone, 3.5 ms together.
"""

from __future__ import annotations

import math
import threading

import numpy as np

PIECE = 1 << 23
"""Numbers of a piece, 32 MB; what is not used of it is never touched and so costs no memory."""
LINE = 16
"""Tensors begin at multiples of this many numbers: a line of the cache."""


class Room:
    """Hands out uninitialised float32 arrays that stand beside each other; may be used by several threads.

    Parameters
    ----------
    n_numbers : int
        Numbers that all tensors have together: a small model takes a small piece.
    """

    def __init__(self, n_numbers: int) -> None:
        self._lock = threading.Lock()
        self._n_left = n_numbers
        self._piece = np.empty(0, np.float32)

    def empty(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return an array of this shape; one that is large itself stands alone."""
        size = math.prod(shape)
        if 2 * size > PIECE:
            return np.empty(shape, np.float32)
        with self._lock:
            if size > self._piece.size:
                self._piece = np.empty(max(size, min(PIECE, self._n_left)), np.float32)
            found, self._piece = self._piece[:size], self._piece[-(-size // LINE) * LINE :]
            self._n_left -= size
        return found.reshape(shape)
