"""Pictures of models and their training, and one self-contained page that holds them."""

from .page import Page, write_page
from .plots import confusion_matrix, gain_norms, learning_curves
from .small_multiples import contributions, layer_kernels

__all__ = [
    "Page",
    "confusion_matrix",
    "contributions",
    "gain_norms",
    "layer_kernels",
    "learning_curves",
    "write_page",
]
