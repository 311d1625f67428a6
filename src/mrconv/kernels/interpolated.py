"""Interpolated kernels: SGConv's pieces of growing length, all of equally many values."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._checks import check_count, widened
from ..errors import ArgumentError
from .base import Kernel

__all__ = ["InterpolatedKernel"]


class InterpolatedKernel(Kernel):
    """SGConv's kernel: pieces of p, p, 2 p, 4 p, ... samples, each drawn through p values.

    k[d] = (w_0 | decay w_1 | decay^2 up(w_2, 2 p) | decay^3 up(w_3, 4 p) | ...) / norm[d]

    up(w, n) interpolates p values linearly to n, value q standing at (q + 1/2) n / p - 1/2 and the
    ends held. norm is the root of the taps' energy when the values were drawn, kept as a buffer.
    There are as few pieces as cover the span; the last is cut there.

    Args:
        channels: D.
        kernel_size: Span at resolution 0; a layer of one kernel passes its whole length.
        resolution: i; the span is kernel_size 2^i.
        points: p, values a piece; no more than the span are used.
        decay: Factor from piece to piece, above 0 and at most 1.
        device: Where parameters and buffers live.
        dtype: Of the parameters. The norm stays in float32 where it is a half precision.

    Raises:
        ArgumentError: If points is below 1 or the decay out of range.

    Source: Li et al. 2022, "What makes convolutional models great on long sequence modeling?",
    section 3, with their code's defaults (p = 64, decay 1/2, normal values). Differs: the norm is
    taken when the values are drawn, and of the taps within the span; their code takes it at the
    first forward pass and of the uncut pieces. For a span of p 2^j both are equal.

    Example:
        >>> from mrconv.kernels import InterpolatedKernel
        >>> kernel = InterpolatedKernel(2, kernel_size=100, resolution=0, points=16)
        >>> kernel.weight.shape, kernel.taps().shape
        (torch.Size([2, 4, 16]), torch.Size([2, 100]))
    """

    precise = ("norm",)
    norm: Tensor

    def __init__(
        self,
        channels: int,
        kernel_size: int,
        resolution: int,
        *,
        points: int = 64,
        decay: float = 0.5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels, kernel_size, resolution)
        check_count("InterpolatedKernel", "points", points)
        if not 0 < decay <= 1:
            raise ArgumentError(
                f"InterpolatedKernel: decay must be above 0 and at most 1; got {decay}. Use 0.5."
            )
        self.points, self.decay = min(points, self.span), decay
        shape = (channels, self.pieces, self.points)
        self.weight = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.register_buffer("norm", widened(torch.empty_like(self.weight[:, 0, 0].detach())))
        self.reset_parameters()

    @property
    def pieces(self) -> int:
        """How many pieces cover the span: 1 + ceil(log2(span / points))."""
        return 1 + (-(-self.span // self.points) - 1).bit_length()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws the values from N(0, 1) and takes the norm anew: white input keeps its variance."""
        self.weight.normal_()
        self.norm.copy_(self._pieces().norm(dim=-1))

    def taps(self, rate: int = 1) -> Tensor:
        """The pieces end to end, over the norm.                       (D, span)."""
        self.check_rate(rate)
        taps = self._pieces()
        return taps / self.norm.to(taps.dtype)[:, None]

    def _pieces(self) -> Tensor:
        pieces = []
        for i, values in enumerate(widened(self.weight).unbind(1)):
            size = self.points << max(i - 1, 0)
            piece = functional.interpolate(values[None], size, mode="linear")[0]
            pieces.append(self.decay**i * piece)
        return torch.cat(pieces, -1)[:, : self.span]

    def extra_repr(self) -> str:
        """Sizes for ``repr``."""
        return f"{super().extra_repr()}, points={self.points}, decay={self.decay}"
