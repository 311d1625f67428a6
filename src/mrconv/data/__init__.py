"""Data sets, and what describes a model's input."""

from .contract import InputContract, InputKind
from .corpora import PythonSource, Shakespeare
from .excerpt import Excerpt
from .mnist import MNIST5k
from .recall import Recall
from .speech import SpokenDigits
from .splits import IGNORED, DataSource, Examples, SplitName, Splits
from .text import Text

__all__ = [
    "IGNORED",
    "DataSource",
    "Examples",
    "Excerpt",
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
