"""Data sets, and what describes a model's input."""

from .contract import InputContract, InputKind
from .corpora import PythonSource, Shakespeare
from .mnist import MNIST5k
from .recall import Recall
from .speech import SpokenDigits
from .splits import IGNORED, DataSource, Examples, SplitName, Splits
from .text import Text

__all__ = [
    "IGNORED",
    "DataSource",
    "Examples",
    "InputContract",
    "InputKind",
    "MNIST5k",
    "PythonSource",
    "Recall",
    "Shakespeare",
    "SplitName",
    "Splits",
    "SpokenDigits",
    "Text",
]
