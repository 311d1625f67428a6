"""What a distilled layer may differ by from the one it stands for."""

import torch
from torch import Tensor, nn

from .._checks import mask_invalid
from ..nn.recurrence import ModalRecurrence
from ..nn.response import Convolution, impulse_response

__all__ = ["approximates", "explained_difference"]


def approximates(first: nn.Module, second: nn.Module) -> bool:
    """Whether two layers are equal only to the error of a distillation.

    A recurrence that never ends was fitted to taps that do; the exact recurrence of modal branches
    ends with them. Two endless recurrences of equal size are held to be one and the same.

    Args:
        first: In any form.
        second: In any form.

    Returns:
        True or False.
    """
    endless = [
        (one.modes, one.fir_head)
        for one in (first, second)
        if isinstance(one, ModalRecurrence) and one.windows is None
    ]
    return len(endless) == 1 or len(set(endless)) == 2


@torch.no_grad()
def explained_difference(
    first: Convolution, second: Convolution, x: Tensor, lengths: Tensor | None
) -> float:
    """Largest difference of two layers' outputs that their responses allow on an input:

    |y2[t] - y1[t]| <= |bias2 - bias1| + sum_{j < L} |h2[j] - h1[j]| max_s |u[s]|

    Args:
        first: Causal, in eval mode.
        second: The same.
        x: What both are given.                                      (B, D, L)
        lengths: Valid samples of each row; None: all.                  (B,)

    Returns:
        The largest of all channels, in the unit of the outputs.
    """
    size = max(1, x.shape[-1])
    (taps, bias), (other_taps, other_bias) = (
        impulse_response(layer, size) for layer in (first, second)
    )
    met = mask_invalid(x, lengths).double().abs().amax((0, 2)) if x.numel() else 0.0
    nothing = torch.zeros_like(taps[:, 0])
    constant = (nothing if other_bias is None else other_bias) - (nothing if bias is None else bias)
    return float(((other_taps - taps).abs().sum(-1) * met + constant.abs()).max())
