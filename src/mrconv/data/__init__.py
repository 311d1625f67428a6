"""Data sets, and what describes a model's input."""

from .contract import InputContract, InputKind
from .mnist import MNIST5k
from .speech import SpokenDigits
from .splits import DataSource, Examples, SplitName, Splits

__all__ = [
    "DataSource",
    "Examples",
    "InputContract",
    "InputKind",
    "MNIST5k",
    "SplitName",
    "Splits",
    "SpokenDigits",
]
