"""Models: a backbone and a head, (B, L, F) or tokens (B, L) in."""

from .backbone import SequenceBackbone
from .base import SequenceModel
from .classifier import SequenceClassifier
from .forecaster import Forecaster
from .labeller import SequenceLabeller
from .loading import load
from .regressor import SequenceRegressor

__all__ = [
    "Forecaster",
    "SequenceBackbone",
    "SequenceClassifier",
    "SequenceLabeller",
    "SequenceModel",
    "SequenceRegressor",
    "load",
]
