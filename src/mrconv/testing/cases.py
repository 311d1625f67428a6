"""Layers in the state that a test needs: as after training, with nothing at its start value."""

from typing import TypeVar

import torch

from ..nn import MRBranches

__all__ = ["settled"]

Layer = TypeVar("Layer", bound=MRBranches)


@torch.no_grad()
def settled(layer: Layer, seed: int = 0) -> Layer:
    """The same layer in eval mode, with gains, shifts and statistics as training leaves them.

    Args:
        layer: Changed in place.
        seed: Of the random numbers.

    Returns:
        The layer.

    Example:
        >>> import mrconv
        >>> from mrconv.testing import settled
        >>> settled(mrconv.MRConv(2, 8, kernel_size=4)).training
        False
    """
    seeded = torch.Generator().manual_seed(seed)

    def normal(like: torch.Tensor) -> torch.Tensor:
        return torch.randn(like.shape, generator=seeded).to(like)

    if layer.gains == "learned":
        layer.gain.copy_(normal(layer.gain))
    layer.shift.copy_(normal(layer.shift))
    if layer.norm not in ("none", "constant"):
        layer.running_mean.copy_(normal(layer.running_mean))
        layer.running_var.copy_(0.3 + normal(layer.running_var).square())
    return layer.eval()
