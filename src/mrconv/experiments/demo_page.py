"""The demo's page: how training went, what the model is, and which time scales decided."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data import Examples
from ..models import SequenceClassifier
from ..models.attribution import resolution_shares
from ..nn import MRConv
from ..report import Page, contributions
from ..train import TrainingResult
from .forms import TrainedForms
from .page_sections import add_confusion, add_proof, add_training, finished
from .portrait import add_portrait

__all__ = ["write_demo_page"]


def write_demo_page(path: Path, forms: TrainedForms, metrics: dict[str, Any]) -> Path:
    """Writes the page.

    Args:
        path: The HTML file.
        forms: The trained model and the merged one.
        metrics: What metrics.json holds.

    Returns:
        The path.
    """
    page = Page(
        "MRConv on sequential MNIST",
        "5,000 handwritten digits, each read as a sequence of 784 pixels; trained as branches, "
        "merged to one convolution a layer, and compared.",
        metrics["versions"],
    )
    _add_tiles(page, metrics)
    add_training(page, forms.result)
    add_portrait(page, forms.model)
    add_confusion(page, forms)
    _add_decisions(page, forms.model, forms.result)
    add_proof(page, forms.proof)
    return finished(path, page, metrics)


def _add_tiles(page: Page, metrics: dict[str, Any]) -> None:
    steps, predictions = metrics["step_milliseconds"], metrics["predict_milliseconds"]
    page.tile("Test accuracy", f"{100 * metrics['test_accuracy']:.1f} %", "500 digits")
    page.tile("Validation accuracy", f"{100 * metrics['validation_accuracy']:.1f} %", "500 digits")
    page.tile("Merged against branches", f"{metrics['merge_difference']:.0e}", "largest difference")
    page.tile("Training", f"{metrics['train_seconds']:.0f} s", f"{metrics['epochs']} epochs")
    page.tile(
        "Training step",
        f"{steps['branches']:.0f} ms",
        f"32 digits; the merged model takes {steps['merged']:.0f} ms",
    )
    page.tile(
        "Prediction",
        f"{predictions['merged']:.0f} ms",
        f"32 digits, merged; branches take {predictions['branches']:.0f} ms",
    )


def _add_decisions(page: Page, model: SequenceClassifier, result: TrainingResult) -> None:
    x, y = _one_of_each(result.splits.test)
    layer = next(module for module in model.modules() if isinstance(module, MRConv))
    predicted = [model.labels[int(guess)] for guess in model.predict(x)]
    page.section(
        "Which time scales decided",
        "For one test digit of each class, the share of every kernel length in the score of the "
        "class the model chose: gradient of the score times what each resolution added, over all "
        "layers. Below zero a resolution spoke against the decision.",
    )
    figure = contributions(
        _pixels(x),
        resolution_shares(model, x).numpy(),
        [model.labels[int(label)] for label in y],
        layer.spans,
        predicted=predicted,
        kind="image",
    )
    page.figure(figure, "ten digits, and the share of each time scale in the decision")


def _one_of_each(examples: Examples) -> tuple[Tensor, Tensor]:
    first = [int((examples.y == label).nonzero()[0]) for label in examples.y.unique()]
    return examples.x[torch.tensor(first)], examples.y[torch.tensor(first)]


def _pixels(x: Tensor) -> list[NDArray[np.float32]]:
    return [one[:, 0].numpy() for one in x]
