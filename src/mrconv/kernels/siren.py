"""The kernel of CKConv: a network of sines in the position, with one fixed frequency."""

import torch
from torch import Tensor, nn

from .._checks import check_count, full_precision, widened
from ..errors import ArgumentError
from .base import Kernel

__all__ = ["SirenKernel"]


class SirenKernel(Kernel):
    """Taps given by a network of sines in the position s = 1 - 2 t / (n - 1), n the span:

    k[:, t] = n^(-1/2) (W_3 sin(omega (W_2 sin(omega (W_1 s + b_1)) + b_2)) + b_3)

    Row r of W_2 and of W_3 is size[r] direction[r] / |direction[r]|. Positions run from 1 at lag 0
    to -1 at the last lag.

    Args:
        channels: D.
        kernel_size: Span at resolution 0; a layer of one kernel passes its whole length.
        resolution: i; the span is kernel_size 2^i. Parameters do not depend on it.
        omega: How fast a fresh kernel may wiggle; above 0.
        width: Hidden units.
        device: Where the parameters live.
        dtype: Of the parameters. The first two layers stay in float32 where it is a half precision,
            because omega multiplies their rounding.

    Raises:
        ArgumentError: If the width is below 1 or omega not above 0.

    Source: Romero et al. 2021, "CKConv: continuous kernel convolution for sequential data", and
    the sine networks of Sitzmann et al. 2020 with their start; 32 units are theirs, omega is tuned
    for each task there (about 30 for sequential MNIST). Differs: depthwise, where theirs has a
    kernel for each pair of channels; the factor, for the norm that follows their convolution; W_1
    has one column, so that it needs no direction.

    Example:
        >>> from mrconv.kernels import SirenKernel
        >>> SirenKernel(2, kernel_size=100, resolution=0).taps().shape
        torch.Size([2, 100])
    """

    precise = ("weight_1", "bias_1", "direction_2", "size_2", "bias_2")

    def __init__(
        self,
        channels: int,
        kernel_size: int,
        resolution: int,
        *,
        omega: float = 30.0,
        width: int = 32,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels, kernel_size, resolution)
        check_count("SirenKernel", "width", width)
        if not omega > 0:
            raise ArgumentError(f"SirenKernel: omega must be above 0; got {omega}. Use 30.")
        self.omega, self.width = omega, width
        last = torch.empty(channels, width, device=device, dtype=dtype)
        inner = widened(last.new_empty(width, width))
        self.weight_1 = nn.Parameter(inner[:, :1].clone())
        self.bias_1, self.bias_2 = (nn.Parameter(inner[0].clone()) for _ in range(2))
        self.direction_2, self.size_2 = nn.Parameter(inner), nn.Parameter(inner[0].clone())
        self.direction_3 = nn.Parameter(last)
        self.size_3, self.bias_3 = (nn.Parameter(last[:, 0].clone()) for _ in range(2))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws W_1 and biases from U(-1, 1), W_2 and W_3 from U(-1, 1) sqrt(6 / width) / omega."""
        for parameter in (self.weight_1, self.bias_1, self.bias_2, self.bias_3):
            parameter.uniform_(-1, 1)
        bound = (6 / self.width) ** 0.5 / self.omega
        for direction, size in (
            (self.direction_2, self.size_2),
            (self.direction_3, self.size_3),
        ):
            direction.uniform_(-bound, bound)
            size.copy_(direction.norm(dim=1))

    def taps(self, rate: int = 1) -> Tensor:
        """The network's output at every position.                        (D, span)."""
        self.check_rate(rate)
        with full_precision(self.weight_1):
            first = widened(self.weight_1)
            s = torch.linspace(1, -1, self.span, device=first.device, dtype=first.dtype)
            hidden = torch.sin(self.omega * (first * s + self.bias_1[:, None]))  # (width, span)
            hidden = _scaled(self.direction_2, self.size_2) @ hidden + self.bias_2[:, None]
            outer = _scaled(self.direction_3, self.size_3) @ torch.sin(self.omega * hidden)
            return (outer + widened(self.bias_3)[:, None]) * self.span**-0.5

    def extra_repr(self) -> str:
        """Sizes for ``repr``."""
        return f"{super().extra_repr()}, omega={self.omega}, width={self.width}"


def _scaled(direction: Tensor, size: Tensor) -> Tensor:
    """Rows of the given sizes in the given directions."""
    direction = widened(direction)
    return direction * (widened(size) / direction.norm(dim=1))[:, None]
