"""A forward pass as slow and plain as the textbook: float64, one number at a time, edits included.

It shares no code with kav.model; tests compare the two.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from kav.arrays import to_host
from kav.model.edits import MaskKeys, MoveQuery, ScaleEdge, ScaleHead, ScaleMlp, SetScore, SetTemperature


def f64(array):
    return to_host(array).astype(np.float64)


def norm(config, weights, x):
    if weights is None:
        return x
    gain = f64(weights.gain)
    out = []
    for row in x:
        row = row - sum(row) / len(row) if config.norm == "layer" else row
        sigma = math.sqrt(sum(value * value for value in row) / len(row) + config.norm_eps)
        out.append(row / sigma * gain + (0 if weights.bias is None else f64(weights.bias)))
    return np.array(out)


def turn(config, vector, position):
    """Rotate pairs (r, r + half) by position * base^(-2 r / n)."""
    out = vector.copy()
    half = config.rotary_dims // 2
    out[: 2 * half] *= config.rotary_gain
    vector = out.copy()
    for r in range(half):
        angle = position * config.rotary_base ** (-2 * r / config.rotary_dims)
        a, b = vector[r], vector[r + half]
        out[r] = a * math.cos(angle) - b * math.sin(angle)
        out[r + half] = b * math.cos(angle) + a * math.sin(angle)
    return out


def act(name, x):
    if name == "silu":
        return x / (1 + np.exp(-x))
    if name == "relu":
        return np.maximum(x, 0)
    if name == "gelu":
        return x * (1 + np.vectorize(math.erf)(np.asarray(x) / math.sqrt(2))) / 2
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def mlp(config, weights, x):
    def affine(x, matrix, bias):
        return x @ f64(matrix) + (0 if bias is None else f64(bias))

    inside = affine(x, weights.W_in, weights.b_in)
    if weights.W_gate is None:
        hidden = act(config.activation, inside)
    else:
        hidden = act(config.activation, affine(x, weights.W_gate, weights.b_gate)) * inside
    return affine(hidden, weights.W_out, weights.b_out)


def cap(x, limit):
    return limit * math.tanh(x / limit) if limit else x


def by_head(config, weights, found):
    """Queries or keys of all heads (n_heads, n, d_head), normalised per head or over all heads at each position."""
    if weights is None:
        return found
    gain, out = f64(weights.gain), found.copy()
    for head in range(len(found)):
        for i in range(found.shape[1]):
            numbers = found[head, i] if config.qk_norm == "head" else found[:, i].ravel()
            length = math.sqrt(sum(value * value for value in numbers) / len(numbers) + config.norm_eps)
            out[head, i] = found[head, i] / length * (gain if config.qk_norm == "head" else gain[head])
    return out


def scaled(x, edit):
    """x is (n_tokens, d): b + scale (x - b) at the edit's positions."""
    n = len(x)
    if edit.baseline == "mean":
        base = np.tile(x.mean(axis=0), (n, 1))
    elif edit.baseline == "resample":
        base = x[np.random.default_rng(n).permutation(n)]
    else:
        base = np.zeros_like(x)
    out = x.copy()
    for i in range(n):
        if edit.positions is None or i in [position % n for position in edit.positions]:
            out[i] = base[i] + edit.scale * (x[i] - base[i])
    return out


