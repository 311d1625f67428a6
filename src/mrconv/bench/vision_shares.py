"""Where the time of a network of images goes: convolutions, norms, pointwise maps, the rest."""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .cases import Options

__all__ = ["PARTS", "shares"]

#: Parts of a block by their names in it; all else is "rest".
PARTS = {"conv_dw": "convolutions", "norm": "norms", "mlp": "pointwise maps"}
ROUNDS, QUICK_ROUNDS = 5, 1


@torch.no_grad()
def shares(model: nn.Module, x: Tensor, options: Options) -> dict[str, float]:
    """Share of a forward pass that each kind of part takes.

    Args:
        model: A ConvNeXt of timm, converted or not.
        x: Images.
        options: Device, quick or not.

    Returns:
        By kind, and "rest"; they sum to 1.

    Cost: a few passes; waiting for every part costs a GPU some of its speed.
    """
    watch = _Watch(options.finish)
    blocks = [block for block in model.modules() if all(hasattr(block, name) for name in PARTS)]
    hooks = [
        hook
        for block in blocks
        for name, kind in PARTS.items()
        for hook in watch.over(getattr(block, name), kind)
    ]
    try:
        model(x)  # warm
        watch.seconds = dict.fromkeys(PARTS.values(), 0.0)
        start = watch.now()
        for _ in range(QUICK_ROUNDS if options.quick else ROUNDS):
            model(x)
        whole = watch.now() - start
    finally:
        for hook in hooks:
            hook.remove()
    found = {kind: seconds / whole for kind, seconds in watch.seconds.items()}
    return {**found, "rest": 1 - sum(found.values())}


class _Watch:
    """Seconds that modules take, by kind.

    Args:
        finish: Waits for the work that a call has started.
    """

    def __init__(self, finish: Callable[[], None]) -> None:
        self.finish = finish
        self.seconds: dict[str, float] = dict.fromkeys(PARTS.values(), 0.0)
        self.start = 0.0

    def now(self) -> float:
        """The time when all work is done."""
        self.finish()
        return time.perf_counter()

    def over(self, module: nn.Module, kind: str) -> list[torch.utils.hooks.RemovableHandle]:
        """Adds what the module takes to a kind.

        Args:
            module: Not within another watched one.
            kind: Where to add it.

        Returns:
            The hooks, to be removed.
        """

        def before(*ignored: object) -> None:
            self.start = self.now()

        def behind(*ignored: object) -> None:
            self.seconds[kind] += self.now() - self.start

        return [
            module.register_forward_pre_hook(before),
            module.register_forward_hook(behind),
        ]
