"""How a distilled model's outputs differ on a batch, layer by layer and as a whole."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Inputs", "layer_changes", "output_change"]

Inputs = Tensor | tuple[Tensor, Tensor | None] | Mapping[str, Tensor | None]


@torch.no_grad()
def output_change(old: nn.Module, new: nn.Module, inputs: Inputs) -> float:
    """| new(inputs) - old(inputs) | / | old(inputs) |.

    Args:
        old: The original.
        new: The distilled model.
        inputs: A batch, a tuple of batch and lengths, or the model's arguments by name.

    Returns:
        Relative change in norm.
    """
    first, second = _called(old, inputs).double(), _called(new, inputs).double()
    return float((second - first).norm() / first.norm().clamp_min(1e-300))


@torch.no_grad()
def layer_changes(
    model: nn.Module, replaced: Mapping[str, nn.Module], inputs: Inputs
) -> dict[str, tuple[float, Tensor]]:
    """What each new layer changes when it is handed the input that the old one meets.

    Args:
        model: The original.
        replaced: New layers by the old ones' names.
        inputs: As above.

    Returns:
        By name the largest change of the output, and the largest |input| of each channel (D,).
    """
    found: dict[str, tuple[float, Tensor]] = {}

    def watch(name: str, new: nn.Module) -> Any:
        def hook(module: nn.Module, given: Any, named: Any, output: Tensor) -> None:
            x = given[0] if given else named["x"]
            change = (new(*given, **named).double() - output.double()).abs().max()
            met = torch.nan_to_num(x.double()).abs().amax((0, 2))
            before = found.get(name, (0.0, torch.zeros_like(met)))
            found[name] = max(float(change), before[0]), torch.maximum(met, before[1])

        return hook

    hooks = [
        model.get_submodule(name).register_forward_hook(watch(name, new), with_kwargs=True)
        for name, new in replaced.items()
    ]
    try:
        _called(model, inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _called(model: nn.Module, inputs: Inputs) -> Tensor:
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple) else model(inputs)