def one_head(config, block, x, layer, head, edits):
    """Scores, pattern and z of one head for a normalised stream x."""
    n, kv = len(x), head // (config.n_heads // config.n_kv_heads)
    window = (config.windows or (0,) * config.n_layers)[layer] or n
    scale = config.scales[layer] if config.scales else 1 / math.sqrt(config.d_head)

    def affine(matrix, bias):
        return np.array([x @ f64(matrix)[i] + (0 if bias is None else f64(bias)[i]) for i in range(matrix.shape[0])])

    q = by_head(config, block.norm_Q, affine(block.W_Q, block.b_Q))[head]
    k = by_head(config, block.norm_K, affine(block.W_K, block.b_K))[kv]
    v = affine(block.W_V, block.b_V)[kv]
    rotated = (lambda row, i: turn(config, row, i)) if config.position == "rotary" else (lambda row, i: row)
    asked = [rotated(q[i], i) for i in range(n)]
    keys = [rotated(k[j], j) for j in range(n)]
    for edit in edits:
        if isinstance(edit, MoveQuery):
            i = edit.query % n
            asked[i] = asked[i] + edit.t * (rotated(q[edit.towards % n], i) - asked[i])
    scores = np.full((n, n), -np.inf)
    for i in range(n):
        for j in range(max(0, i - window + 1) if config.causal else 0, i + 1 if config.causal else n):
            s = cap(asked[i] @ keys[j] * scale, config.score_cap)
            for edit in edits:
                if isinstance(edit, SetTemperature):
                    s = edit.beta * s
            for edit in edits:
                if isinstance(edit, SetScore) and (edit.query % n, edit.key % n) == (i, j):
                    s = edit.value
            for edit in edits:
                rows = [query % n for query in getattr(edit, "queries", None) or range(n)]
                if isinstance(edit, MaskKeys) and i in rows and j in [key % n for key in edit.keys]:
                    s = -np.inf
            scores[i, j] = s
    pattern = np.zeros((n, n))
    for i in range(n):
        seen = [j for j in range(n) if scores[i, j] > -np.inf]
        if not seen:
            continue
        total = sum(math.exp(scores[i, j] - scores[i, seen].max()) for j in seen)
        for j in seen:
            pattern[i, j] = math.exp(scores[i, j] - scores[i, seen].max()) / total
    for edit in edits:
        if isinstance(edit, ScaleEdge):
            rows = range(n) if edit.query is None else [edit.query % n]
            for i in rows:
                pattern[i, edit.key % n] *= edit.scale
    z = pattern @ v
    for edit in edits:
        if isinstance(edit, ScaleHead):
            z = scaled(z, edit)
    return scores, pattern, z


def run(model, ids, edits=()):
    """Return logits, and per layer resid, scores, pattern, head outputs, of one prompt."""
    config, weights = model.config, model.weights
    stream = np.array([f64(weights.W_E)[number] for number in ids]) * config.embed_scale
    if weights.W_pos is not None:
        stream = stream + f64(weights.W_pos)[: len(ids)]
    stream = norm(config, weights.norm_embed, stream)
    found = SimpleNamespace(resid=[stream], scores=[], pattern=[], outputs=[])
    for layer, block in enumerate(weights.blocks):
        here = [edit for edit in edits if edit.layer == layer]
        before, x = stream, norm(config, block.norm1, stream)
        heads = [
            one_head(config, block, x, layer, head, [e for e in here if getattr(e, "head", None) == head])
            for head in range(config.n_heads)
        ]
        outputs = [z @ f64(block.W_O)[head] for head, (_, _, z) in enumerate(heads)]
        attended = sum(outputs) + (0 if block.b_O is None else f64(block.b_O))
        stream = written(config, block.norm1_out, stream, attended)
        if block.mlp is not None:
            out = mlp(config, block.mlp, norm(config, block.norm2, before if config.parallel else stream))
            for edit in here:
                if isinstance(edit, ScaleMlp):
                    out = scaled(out, edit)
            stream = written(config, block.norm2_out, stream, out)
        outputs = [shared(config, block.norm1_out, attended, part) for part in outputs]
        found.scores.append([head[0] for head in heads])
        found.pattern.append([head[1] for head in heads])
        found.outputs.append(outputs)
        found.resid.append(stream)
    if weights.dense is not None:
        stream = act(config.activation, stream @ f64(weights.dense.W) + f64(weights.dense.b))
    found.logits = norm(config, weights.norm_final, stream) @ f64(weights.W_U)
    found.logits = found.logits + (0 if weights.b_U is None else f64(weights.b_U))
    found.logits = np.vectorize(cap)(found.logits, config.logit_cap)
    return found


def written(config, weights, stream, out):
    if config.norm_place == "stream":
        return norm(config, weights, stream + out)
    return stream + norm(config, weights, out)


def shared(config, weights, whole, part):
    """What a part of an output adds to the stream: the norm of the whole, by linearity, with its scale as it is."""
    if weights is None or config.norm_place == "stream":
        return part
    rest = whole - part
    centred = [rows - rows.mean(axis=-1, keepdims=True) if config.norm == "layer" else rows for rows in (whole, rest)]
    sigma = np.sqrt((centred[0] ** 2).mean(axis=-1, keepdims=True) + config.norm_eps)
    return (centred[0] - centred[1]) / sigma * f64(weights.gain)
