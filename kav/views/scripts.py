"""The beginning of "Copy as Python": a script that opens the same state through the public functions of kav.

Each panel adds what it shows; the whole runs as it is and prints the panel's main numbers.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kav.model.edits import Edit
from kav.regression.samples import Samples
from kav.views.scene import Focus, HeadScene, RegressionScene

MOST_WRITTEN = 2000  # samples that a script spells out


def edits_source(edits: Iterable[Edit]) -> str:
    """Return edits as a Python tuple: ``(kav.ScaleHead(layer=0, head=0, scale=0.0, ...),)``."""
    return "(" + "".join(f"kav.{edit!r}, " for edit in edits).removesuffix(" ") + ")"


def head_setup(scene: HeadScene, focus: Focus) -> str:
    """Return a script that defines model, tokens, edits, trace and what is selected."""
    model, tokens = scene.base.model, scene.base.tokens
    text = " ".join(" ".join(tokens.labels).split())
    names = [f"target: {_comment(model.label(focus.target))}"]
    if focus.foil is not None:
        names.append(f"foil: {_comment(model.label(focus.foil))}")
    return "\n".join(
        (
            "import numpy as np",
            "",
            "import kav",
            "",
            f"model = kav.open_model({model.source or 'bundled'!r}{', tied=True' if model.tied else ''})",
            f"tokens = model.tokens({tokens.ids!r})  # {_comment(text)}",
            f"edits = {edits_source(scene.trace.edits)}",
            "trace = kav.run(model, tokens, edits)",
            f"layer, head, query, key = {focus.layer}, {focus.head}, {focus.query}, {focus.key}",
            f"target, foil = {focus.target}, {focus.foil}  # {', '.join(names)}",
            "",
        )
    )


def regression_setup(scene: RegressionScene) -> str:
    """Return a script that defines the samples, the kernel, and the weights at the query with every sample's scale."""
    lines = [
        "import numpy as np",
        "",
        "import kav",
        "",
        *_samples_source(scene.samples),
        f"x_query, h, kernel = {scene.x_query!r}, {scene.h!r}, {scene.kernel!r}",
        "scale = np.ones(len(x))  # of each sample's kernel weight",
        *(f"scale[{index}] = {dose!r}" for index, dose in scene.doses),
        "weights = kav.smoother_matrix(x, [x_query], h, kernel)[0] * scale",
        "weights = weights / weights.sum()",
        "",
    ]
    return "\n".join(lines)


def _samples_source(samples: Samples) -> list[str]:
    """Lines that define x and y: the numbers themselves, or of many samples the file that the panel exports."""
    if samples.n <= MOST_WRITTEN:
        written = zip("xy", (samples.x, samples.y), samples.axes, strict=True)
        return [f"{axis} = np.array({_numbers(values)}){_called(axis, name)}" for axis, values, name in written]
    from kav.views.regression.samples_table import axes_columns

    x_name, y_name = axes_columns(samples)
    return [
        f"# {samples.n:,} samples are too many to write here: export the kernel fit as samples.npz first",
        'samples = np.load("samples.npz")',
        f"x, y = samples[{x_name!r}], samples[{y_name!r}]",
    ]


def _called(axis: str, name: str) -> str:
    return "" if name in ("", axis) else f"  # {_comment(name)}"


def _numbers(values: np.ndarray) -> str:
    return "[" + ", ".join(repr(float(value)) for value in values) + "]"


def _comment(text: str) -> str:
    """Text of a prompt inside a comment: one line, whatever it holds."""
    return "".join(c if c.isprintable() else " " for c in text)
