"""Modal kernels: damped exponentials at one resolution, and S4D, a diagonal state space model."""

import math

import torch
from torch import Tensor, nn

from .._checks import check_count, widened
from ..errors import ArgumentError
from .exponentials import ExponentialKernel, complex_product, zero_order_hold

__all__ = ["ModalKernel", "S4DKernel"]


class ModalKernel(ExponentialKernel):
    """M = max(1, l_0 // 4) damped exponentials whose decay and angle scale with the span n = l_i:

    k[d, t] = n^(-1/2) Re sum_m r[d, m] exp((-exp(log_decay[d, m]) + i angle[d, m]) t / n)

    Equal parameters draw the same shape at every resolution, and the factor n^(-1/2) gives it the
    same energy. A mode has four numbers: log_decay, angle and two of its residue r. The response
    is cut at the span, where a fresh mode has fallen to between exp(-1) and exp(-8).

    Args:
        channels: D.
        kernel_size: l_0; sets the number of modes.
        resolution: i; the span is l_0 2^i.
        device: Where the parameters live.
        dtype: Of the residues. Decays and angles stay in float32 where it is a half precision.

    Source: ours. Angles start uniformly in [0, pi l_0), the band of the Fourier kernel, decays
    log-uniformly in [1, 8], residues as normal numbers that give every mode the energy 1 / M.

    Example:
        >>> from mrconv.kernels import ModalKernel
        >>> kernel = ModalKernel(2, kernel_size=8, resolution=3)
        >>> kernel.residue.shape, kernel.taps().shape
        (torch.Size([2, 2, 2]), torch.Size([2, 64]))
    """

    precise = ("log_decay", "angle")

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
        pairs = torch.empty(channels, max(1, kernel_size // 4), 2, device=device, dtype=dtype)
        self.log_decay = nn.Parameter(widened(torch.empty_like(pairs[..., 0])))
        self.angle = nn.Parameter(widened(torch.empty_like(pairs[..., 0])))
        self.residue = nn.Parameter(pairs)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws decays, angles and residues anew."""
        self.log_decay.uniform_(0, math.log(8))
        self.angle.uniform_(0, math.pi * self.kernel_size)
        # sum_t |exp(-decay t / n)|^2 / n is about 1 / (2 decay)
        energy = 2 * self.log_decay.exp() / self.angle.shape[1]
        self.residue.normal_().mul_(energy.sqrt()[..., None])

    def modes(self) -> tuple[Tensor, Tensor, Tensor]:
        """The parameters, a sample; see ``ExponentialKernel.modes``."""
        decay = widened(self.log_decay).exp() / self.span
        angle = widened(self.angle) / self.span
        return decay, angle, widened(self.residue) * self.span**-0.5


class S4DKernel(ExponentialKernel):
    """The kernel of S4D-Lin, a diagonal state space model of N / 2 conjugate pairs:

    k[d, t] = 2 Re sum_n C[d, n] (exp(dt A[d, n]) - 1) / A[d, n] exp(dt A[d, n] t)
    A = -exp(log_decay) + i frequency,  dt = exp(log_timestep)

    which is x' = A x + u, y = 2 Re C x under a zero-order hold of dt[d] units of time a sample.
    A starts at -1/2 + i pi n, dt log-uniformly in [0.001, 0.1], C as complex normal numbers.

    Args:
        channels: D.
        kernel_size: Span at resolution 0; a layer of one kernel passes its whole length.
        resolution: i; the span is kernel_size 2^i. Parameters do not depend on it.
        order: N, real numbers of state a channel; even.
        device: Where the parameters live.
        dtype: Of C. The other parameters stay in float32 where it is a half precision.

    Raises:
        ArgumentError: If the order is odd or below 2.

    Source: Gu et al. 2022, "On the parameterization and initialization of diagonal state space
    models", S4D-Lin with its default sizes; B is 1 and absorbed in C, as there. Differs: C counts
    as a kernel parameter too (own learning rate, no weight decay); the authors' code leaves it
    with the rest of the model.

    Example:
        >>> from mrconv.kernels import S4DKernel
        >>> S4DKernel(2, kernel_size=100, resolution=0).taps().shape
        torch.Size([2, 100])
    """

    precise = ("log_timestep", "log_decay", "frequency")

    def __init__(
        self,
        channels: int,
        kernel_size: int,
        resolution: int,
        *,
        order: int = 64,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels, kernel_size, resolution)
        check_count("S4DKernel", "order", order, least=2)
        if order % 2:
            raise ArgumentError(
                "S4DKernel: order must be even, two numbers of state a conjugate pair; "
                f"got order={order}. Use order={order + 1}."
            )
        pairs = torch.empty(channels, order // 2, 2, device=device, dtype=dtype)
        self.log_timestep = nn.Parameter(widened(torch.empty_like(pairs[:, 0, 0])))
        self.log_decay = nn.Parameter(widened(torch.empty_like(pairs[..., 0])))
        self.frequency = nn.Parameter(widened(torch.empty_like(pairs[..., 0])))
        self.coefficients = nn.Parameter(pairs)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Sets A to -1/2 + i pi n and draws dt and C anew."""
        self.log_timestep.uniform_(math.log(1e-3), math.log(1e-1))
        self.log_decay.fill_(math.log(0.5))
        n = torch.arange(self.frequency.shape[1], device=self.frequency.device)
        self.frequency.copy_((math.pi * n).expand_as(self.frequency))
        self.coefficients.normal_(std=0.5**0.5)  # a complex normal number has variance 1

    def modes(self) -> tuple[Tensor, Tensor, Tensor]:
        """Poles exp(dt A), residues 2 C (exp(dt A) - 1) / A; see ``ExponentialKernel.modes``."""
        timestep = widened(self.log_timestep).exp()[:, None]
        rate, frequency = widened(self.log_decay).exp(), widened(self.frequency)
        decay, angle, held = zero_order_hold(rate, frequency, timestep)
        residue = complex_product(widened(self.coefficients), held)
        return decay, angle, 2 * residue

    def extra_repr(self) -> str:
        """Sizes for ``repr``."""
        return f"{super().extra_repr()}, order={2 * self.frequency.shape[1]}"
