"""KAV's compute library: transformer attention handled as the kernel regression it is.

The map, from the bottom up: `kav.arrays` says where arrays live; `kav.smoother` is the central idea, log-kernel ->
weights -> weighted average. Two halves meet in it and know nothing of each other: `kav.regression` (samples, kernels,
bandwidths) and `kav.model` (checkpoints, tokens, the forward pass, edits, traces). `kav.circuits` reads the weights of
a head, `kav.effects` asks what a head does to a prediction, and `kav.views` computes what each panel of the window
draws. Nothing here imports Qt.

The names below are the public API. Each is imported when it is first used, so ``import kav`` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kav.errors import KavError, ModelError

if TYPE_CHECKING:
    from kav.circuits.composition import composition as composition
    from kav.circuits.copying import copying_score as copying_score
    from kav.circuits.head_scores import head_scores as head_scores
    from kav.circuits.qk_ov import ov as ov
    from kav.circuits.qk_ov import qk as qk
    from kav.circuits.strongest import strongest_pairs as strongest_pairs
    from kav.effects.ablation import ablation_map as ablation_map
    from kav.effects.attribution import attribution as attribution
    from kav.effects.dose import dose_response as dose_response
    from kav.model.checkpoint import open_model as open_model
    from kav.model.edits import MaskKeys as MaskKeys
    from kav.model.edits import MoveQuery as MoveQuery
    from kav.model.edits import ScaleEdge as ScaleEdge
    from kav.model.edits import ScaleHead as ScaleHead
    from kav.model.edits import ScaleMlp as ScaleMlp
    from kav.model.edits import SetScore as SetScore
    from kav.model.edits import SetTemperature as SetTemperature
    from kav.model.trace import run as run
    from kav.regression.bandwidth import loo_score as loo_score
    from kav.regression.bandwidth import select_bandwidth as select_bandwidth
    from kav.regression.fit import fit as fit
    from kav.regression.fit import smoother_matrix as smoother_matrix
    from kav.regression.kernels import KERNELS as KERNELS

__version__ = "0.1.0"

_HOMES = {
    "kav.circuits.composition": ("composition",),
    "kav.circuits.copying": ("copying_score",),
    "kav.circuits.head_scores": ("head_scores",),
    "kav.circuits.qk_ov": (
        "ov",
        "qk",
    ),
    "kav.circuits.strongest": ("strongest_pairs",),
    "kav.effects.ablation": ("ablation_map",),
    "kav.effects.attribution": ("attribution",),
    "kav.effects.dose": ("dose_response",),
    "kav.model.checkpoint": ("open_model",),
    "kav.model.edits": (
        "MaskKeys",
        "MoveQuery",
        "ScaleEdge",
        "ScaleHead",
        "ScaleMlp",
        "SetScore",
        "SetTemperature",
    ),
    "kav.model.trace": ("run",),
    "kav.regression.bandwidth": (
        "loo_score",
        "select_bandwidth",
    ),
    "kav.regression.fit": (
        "fit",
        "smoother_matrix",
    ),
    "kav.regression.kernels": ("KERNELS",),
}
"""Which module holds which public name."""

_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["KavError", "ModelError", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
