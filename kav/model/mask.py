"""Which keys a query sees: the causal mask and sliding windows, for whole tiles of positions."""

from __future__ import annotations

from kav.arrays import Array, indices
from kav.model.config import Config


def visible(config: Config, layer: int, queries: tuple[int, int], keys: tuple[int, int], *, like_: Array) -> Array:
    """Return which keys each query of a layer sees, bool, shape (n_queries, n_keys), for two half-open ranges.

    See `Config.sees`, which says the same for one pair.
    """
    return sees(config, layer, indices(*queries, like=like_)[:, None], indices(*keys, like=like_)[None, :])


def sees(config: Config, layer: int, query: Array, key: Array) -> Array:
    """Return `Config.sees` for int arrays of positions that broadcast, bool."""
    if not config.causal:
        return (key >= 0) & (query >= 0)
    seen, window = key <= query, config.window(layer)
    return seen & (query - key < window) if window else seen
