"""The cell of the experiment on filters that times training steps and predictions, in turns."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..bench.timing import Pace, Turns, spread, take_turns
from ..models import SequenceModel
from .filter_contestants import SEPARATE, Fitted
from .filter_training import BATCH, Sizes
from .grid import Cell, Numbers

__all__ = ["speed_cell"]

BYTES = 256


def speed_cell(found: Sequence[Fitted], sizes: Sizes, *, quick: bool) -> Cell:
    """Times of the untrained language models on random bytes; the contestants take turns.

    Args:
        found: Contestants, separate filters among them.
        sizes: Of the windows.
        quick: Whether few rounds try it out.

    Returns:
        One cell: milliseconds, and ratios to separate filters round by round.
    """
    pace = Pace(0.0, 3, 3) if quick else Pace(60.0, 7, 40)
    shape = (BATCH, sizes.length)
    settings = {
        "shape": shape,
        "pace": pace,
        "models": {one.contestant.name: one.recipe.values["model"] for one in found},
    }

    def run() -> Numbers:
        x = torch.randint(BYTES, shape, generator=torch.Generator().manual_seed(0))
        models = {one.contestant.name: one.recipe.make_model() for one in found}
        steps = {name: _step(model, x) for name, model in models.items()}
        taken = _numbers(take_turns(steps, pace))
        forwards = {name: _forward(model.eval(), x) for name, model in models.items()}
        return {"training step": taken, "forward": _numbers(take_turns(forwards, pace))}

    return Cell("speed", settings, run)


def _step(model: SequenceModel, x: Tensor) -> Callable[[], object]:
    parameters = [one for one in model.parameters() if one.requires_grad]

    def step() -> object:
        loss = cross_entropy(model(x).flatten(0, 1), x.flatten())
        return torch.autograd.grad(loss, parameters)

    return step


def _forward(model: SequenceModel, x: Tensor) -> Callable[[], object]:
    def forward() -> object:
        with torch.no_grad():
            return model(x)

    return forward


def _numbers(turns: Turns) -> Mapping[str, Mapping[str, object]]:
    return {
        name: {
            "milliseconds": 1000 * spread(seconds).median,
            "ratio": list(turns.ratio(name, SEPARATE)),
        }
        for name, seconds in turns.seconds.items()
    }
