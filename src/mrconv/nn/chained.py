"""Two long convolutions, one behind the other, as one."""

import torch

from .._checks import widened
from ..convolution import long_convolution
from ..errors import MergeError, ShapeError
from .long_conv import LongConv
from .reparameterize import compared, refuse_training

__all__ = ["chained"]


@torch.no_grad()
def chained(first: LongConv, second: LongConv) -> LongConv:
    """The causal layer that equals ``second(first(x))``; see ``LongConv.then``.

    taps[j] = sum_i second[i] first[j - i],  K = K_first + K_second - 1,  bias of the second

    Args:
        first: In eval mode, causal, its bias 0 or none.
        second: In eval mode, causal, of the same channels.

    Returns:
        A new layer in eval mode, which has compared itself with the two.

    Raises:
        MergeError: In training mode, for two-sided layers, for a first bias other than 0, or if the
            comparison fails.
        ShapeError: For other channels.
    """
    for layer in (first, second):
        refuse_training("then", layer)
        if not layer.causal:
            raise MergeError(
                "then: both layers must be causal, because what a two-sided one gives beyond the "
                "ends of its input is lost between them; got causal=False. Keep the two layers."
            )
    if first.channels != second.channels:
        raise ShapeError(
            f"then: both layers must have the same channels; got {first.channels} and "
            f"{second.channels}. Pass layers of equal channels."
        )
    _refuse_bias(first)
    taps = _product(first, second)
    new = LongConv(
        first.channels,
        taps.shape[1],
        bias=second.bias is not None,
        device=second.taps.device,
        dtype=second.taps.dtype,
    ).eval()
    new.taps.copy_(taps)
    if new.bias is not None and second.bias is not None:
        new.bias.copy_(second.bias)
    new.checked = compared(lambda x: second(first(x)), new)
    return new


def _product(first: LongConv, second: LongConv) -> torch.Tensor:
    """Taps of one convolved with those of the other, in float64.   (D, K_first + K_second - 1)."""
    longer = torch.nn.functional.pad(widened(first.taps), (0, second.num_taps - 1)).double()
    return long_convolution(longer[None], second.taps.double())[0]


def _refuse_bias(first: LongConv) -> None:
    if first.bias is not None and bool((first.bias != 0).any()):
        raise MergeError(
            "then: the first layer's bias must be 0, because the second turns a constant that "
            "begins with the sequence into one that grows over its taps; got a largest bias of "
            f"{float(first.bias.abs().max()):.3g}. Keep the two layers, or train the first with "
            "bias=False."
        )
