"""The model half: from a folder on disk to a `Trace` from which every panel reads.

In reading order: `config` (what a model is); `family`, `families`, `rope` and `family_config` (what families differ in,
one row each), `tensors`, the `gguf` modules, `weights` and `checkpoint` (how one is opened), `tokenizer` and `model`
(its words); `activations`, `layers`, `attention` and `outputs` (the parts of a layer), `edits` (how a run may differ),
`forward` (a layer put together), `reuse` and `trace` (one run, kept), `suffix` (the rest of many runs at once), `head`
(one head of a run as a smoother) and `tiles` (its pattern, however long the prompt). `fallback` is what happens when a
GPU fails.
"""
