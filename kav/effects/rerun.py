"""Many altered runs of one prompt, batched through the layers that remain, read at one position.

What is below the place where the stream is altered is never run again, and where no attention follows, only the row
that is read takes part.
"""

from __future__ import annotations

from collections.abc import Callable

from kav.arrays import Array, namespace
from kav.effects.component import Injection
from kav.effects.last_layer import meets_last_layer, through_last_layer
from kav.model.edits import needs_whole_prompt
from kav.model.forward import mlp_half, suffix
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
    layer: int,
    from_mid: bool,
    position: int,
    task: Task | None = None,
) -> Array:
    """Return the final streams at one position of a batch of altered runs, shape (n_batch, d_model), on the device.

    Parameters
    ----------
    trace : Trace
        The run that is altered; its edits of later layers act.
    streams : callable
        Gives the altered streams entering `layer` (or its MLP, with `from_mid`), part by part. They may be cut to the
        one row that is read; see `reads_one_row`.
    position : int
        Counted from the start.
    task : Task or None
        Told as layers are done; may cancel.
    """
    n_rows = streams(0, 1).shape[-2]
    size = max(1, CHUNK_NUMBERS // (n_rows * trace.model.config.d_model))
    parts = []
    for start in range(0, n_batch, size):
        stop = min(start + size, n_batch)
        part = _share(task, start / n_batch, (stop - start) / n_batch)
        parts.append(_final(trace, streams(start, stop), layer=layer, from_mid=from_mid, position=position, task=part))
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

    Parameters
    ----------
    doses : array, shape (n_doses,)
        On the device.

    Returns
    -------
    array, shape (n_doses, d_model)
    """
    if meets_last_layer(trace, place):
        return through_last_layer(trace, place, doses, position=position)
    read = place.at_row(position) if reads_one_row(trace, place.layer, from_mid=place.from_mid) else place
    steps = (doses - 1)[:, None, None]

    def streams(start: int, stop: int) -> Array:
        return read.moved(steps[start:stop, :, :] * read.direction[None, :, :])

    n_doses = doses.shape[0]
    return reread(trace, streams, n_doses, layer=place.layer, from_mid=place.from_mid, position=position, task=task)


def _final(trace: Trace, resid: Array, *, layer: int, from_mid: bool, position: int, task: Task | None) -> Array:
    """Final streams at the position, (n_batch, d_model)."""
    model = trace.model
    if reads_one_row(trace, layer, from_mid=from_mid):
        row = 0 if resid.shape[-2] == 1 else position
        resid = resid[:, row : row + 1, :]
        if from_mid:
            block, edits = model.weights.blocks[layer], trace.edits_of(layer)
            resid = mlp_half(model.config, block, resid, resid, edits=edits, first=position)  # never parallel
        return resid[:, 0, :]
    done = suffix(model, resid, layer, edits=trace.edits, positions=(position,), from_mid=from_mid, task=task)
    return done[:, 0, :]


def _share(task: Task | None, done: float, share: float) -> Task | None:
    """A task that reports its part of a larger one and is cancelled with it."""
    return None if task is None else Task(lambda fraction, text: task.report(done + share * fraction, text))
