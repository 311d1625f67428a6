"""Models: a backbone and a head, (B, L, F) or tokens (B, L) in."""

from .backbone import SequenceBackbone
from .base import SequenceModel
from .classifier import SequenceClassifier
from .forecaster import Forecaster
from .labeller import SequenceLabeller
from .language import LanguageModel
from .loading import load
from .regressor import SequenceRegressor
from .streaming import BackboneStepper, HeadStepper

__all__ = [
    "BackboneStepper",
    "Forecaster",
    "HeadStepper",
    "LanguageModel",
    "SequenceBackbone",
    "SequenceClassifier",
    "SequenceLabeller",
    "SequenceModel",
    "SequenceRegressor",
    "load",
]
