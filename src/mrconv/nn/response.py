"""The impulse response of a long convolution in any form, as numbers in float64."""

import copy

import torch
from torch import Tensor, nn

from .kernel_conv import KernelConv
from .long_conv import LongConv
from .mr_conv import MRConv
from .recurrence import ModalRecurrence

__all__ = ["Convolution", "impulse_response"]

Convolution = MRConv | KernelConv | LongConv | ModalRecurrence


@torch.no_grad()
def impulse_response(layer: Convolution, length: int | None = None) -> tuple[Tensor, Tensor | None]:
    """Taps and constant of a layer, computed in float64 from what it stores.

    Args:
        layer: In eval mode.
        length: Number of taps, cut or filled up with zeros; None: all that the layer has.

    Returns:
        Taps (D, length) and bias (D,), or None for a layer without; two-sided layers have their
        columns in the order of ``LongConv``.

    Example:
        >>> import mrconv
        >>> from mrconv.nn.response import impulse_response
        >>> taps, bias = impulse_response(mrconv.MRConv(4, 32).eval(), 100)
        >>> taps.shape, bias.shape
        (torch.Size([4, 100]), torch.Size([4]))
    """
    exact = copy.deepcopy(layer).double()
    taps: Tensor
    bias: Tensor | None
    if isinstance(exact, ModalRecurrence):
        taps, bias = exact.taps(length or exact.num_taps or exact.fir_head), exact.bias
    elif isinstance(exact, LongConv):
        taps, bias = exact.taps, exact.bias
    else:
        taps, bias = exact.merged_taps()
    if length is not None:
        taps = nn.functional.pad(taps[:, :length], (0, max(0, length - taps.shape[-1])))
    return taps.detach(), None if bias is None else bias.detach()
