"""Data sets, and what describes a model's input."""

from .contract import InputContract, InputKind
from .corpora import PythonSource, Shakespeare
from .excerpt import Excerpt
from .listops import ListOps
from .listops_expressions import Grammar
from .listops_generator import generate_listops
from .mnist import MNIST5k
from .pathfinder import Pathfinder
from .pathfinder_generator import generate_pathfinder
from .recall import Recall
from .speech import SpokenDigits
from .splits import IGNORED, DataSource, Examples, SplitName, Splits
from .text import Text

__all__ = [
    "IGNORED",
    "DataSource",
    "Examples",
    "Excerpt",
    "Grammar",
    "InputContract",
    "InputKind",
    "ListOps",
    "MNIST5k",
    "Pathfinder",
    "PythonSource",
    "Recall",
    "Shakespeare",
    "SplitName",
    "Splits",
    "SpokenDigits",
    "Text",
    "generate_listops",
    "generate_pathfinder",
]
