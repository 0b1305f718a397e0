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


def one_head(config, block, x, head, edits):
    """Scores, pattern and z of one head for a normalised stream x."""
    n, kv = len(x), head // (config.n_heads // config.n_kv_heads)

    def affine(matrix, bias, which):
        return x @ f64(matrix)[which] + (0 if bias is None else f64(bias)[which])

    q, k, v = affine(block.W_Q, block.b_Q, head), affine(block.W_K, block.b_K, kv), affine(block.W_V, block.b_V, kv)
    rotated = (lambda row, i: turn(config, row, i)) if config.position == "rotary" else (lambda row, i: row)
    asked = [rotated(q[i], i) for i in range(n)]
    keys = [rotated(k[j], j) for j in range(n)]
    for edit in edits:
        if isinstance(edit, MoveQuery):
            i = edit.query % n
            asked[i] = asked[i] + edit.t * (rotated(q[edit.towards % n], i) - asked[i])
    scores = np.full((n, n), -np.inf)
    for i in range(n):
        for j in range(i + 1 if config.causal else n):
            s = asked[i] @ keys[j] / math.sqrt(config.d_head)
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
    stream = np.array([f64(weights.W_E)[number] for number in ids])
    if weights.W_pos is not None:
        stream = stream + f64(weights.W_pos)[: len(ids)]
    found = SimpleNamespace(resid=[stream], scores=[], pattern=[], outputs=[])
    for layer, block in enumerate(weights.blocks):
        here = [edit for edit in edits if edit.layer == layer]
        x = norm(config, block.norm1, stream)
        heads = [
            one_head(config, block, x, head, [e for e in here if getattr(e, "head", None) == head])
            for head in range(config.n_heads)
        ]
        outputs = [z @ f64(block.W_O)[head] for head, (_, _, z) in enumerate(heads)]
        stream = stream + sum(outputs) + (0 if block.b_O is None else f64(block.b_O))
        if block.mlp is not None:
            out = mlp(config, block.mlp, norm(config, block.norm2, stream))
            for edit in here:
                if isinstance(edit, ScaleMlp):
                    out = scaled(out, edit)
            stream = stream + out
        found.scores.append([head[0] for head in heads])
        found.pattern.append([head[1] for head in heads])
        found.outputs.append(outputs)
        found.resid.append(stream)
    found.logits = norm(config, weights.norm_final, stream) @ f64(weights.W_U)
    found.logits = found.logits + (0 if weights.b_U is None else f64(weights.b_U))
    return found
