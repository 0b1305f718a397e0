"""One head of one run, as the smoother it is: its log-kernel, how the kernel moves with the query, and what it adds.

Everything here reads a `Trace` with its edits and returns arrays on the model's device, so that panels and effects
share one definition of each quantity.
"""

from __future__ import annotations

from dataclasses import replace

from kav.arrays import Array, namespace
from kav.errors import KavError
from kav.model import attention, forward, outputs
from kav.model.config import Config
from kav.model.edits import Edit, ScaleEdge, ScaleHead, ScaleMlp, SetScore, SetTemperature, resolve
from kav.model.layers import cap_slope, normalise, rotary
from kav.model.rows import ROWS
from kav.model.trace import Trace
from kav.smoother import Smoother


def head_smoother(trace: Trace, layer: int, head: int, responses: Array) -> Smoother:
    """Return one head on one prompt as a linear smoother of the given responses.

    Its log-kernel is the head's masked scores with the layer's edits. `ScaleEdge` and `ScaleHead` act after the
    weights and are not in it.

    Parameters
    ----------
    trace : Trace
    layer, head : int
    responses : array, shape (n_tokens,)
        On the trace's device: what each token contributes, for example its message along a logit direction.

    Raises
    ------
    KavError
        If the model has no such head, or the responses are not one per token.
    """
    q, k, config, edits = _head(trace, layer, head)
    if tuple(responses.shape) != (trace.n_tokens,):
        raise KavError(f"responses must have shape ({trace.n_tokens},), got {tuple(responses.shape)}")

    def log_kernel(queries: slice, keys: slice) -> Array:
        rows, columns = queries.indices(trace.n_tokens), keys.indices(trace.n_tokens)
        block = attention.log_kernel(
            config,
            q[:, rows[0] : max(rows[0], rows[1]), :],
            k[:, columns[0] : max(columns[0], columns[1]), :],
            layer=layer,
            edits=edits,
            corner=(head, rows[0], columns[0]),
        )
        return block[0, :, :]  # (n_queries, n_keys)

    return Smoother(log_kernel, responses, trace.tokens.labels, trace.tokens.labels)


def _head(trace: Trace, layer: int, head: int) -> tuple[Array, Array, Config, tuple[Edit, ...]]:
    """Queries and keys of a head, each (1, n_tokens, d_head), and what acts on them."""
    trace.model.config.check_head(layer, head)
    kv_head = trace.model.config.kv_head(head)
    step = trace.layers[layer]
    return (
        step.q[head : head + 1, :, :],
        step.k[kv_head : kv_head + 1, :, :],
        trace.model.config,
        trace.edits_of(layer),
    )


def query_direction(trace: Trace, layer: int, head: int, query: int, towards: int) -> Array:
    """Return the direction from one token's query to another's, as asked from the first token's place.

    ``u = R_query q(towards) - R_query q(query)``, with q before rotation and R_query the rotation of position
    `query`. Both ends are the run's own queries without `MoveQuery`, so that t of the edit and t along u are one.

    Parameters
    ----------
    query, towards : int
        Positions; negative ones count from the end.

    Returns
    -------
    array, shape (d_head,)

    Raises
    ------
    KavError
        If the head or a position does not exist.
    """
    trace.model.config.check_head(layer, head)
    query, towards = trace.position(query), trace.position(towards)
    config, block = trace.model.config, trace.model.weights.blocks[layer]
    resid = trace.layers[layer].resid_pre
    table = rotary(config, trace.n_tokens, like_=resid)
    ends = []
    for place in (towards, query):
        x = normalise(config, block.norm1, resid[place : place + 1, :])
        ends.append(attention.asked_from(config, block, x, head, table=table, query=query)[0, :])
    return ends[0] - ends[1]


def slopes(trace: Trace, layer: int, head: int, direction: Array, *, query: int | None = None) -> Array:
    """Return how fast each key's log-kernel grows as the query moves along a direction, ``a_j = beta u . k_j * scale``.

    Parameters
    ----------
    direction : array, shape (d_head,)
        In the space of the rotated queries.
    query : int or None
        The query that moves: keys whose score `SetScore` fixes for it do not move. None = no such keys.

    Returns
    -------
    array, shape (n_tokens,)
        Where scores are capped softly, the slope at the query's own place.

    Raises
    ------
    KavError
        If scores are capped softly and no query says where.
    """
    q, k, config, edits = _head(trace, layer, head)
    query = None if query is None else trace.position(query)
    xp = namespace(k, direction)
    out = xp.matmul(k[0, :, :], direction) * config.score_scale(layer)
    if config.score_cap:
        if query is None:
            raise KavError("query must be given where scores are capped softly, got None")
        capped = attention.log_kernel(config, q[:, query : query + 1, :], k, layer=layer, masked=False)[0, 0, :]
        out = out * cap_slope(capped, config.score_cap)
    for edit in edits:
        if isinstance(edit, SetTemperature) and edit.head == head:
            out = out * edit.beta
    for edit in edits:
        if isinstance(edit, SetScore) and edit.head == head and query is not None and edit.query == query:
            out[edit.key] = 0.0
    return out


