"""ScanConv2d: a long convolution over feature maps, which it reads pixel by pixel as sequences."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._checks import check_choice, check_count, full_precision, widened
from ..convolution import long_convolution
from ..errors import ArgumentError, DtypeError, ShapeError
from .kernel_conv import KernelConv
from .long_conv import LongConv
from .mr_conv import MRConv

__all__ = ["Scan", "ScanConv2d", "at_width"]

Scan = Literal["rows", "columns"]

#: Layers whose taps can be moved to maps of another width.
LAYERS = (MRConv, KernelConv, LongConv)


class ScanConv2d(nn.Module):
    """A one-dimensional convolution over images (B, D, H, W), flattened to (B, D, H W) and back.

    y[b, d, r, c] = conv(x.flatten)[b, d, r W + c],  so lag dr W + dc is the pixel dr rows above and
    dc columns to the left. The end of a row meets the start of the next one.

    Maps of another width W' keep these offsets. A narrower one is the part of a map of width W that
    is 0 to the right of it. For a wider one, a tap at lag dr W + dc moves to lag dr W' + dc, where
    dc is the nearer of the two readings of a lag, -(W // 2) <= dc < W - W // 2.

    Args:
        conv: The layer, (B, D, L) -> (B, D, L): an MRConv, KernelConv or LongConv.
        width: W of the maps that the layer is made for, in pixels.
        scan: "rows", row after row; or "columns", column after column, with H for W.

    Raises:
        ArgumentError: If the width is below 1 or the word unknown.
        DtypeError: If the layer is of another class.

    Cost: that of the layer; on a wider map also the making of its taps.
    Source: Cunningham et al. 2024, section 5.4. Differs: the paper leaves open the order of the
    pixels and what happens at another size.

    Example:
        >>> import torch, mrconv
        >>> conv = mrconv.MRConv(4, length=64, causal=False)
        >>> mrconv.nn.ScanConv2d(conv, width=8)(torch.randn(2, 4, 8, 8)).shape
        torch.Size([2, 4, 8, 8])
    """

    def __init__(
        self, conv: MRConv | KernelConv | LongConv, width: int, *, scan: Scan = "rows"
    ) -> None:
        super().__init__()
        if not isinstance(conv, LAYERS):
            raise DtypeError(
                "ScanConv2d: conv must be an MRConv, KernelConv or LongConv; "
                f"got {type(conv).__name__}. Pass one of these layers."
            )
        check_count("ScanConv2d", "width", width)
        check_choice("ScanConv2d", "scan", scan, get_args(Scan))
        self.conv, self.width, self.scan = conv, width, scan
        self.train(conv.training)

    def forward(self, x: Tensor) -> Tensor:
        """Convolves each channel of a map as one sequence.

        Args:
            x: Maps.                                              (B, D, H, W)

        Returns:
            Output in the input's dtype.                          (B, D, H, W)

        Raises:
            ShapeError: If x has not four axes or another number of channels.
            DtypeError: If x has another dtype than the parameters.
            ArgumentError: If an MRConv in training, whose statistics belong to maps of its own
                width, gets another one.
        """
        channels = self.conv.channels
        if x.ndim != 4 or x.shape[1] != channels:
            raise ShapeError(
                f"ScanConv2d: input must be (batch, {channels}, height, width); "
                f"got {tuple(x.shape)}. Pass one map per channel."
            )
        if self.scan == "columns":
            return self._along_rows(x.transpose(-2, -1)).transpose(-2, -1)
        return self._along_rows(x)

    def _along_rows(self, x: Tensor) -> Tensor:
        width = x.shape[-1]
        if width == self.width:
            # An FFT of rows whose samples lie apart, as ConvNeXt's blocks hand them on, takes twice
            # as long: (96, 3136) padded to 7,680 on one thread 6.2 ms, contiguous 3.4 ms.
            return self.conv(x.flatten(2).contiguous()).unflatten(2, x.shape[2:])
        if self.conv.training and isinstance(self.conv, MRConv):
            raise ArgumentError(
                f"ScanConv2d: maps must be {self.width} pixels wide in training; got {width}. "
                "Convert the model for this image size, or call .eval()."
            )
        if width < self.width:
            filled = functional.pad(x, (0, self.width - width))
            return self._along_rows(filled)[..., :width]
        return self._wider(x)

    def _wider(self, x: Tensor) -> Tensor:
        """The layer with its taps moved to longer rows."""
        causal = self.conv.causal
        taps, bias = _taps_and_bias(self.conv)
        with full_precision(x):
            moved = at_width(taps, self.width, x.shape[-1], causal=causal)
            y = long_convolution(widened(x).flatten(2), moved, causal=causal)
            y = y if bias is None else y + bias[:, None]
        return y.to(x.dtype).unflatten(2, x.shape[2:])

    def extra_repr(self) -> str:
        """Settings for ``repr``."""
        return f"width={self.width}, scan={self.scan!r}"


def at_width(taps: Tensor, width: int, wider: int, *, causal: bool) -> Tensor:
    """Taps over rows of one width, moved to rows of a larger one: dr W + dc to dr W' + dc.

    Args:
        taps: Causal (D, K), column j at lag j; two-sided (D, 2 K), column j at lag j - K.
        width: W, in pixels.
        wider: W', in pixels; at least ``width``.
        causal: Which of the two.

    Returns:
        The same numbers with zeros between them: causal (D, K'), two-sided (D, 2 K').

    Example:
        >>> import torch
        >>> at_width(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 3, 5, causal=True).tolist()
        [[1.0, 2.0, 0.0, 0.0, 3.0, 4.0]]
    """
    columns = taps.shape[-1]
    lags = torch.arange(columns, device=taps.device) - (0 if causal else columns // 2)
    rows = (lags + width // 2) // width
    moved = lags + rows * (wider - width)
    side = max(int(moved[-1]) + 1, -int(moved[0]))
    start, size = (0, side) if causal else (side, 2 * side)
    return taps.new_zeros(taps.shape[0], size).index_copy(1, moved + start, taps)


def _taps_and_bias(conv: MRConv | KernelConv | LongConv) -> tuple[Tensor, Tensor | None]:
    """What the layer convolves with, in at least float32."""
    if isinstance(conv, LongConv):
        return widened(conv.taps), None if conv.bias is None else widened(conv.bias)
    return conv.merged_taps()
