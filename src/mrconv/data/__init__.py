"""Data sets, and what describes a model's input."""

from .aan import AAN
from .cifar import SequentialCIFAR10
from .commands import SpeechCommands
from .contract import InputContract, InputKind
from .corpora import PythonSource, Shakespeare
from .excerpt import Excerpt
from .genomics import Nucleosomes
from .imdb import IMDB
from .listops import ListOps
from .listops_expressions import Grammar
from .listops_generator import generate_listops
from .mnist import MNIST5k
from .movies import MovieReviews
from .pathfinder import Pathfinder
from .pathfinder_generator import generate_pathfinder
from .recall import Recall
from .speech import SpokenDigits
from .splits import IGNORED, DataSource, Examples, SplitName, Splits
from .text import Text
from .ucr import ACSF1, PigCVP
from .watch import Smartwatch

__all__ = [
    "AAN",
    "ACSF1",
    "IGNORED",
    "IMDB",
    "DataSource",
    "Examples",
    "Excerpt",
    "Grammar",
    "InputContract",
    "InputKind",
    "ListOps",
    "MNIST5k",
    "MovieReviews",
    "Nucleosomes",
    "Pathfinder",
    "PigCVP",
    "PythonSource",
    "Recall",
    "SequentialCIFAR10",
    "Shakespeare",
    "Smartwatch",
    "SpeechCommands",
    "SplitName",
    "Splits",
    "SpokenDigits",
    "Text",
    "generate_listops",
    "generate_pathfinder",
]
