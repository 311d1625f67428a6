"""Long convolutions as sequence models: train as branches, merge, stream, distil.

Public names are loaded on first use, so importing mrconv imports the standard library only.
"""

import importlib
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from . import data, distillation, errors, kernels, nn, report, streaming, testing
    from ._checks import lengths_from_mask, pad
    from .branch_statistics import BranchNorm
    from .distillation import distill
    from .merging import merge
    from .models import (
        Forecaster,
        LanguageModel,
        SequenceBackbone,
        SequenceClassifier,
        SequenceLabeller,
        SequenceRegressor,
        load,
    )
    from .nn import GatedMRConv, Hyena, LongConv, MRConv, MultiHyena
    from .streaming import Streamer
    from .train.optim import param_groups
    from .train.pruning import prune
    from .verification import verify

_MODULES = (
    "data",
    "distillation",
    "errors",
    "kernels",
    "models",
    "nn",
    "report",
    "streaming",
    "testing",
    "train",
)
_NAMES = {
    "BranchNorm": "branch_statistics",
    "Forecaster": "models",
    "GatedMRConv": "nn",
    "Hyena": "nn",
    "LanguageModel": "models",
    "LongConv": "nn",
    "MRConv": "nn",
    "MultiHyena": "nn",
    "SequenceBackbone": "models",
    "SequenceClassifier": "models",
    "SequenceLabeller": "models",
    "SequenceRegressor": "models",
    "Streamer": "streaming",
    "distill": "distillation",
    "lengths_from_mask": "_checks",
    "load": "models",
    "merge": "merging",
    "pad": "_checks",
    "param_groups": "train.optim",
    "prune": "train.pruning",
    "verify": "verification",
}

__all__ = [
    "BranchNorm",
    "Forecaster",
    "GatedMRConv",
    "Hyena",
    "LanguageModel",
    "LongConv",
    "MRConv",
    "MultiHyena",
    "SequenceBackbone",
    "SequenceClassifier",
    "SequenceLabeller",
    "SequenceRegressor",
    "Streamer",
    "__version__",
    "data",
    "distill",
    "distillation",
    "errors",
    "kernels",
    "lengths_from_mask",
    "load",
    "merge",
    "nn",
    "pad",
    "param_groups",
    "prune",
    "report",
    "streaming",
    "testing",
    "verify",
]


def __getattr__(name: str) -> object:
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'mrconv' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
