"""The main job on real digits: train, merge, verify, time, and show what was learned."""

import copy
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn

from ..data import Examples
from ..train import Progress, read_recipe
from .demo_page import write_demo_page
from .forms import DemoResult, train_and_merge

__all__ = ["run_demo"]

RECIPE = "mnist"


def run_demo(
    out: str | Path,
    overrides: list[str],
    *,
    progress: Progress | None = None,
    command: str = "mrconv demo",
) -> DemoResult:
    """Trains the recipe "mnist", merges the model, verifies it, times both forms, writes a page.

    Args:
        out: Folder; an earlier demo in it is replaced.
        overrides: Changes of the recipe, ``key=value``.
        progress: Told about steps and epochs.
        command: Kept in metrics.json and on the page.

    Returns:
        The numbers, the proof and the folder.

    Raises:
        FileError: If the digits are not installed.
        MissingExtraError: If Lightning or matplotlib is not installed.
    """
    recipe = read_recipe(RECIPE, overrides)
    forms = train_and_merge(recipe, out, progress=progress, command=command)
    times = _times(forms.model, forms.merged, forms.result.splits.test, recipe.batch_size)
    return forms.written({**forms.metrics, **times}, write_demo_page)


def _times(
    model: nn.Module, merged: nn.Module, examples: Examples, batch_size: int
) -> dict[str, dict[str, float]]:
    """Median milliseconds of a training step and of a prediction, in both forms."""
    x, y = examples.x[:batch_size], examples.y[:batch_size]
    forms = {"branches": model, "merged": merged}
    steps = {name: _milliseconds(_step(form, x, y)) for name, form in forms.items()}
    predictions = {name: _milliseconds(_prediction(form, x)) for name, form in forms.items()}
    return {"step_milliseconds": steps, "predict_milliseconds": predictions}


def _step(form: nn.Module, x: Tensor, y: Tensor) -> Callable[[], object]:
    """One training step of a copy, so that timing changes no model."""
    twin = copy.deepcopy(form).train()
    parameters = [parameter for parameter in twin.parameters() if parameter.requires_grad]

    def step() -> object:
        loss = nn.functional.cross_entropy(twin(x), y)
        return torch.autograd.grad(loss, parameters)

    return step


def _prediction(form: nn.Module, x: Tensor) -> Callable[[], object]:
    def predict() -> object:
        with torch.no_grad():
            return form(x)

    return predict


def _milliseconds(run: Callable[[], object], repeats: int = 5) -> float:
    run()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return round(1000 * median(taken), 3)
