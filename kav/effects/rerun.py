"""Many altered runs of one prompt, batched through the layers that remain, read at one position.

What is below the place where the stream is altered is never run again, and where no attention follows, only the row
that is read takes part.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kav.arrays import Array, like, namespace, to_host
from kav.effects.component import Injection
from kav.effects.first_mlp import FirstMlp, meets_mlp
from kav.effects.last_layer import meets_last_layer, through_last_layer
from kav.model.edits import MoveQuery, needs_whole_prompt
from kav.model.forward import mlp_half
from kav.model.suffix import suffix
from kav.model.trace import Trace
from kav.task import Task

CHUNK_NUMBERS = 1 << 25
"""Most numbers of altered residual streams that are held at once (128 MiB in float32)."""

Streams = Callable[[int, int], Array]
"""``streams(start, stop)`` -> the altered streams of that part of the batch, (stop - start, n_tokens, d_model)."""


def reread(
    trace: Trace,
    streams: Streams,
    n_batch: int,
    *,
    n_rows: int,
    layer: int,
    from_mid: bool,
    position: int,
    first: int = 0,
    task: Task | None = None,
) -> Array:
    """Return the final streams at one position of a batch of altered runs, shape (n_batch, d_model), on the device.

    Parameters
    ----------
    trace : Trace
        The run that is altered; its edits of later layers act.
    streams : callable
        Gives the altered streams entering `layer` (or its MLP, with `from_mid`), part by part, from row `first` on.
        They may be cut to the one row that is read; see `reads_one_row`.
    n_rows : int
        Rows of a stream.
    position : int
        Counted from the start.
    first : int
        Rows before it are those of the run in every altered run: see `first_altered`.
    task : Task or None
        Told as layers are done; may cancel.
    """
    size = max(1, CHUNK_NUMBERS // (n_rows * trace.model.config.d_model))
    parts = []
    for start in range(0, n_batch, size):
        stop = min(start + size, n_batch)
        part = share_of(task, start / n_batch, (stop - start) / n_batch)
        resid = streams(start, stop)
        parts.append(_final(trace, resid, layer=layer, from_mid=from_mid, position=position, first=first, task=part))
        if task is not None:
            task.report(stop / n_batch)
    return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=0)


def reads_one_row(trace: Trace, layer: int, *, from_mid: bool) -> bool:
    """Return whether nothing after the place mixes positions, so that streams may be cut to the row that is read."""
    n_layers = trace.model.config.n_layers
    if layer == n_layers:
        return True
    return from_mid and layer == n_layers - 1 and not needs_whole_prompt(trace.edits_of(layer))


def along(trace: Trace, place: Injection, doses: Array, *, position: int, task: Task | None = None) -> Array:
    """Return the final streams at one position of the runs whose place moves by ``(dose - 1) * direction``.

    Dose 1 is the run itself and is not run again.

    Parameters
    ----------
    doses : array, shape (n_doses,)
        On the device.

    Returns
    -------
    array, shape (n_doses, d_model)
    """
    xp, own = namespace(doses), trace.resid_final[position : position + 1, :]
    others = np.flatnonzero(to_host(doses) != 1)
    if len(others) == doses.shape[0]:
        return _along(trace, place, doses, position=position, task=task)
    if not len(others):
        return xp.concat([own] * doses.shape[0], axis=0)
    altered = xp.take(doses, like(doses, others, dtype=xp.int64))
    both = xp.concat([own, _along(trace, place, altered, position=position, task=task)], axis=0)
    places = np.zeros(doses.shape[0])
    places[others] = np.arange(1, len(others) + 1)
    return xp.take(both, like(both, places, dtype=xp.int64), axis=0)


def _along(trace: Trace, place: Injection, doses: Array, *, position: int, task: Task | None) -> Array:
    if meets_last_layer(trace, place):
        return through_last_layer(trace, place, doses, position=position)
    alone = reads_one_row(trace, place.layer, from_mid=place.from_mid)
    first = position if alone else min(position, first_altered(trace, place))
    read = place.rows(first, position + 1 if alone else trace.n_tokens)
    steps = (doses - 1)[:, None, None]
    early = meets_mlp(trace, place)

    def streams(start: int, stop: int) -> Array:
        return read.moved(steps[start:stop, :, :] * read.direction[None, :, :])

    return reread(
        trace,
        FirstMlp(trace, read, doses, first).streams if early else streams,
        doses.shape[0],
        n_rows=read.stream.shape[0],
        layer=place.layer + early,
        from_mid=place.from_mid and not early,
        position=position,
        first=first,
        task=task,
    )


def first_altered(trace: Trace, place: Injection) -> int:
    """Return the first position at which a run can differ from `trace` if the place moves along its direction.

    0 where later layers mix all positions: in models that are not causal, and under baselines made of all positions.
    """
    config = trace.model.config
    later = tuple(edit for edit in trace.resolved if edit.layer >= place.layer)
    if not config.causal or needs_whole_prompt(later):
        return 0
    moved = np.flatnonzero(to_host(namespace(place.direction).any(place.direction != 0, axis=-1)))
    first = int(moved[0]) if len(moved) else trace.n_tokens - 1
    moves = [edit for edit in later if isinstance(edit, MoveQuery)]
    while any(edit.towards >= first > edit.query for edit in moves):  # an earlier token asks a later one's question
        first = min(edit.query for edit in moves if edit.towards >= first)
    return first


def _final(
    trace: Trace, resid: Array, *, layer: int, from_mid: bool, position: int, first: int, task: Task | None
) -> Array:
    """Final streams at the position, (n_batch, d_model)."""
    model = trace.model
    if reads_one_row(trace, layer, from_mid=from_mid):
        row = 0 if resid.shape[-2] == 1 else position - first
        resid = resid[:, row : row + 1, :]
        if from_mid:
            block, edits = model.weights.blocks[layer], trace.edits_of(layer)
            resid = mlp_half(model.config, block, resid, resid, edits=edits, first=position)  # never parallel
        return resid[:, 0, :]
    done = suffix(
        model,
        resid,
        layer,
        edits=trace.resolved,
        positions=(position,),
        from_mid=from_mid,
        first=first,
        past=trace.layers if first else (),
        task=task,
    )
    return done[:, 0, :]


def share_of(task: Task | None, done: float, share: float, words: str = "") -> Task | None:
    """Return a task that reports its part of a larger one, in `words` if it has none, and is cancelled with it."""
    return None if task is None else Task(lambda fraction, text: task.report(done + share * fraction, text or words))
