"""Distillation: any causal long convolution to a few explicit taps and a diagonal recurrence."""

from .api import distill
from .gradient import Gradient
from .hankel import lower_bounds, singular_values
from .report import DistillReport, FilterReport, LayerReport

__all__ = [
    "DistillReport",
    "FilterReport",
    "Gradient",
    "LayerReport",
    "distill",
    "lower_bounds",
    "singular_values",
]
