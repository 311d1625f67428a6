"""The layer of a plain dilated net: a few taps, evenly spaced, and nothing else."""

from functools import partial

import torch

from .._checks import check_count
from ..errors import ArgumentError
from ..kernels import DilatedKernel
from ..nn.kernel_conv import KernelConv

__all__ = ["Dilated"]


class Dilated(KernelConv):
    """A depthwise convolution with k taps, d samples apart: no resolutions, norm or gains.

    y[t] = sum_{q<k} weight[q] u[t - q d]

    A net takes one setting a layer. In the example dilations double from layer to layer; deeper
    nets start anew with 1 where they reach over the length.

    Args:
        channels: D.
        length: Samples the layer is meant for; neither a limit on inputs nor a number it uses.
        kernel_size: k, taps.
        dilation: d, a power of two.
        causal: Whether outputs depend on the past and present only.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a size is below 1 or the dilation no power of two.

    Cost: k D parameters a side. No count is published for it: the nets below have full matrices
    where this layer has one number a channel.
    Source: WaveNet (van den Oord et al. 2016) and TCN (Bai et al. 2018). Differs: depthwise, for
    the block mixes the channels; start as in ``kernels.DilatedKernel``.

    Example:
        >>> import mrconv
        >>> net = [{"name": "dilated", "dilation": 2 ** (i % 8)} for i in range(8)]
        >>> backbone = mrconv.SequenceBackbone(1, length=784, depth=8, mixer=net)
        >>> sum(block.mixer.num_taps for block in backbone.blocks)
        1020
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        kernel_size: int = 4,
        dilation: int = 1,
        causal: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        for name, value in (
            ("length", length),
            ("kernel_size", kernel_size),
            ("dilation", dilation),
        ):
            check_count("Dilated", name, value)
        if dilation & (dilation - 1):
            raise ArgumentError(
                f"Dilated: dilation must be a power of two; got dilation={dilation}. "
                f"Use dilation={1 << (dilation.bit_length() - 1)}."
            )
        super().__init__(
            channels,
            kernel_size * dilation,
            kernel=partial(_comb, dilation),
            causal=causal,
            skip=False,
            device=device,
            dtype=dtype,
        )
        self.dilation = dilation


def _comb(
    dilation: int,
    channels: int,
    length: int,
    resolution: int,
    *,
    device: torch.device | str | None,
    dtype: torch.dtype | None,
) -> DilatedKernel:
    """A kernel of that span, made with it as its size, in the terms of a resolution."""
    resolution += dilation.bit_length() - 1
    return DilatedKernel(channels, length // dilation, resolution, device=device, dtype=dtype)
