"""Implicit kernels: a small network maps each position to the taps of all channels."""

import math

import torch
from torch import Tensor, nn

from .._checks import full_precision, widened
from .base import Kernel

__all__ = ["HyenaKernel", "ImplicitKernel"]

WIDTH = 16
#: Where on the span a fresh window has fallen to 1/100, in the channel of shortest memory and in
#: that of longest.
SHORTEST, LONGEST = 0.3, 1.5
#: One over the standard deviation of a fresh network's outputs, measured.
FRESH = 5.0


class ImplicitKernel(Kernel):
    """Taps given by a network of fixed size in the position s = t / (span - 1) in [0, 1]:

    k[:, t] = W_3 sin(f_2 (W_2 sin(f_1 (W_1 p(s) + b_1)) + b_2))
    p(s) = (s, cos 2 pi s, sin 2 pi s)

    with 16 hidden units and one trained frequency f for each of them. The number of parameters
    does not depend on the span nor, unlike in the other forms, on kernel_size.

    Args:
        channels: D.
        kernel_size: l_0, in samples; only sets the span.
        resolution: i; the span is l_0 2^i.
        device: Where the parameters live.
        dtype: Of the parameters.

    Source: the paper's ablation "MLP" (table 11), which gives no architecture; this one follows
    the filters of Hyena (sine activation, two inner layers, linear output without bias).

    Example:
        >>> from mrconv.kernels import ImplicitKernel
        >>> ImplicitKernel(2, kernel_size=4, resolution=2).taps().shape
        torch.Size([2, 16])
    """

    def __init__(
        self,
        channels: int,
        kernel_size: int,
        resolution: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels, kernel_size, resolution)
        self._make_parameters(device, dtype)
        self.reset_parameters()

    def _make_parameters(
        self, device: torch.device | str | None, dtype: torch.dtype | None
    ) -> None:
        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.weight_1, self.bias_1 = parameter(WIDTH, 3), parameter(WIDTH)
        self.weight_2, self.bias_2 = parameter(WIDTH, WIDTH), parameter(WIDTH)
        self.weight_3 = parameter(self.channels, WIDTH)
        self.frequency = parameter(2, WIDTH)

    def reset_parameters(self) -> None:
        """Draws weights from U(-1, 1) / sqrt(inputs); frequencies start at 10 and 1."""
        for weight in (self.weight_1, self.weight_2, self.weight_3):
            bound = weight.shape[1] ** -0.5
            nn.init.uniform_(weight, -bound, bound)
        for bias in (self.bias_1, self.bias_2):
            nn.init.uniform_(bias, -(WIDTH**-0.5), WIDTH**-0.5)
        with torch.no_grad():
            self.frequency[0].fill_(10.0)  # how fast a fresh kernel may wiggle
            self.frequency[1].fill_(1.0)

    def taps(self, rate: int = 1) -> Tensor:
        """The network's output at every position.                     (D, span)."""
        self.check_rate(rate)
        with full_precision(self.frequency):
            return self._network()

    def _network(self) -> Tensor:
        frequency = widened(self.frequency)
        s = torch.linspace(0, 1, self.span, device=frequency.device, dtype=frequency.dtype)
        features = torch.stack([s, torch.cos(2 * math.pi * s), torch.sin(2 * math.pi * s)])
        hidden = widened(self.weight_1) @ features + widened(self.bias_1)[:, None]
        hidden = torch.sin(frequency[0, :, None] * hidden)  # (WIDTH, span)
        hidden = widened(self.weight_2) @ hidden + widened(self.bias_2)[:, None]
        return widened(self.weight_3) @ torch.sin(frequency[1, :, None] * hidden)


class HyenaKernel(ImplicitKernel):
    """The same network under a window that decays, the long filter of Hyena:

    h[d, t] = (2 a[d] / n)^(1/2) exp(-a[d] s) k[d, t],  a = exp(log_decay),  s = t / (span - 1)

    n is the span. The factor gives every window the energy 1, however short it is. Fresh windows
    fall to 1/100 at 1.5 times the span in the first channel and at 0.3 in the last, the others
    evenly between.

    Args:
        channels: D.
        kernel_size: Span at resolution 0; a layer of one kernel passes its whole length.
        resolution: i; the span is kernel_size 2^i.
        device: Where the parameters live.
        dtype: Of the parameters. The decays stay in float32 where it is a half precision.

    Source: Poli et al. 2023, section 3.3, with the decays of the authors' code. Differs:
    16 hidden units in place of 64, trained decays, the factor.

    Example:
        >>> from mrconv.kernels import HyenaKernel
        >>> HyenaKernel(2, kernel_size=100, resolution=0).taps().shape
        torch.Size([2, 100])
    """

    precise = ("log_decay",)

    def _make_parameters(
        self, device: torch.device | str | None, dtype: torch.dtype | None
    ) -> None:
        super()._make_parameters(device, dtype)
        self.log_decay = nn.Parameter(widened(torch.empty_like(self.weight_3[:, 0])))

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws the network anew, taps of energy about 1, and spreads the decays."""
        super().reset_parameters()
        self.weight_3.mul_(FRESH)
        slowest, fastest = (math.log(100) / place for place in (LONGEST, SHORTEST))
        spread = torch.linspace(slowest, fastest, self.channels, device=self.log_decay.device)
        self.log_decay.copy_(spread.log())

    def _network(self) -> Tensor:
        decay = widened(self.log_decay).exp()[:, None]
        s = torch.linspace(0, 1, self.span, device=decay.device, dtype=decay.dtype)
        return (2 * decay / self.span).sqrt() * torch.exp(-decay * s) * super()._network()
