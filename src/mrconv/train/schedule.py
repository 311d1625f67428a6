"""How the learning rates change over a training, step by step."""

import math
from collections.abc import Callable

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, OneCycleLR

from .recipe_check import Schedule

__all__ = ["make_schedule", "warmup_cosine"]


def make_schedule(
    name: Schedule, optimizer: Optimizer, steps: int, warmup: float
) -> LRScheduler | None:
    """A schedule to be stepped after every optimizer step.

    "one_cycle": up from 1/25 of each group's rate to the rate over 3/10 of the steps, then down to
    almost 0, both by a cosine; momentum (or the first beta) goes the other way, 0.95 to 0.85 and
    back. "cosine": up linearly over ``warmup`` of the steps, then down to 0 by a cosine.
    "constant": none.

    Args:
        name: "one_cycle", "cosine" or "constant".
        optimizer: Whose groups' rates are the largest ones.
        steps: Of the whole training.
        warmup: Share of the steps.
    """
    if name == "constant":
        return None
    if name == "cosine":
        return LambdaLR(optimizer, warmup_cosine(steps, warmup))
    rates = [group["lr"] for group in optimizer.param_groups]
    has_momentum = "betas" in optimizer.defaults or optimizer.defaults.get("momentum", 0) > 0
    return OneCycleLR(optimizer, rates, total_steps=max(steps, 2), cycle_momentum=has_momentum)


def warmup_cosine(steps: int, warmup: float) -> Callable[[int], float]:
    """Factor of the learning rate by step: (s + 1) / (w + 1) for s < w, then a falling cosine.

    Args:
        steps: Of the whole training.
        warmup: Share of them that makes w.

    Example:
        >>> factor = warmup_cosine(100, 0.1)
        >>> round(factor(10), 6), round(factor(55), 6), round(factor(100), 6)
        (1.0, 0.5, 0.0)
    """
    rising = math.floor(steps * warmup)

    def factor(step: int) -> float:
        if step < rising:
            return (step + 1) / (rising + 1)
        return 0.5 + 0.5 * math.cos(math.pi * (step - rising) / max(steps - rising, 1))

    return factor