def curve(trace: Trace, layer: int, head: int, direction: Array, *, query: int, responses: Array, t: Array) -> Array:
    """Return a head's weighted average of responses as one query moves along a direction, ``q + t * direction``.

    The weights are those of the run's own kernel at every t, whatever caps and edits do to its scores.

    Parameters
    ----------
    direction : array, shape (d_head,)
        In the space of the rotated queries, for example `query_direction`.
    responses : array, shape (n_tokens,)
    t : array, shape (n_t,)

    Returns
    -------
    array, shape (n_t,)
    """
    q, k, config, edits = _head(trace, layer, head)
    query = trace.position(query)
    kept = tuple(edit for edit in edits if not isinstance(edit, ScaleEdge))
    moved = (q[0, query, :] + t[:, None] * direction)[:, None, None, :]  # (n_t, 1, 1, d_head)
    rows = attention.pattern(config, moved, k, layer=layer, edits=kept, corner=(head, query, 0))  # (n_t, 1, 1, n)
    return rows[:, 0, 0, :] @ responses


def contribution(trace: Trace, edit: ScaleHead | ScaleMlp | ScaleEdge) -> Array:
    """Return what a dose scales: with the edit, a half's output changes by ``(scale - 1) * contribution``.

    For `ScaleHead` and `ScaleEdge` that is attention's output, for `ScaleMlp` the MLP's, both before a norm that may
    follow; without one the stream changes alike. The edit's own scale is not looked at; the trace's edits stay.

    Returns
    -------
    array, shape (n_tokens, d_model)
        Zero outside the edit's positions.

    Raises
    ------
    ModelError
        If the edit does not fit the run.
    """
    (found,) = resolve((edit,), trace.model.config, trace.n_tokens)
    block = trace.model.weights.blocks[found.layer]
    if isinstance(found, ScaleMlp):
        return _deviation(mlp_output(trace, found.layer), found)
    if isinstance(found, ScaleHead):
        z = _deviation(trace.layers[found.layer].z[found.head, :, :], found)
        return z @ block.W_O[found.head, :, :]
    if isinstance(found, ScaleEdge):
        return _edge_z(trace, found) @ block.W_O[found.head, :, :]
    raise KavError(f"a dose must scale a head, an MLP or an edge, got {type(found).__name__}")


def _deviation(x: Array, edit: ScaleHead | ScaleMlp) -> Array:
    """x minus its baseline at the edit's positions, 0 elsewhere."""
    return x - outputs.scale_output(x, replace(edit, scale=0.0))


def mlp_output(trace: Trace, layer: int, rows: tuple[int, int] | None = None) -> Array:
    """Return a layer's MLP's output, edits included, before a norm after it; zeros where there is no MLP.

    Parameters
    ----------
    rows : tuple of int or None
        First position and the one after the last; None = all.

    Returns
    -------
    array, shape (n, d_model)

    Raises
    ------
    KavError
        If the model has no such layer.
    """
    trace.model.config.check_head(layer, 0)
    block, done = trace.model.weights.blocks[layer], trace.layers[layer]
    return forward.mlp_output(trace.model.config, block, done, trace.edits_of(layer), rows)


def attention_output(trace: Trace, layer: int, rows: tuple[int, int] | None = None) -> Array:
    """Return a layer's attention output, edits and b_O included, before a norm after it.

    Parameters
    ----------
    rows : tuple of int or None
        First position and the one after the last; None = all.

    Returns
    -------
    array, shape (n, d_model)

    Raises
    ------
    KavError
        If the model has no such layer.
    """
    trace.model.config.check_head(layer, 0)
    first, stop = (0, trace.n_tokens) if rows is None else rows
    return outputs.merge_heads(trace.layers[layer].z[:, first:stop, :], trace.model.weights.blocks[layer])


def heads_output(trace: Trace, layer: int) -> Array:
    """Return each head's part of `attention_output`, edits included: all of it but b_O.

    Returns
    -------
    array, shape (n_heads, n_tokens, d_model)

    Raises
    ------
    KavError
        If the model has no such layer.
    """
    trace.model.config.check_head(layer, 0)
    return trace.layers[layer].z @ trace.model.weights.blocks[layer].W_O


def _edge_z(trace: Trace, edit: ScaleEdge) -> Array:
    """The part of a head's z that comes from one key: weight times value, after the head edits that follow."""
    q, k, config, edits = _head(trace, edit.layer, edit.head)
    xp = namespace(q)
    v = trace.layers[edit.layer].v[config.kv_head(edit.head), edit.key, :][None, :]  # (1, d_head)
    columns = []
    for at in range(0, trace.n_tokens, ROWS):
        rows = q[:, at : min(at + ROWS, trace.n_tokens), :]
        block = attention.pattern(config, rows, k, layer=edit.layer, edits=edits, corner=(edit.head, at, 0))
        columns.append(block[0, :, edit.key : edit.key + 1])
    z = xp.concat(columns, axis=0) @ v  # (n_tokens, d_head)
    if edit.query is not None:
        row = z[edit.query, :]
        z = xp.zeros_like(z)
        z[edit.query, :] = row
    for other in edits:
        if isinstance(other, ScaleHead) and other.head == edit.head:
            z = outputs.scale_output(z, other)
    return z
