"""Pictures of models and their training, and one self-contained page that holds them."""

from .decision_panels import contributions
from .kernel_panels import layer_kernels
from .page import Page, write_page
from .plots import confusion_matrix, gain_norms, learning_curves

__all__ = [
    "Page",
    "confusion_matrix",
    "contributions",
    "gain_norms",
    "layer_kernels",
    "learning_curves",
    "write_page",
]
