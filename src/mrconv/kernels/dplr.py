"""The kernel of S4: a state space model whose matrix is diagonal plus low rank."""

import math

import torch
from torch import Tensor, nn

from .._checks import check_count, full_precision, widened
from ..errors import ArgumentError
from .base import Kernel
from .hippo import legs

__all__ = ["S4Kernel"]


class S4Kernel(Kernel):
    """Impulse response of x' = A x + b u, y = c x under the bilinear transform, A = L - p p*:

    k[t] = c M^t g,  M = (1 - dt A / 2)^(-1) (1 + dt A / 2),  g = (1 - dt A / 2)^(-1) dt b

    L is diagonal and N / 2 conjugate pairs make the order N. In place of c the parameter is
    e = c (1 - M^n), n the span, which makes the taps' spectrum a rational function at the n-th
    roots of unity w, and the matrix inverse one of numbers (Woodbury's identity):

    sum_t k[t] w^t = dt (e R b - s (e R p) (p* R b) / (1 + s p* R p))
    R = (1 - w - s L)^(-1),  s = dt (1 + w) / 2

    Args:
        channels: D.
        kernel_size: Span at resolution 0; a layer of one kernel passes its whole length.
        resolution: i; the span is kernel_size 2^i. The number of parameters does not depend on it.
        order: N, real numbers of state a channel; even.
        systems: S, how many different (A, b) there are; channel d has that of number d mod S.
        device: Where the parameters live.
        dtype: Of the output vector e. The other parameters stay in float32 where it is a half
            precision; the taps are computed in float64.

    Raises:
        ArgumentError: If the order is odd or below 2, or systems below 1 or above the channels.

    Cost: O(D N n) operations and memory; a reset D N^3 log n. D (N + 1) + 3 S N parameters.
    Source: Gu et al. 2022, "Efficiently modeling long sequences with structured state spaces",
    section 3 and appendix C; p = q after Goel et al. 2022; real parts -exp(log_decay). One A and b
    for many channels as in the authors' later code, where the default is 1 as well. Differs: no
    pole at w = -1, because the equations are multiplied by 1 + w.

    Example:
        >>> from mrconv.kernels import S4Kernel
        >>> S4Kernel(2, kernel_size=100, resolution=0, order=8).taps().shape
        torch.Size([2, 100])
    """

    precise = ("log_timestep", "log_decay", "frequency", "low_rank", "source")

    def __init__(
        self,
        channels: int,
        kernel_size: int,
        resolution: int,
        *,
        order: int = 64,
        systems: int = 1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels, kernel_size, resolution)
        check_count("S4Kernel", "order", order, least=2)
        check_count("S4Kernel", "systems", systems)
        if order % 2:
            raise ArgumentError(
                "S4Kernel: order must be even, two numbers of state a conjugate pair; "
                f"got order={order}. Use order={order + 1}."
            )
        if systems > channels:
            raise ArgumentError(
                f"S4Kernel: systems must be at most the {channels} channels; got "
                f"systems={systems}. Use systems={channels} for one a channel."
            )
        pairs = torch.empty(channels, order // 2, 2, device=device, dtype=dtype)
        shared = widened(pairs.new_empty(systems, order // 2, 2))
        self.log_timestep = nn.Parameter(widened(pairs[:, 0, 0].clone()))
        self.log_decay, self.frequency = (nn.Parameter(shared[..., 0].clone()) for _ in range(2))
        self.low_rank, self.source = (nn.Parameter(shared.clone()) for _ in range(2))
        self.output = nn.Parameter(pairs)
        self.reset_parameters()

    @property
    def order(self) -> int:
        """N, real numbers of state a channel."""
        return 2 * self.frequency.shape[1]

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Sets A and b to HiPPO-LegS; draws dt log-uniformly in [0.001, 0.1] and c as normal."""
        self.log_timestep.uniform_(math.log(1e-3), math.log(1e-1))
        self.output.normal_(std=0.5**0.5)  # c; a complex normal number has variance 1
        if self.output.is_meta:
            return
        start = legs(self.order)
        self.log_decay.fill_(math.log(0.5))
        self.frequency.copy_(start.eigenvalues.imag.expand_as(self.frequency))
        source = start.basis.mH @ start.source.to(start.basis.dtype)
        for parameter, value in ((self.low_rank, start.low_rank), (self.source, source)):
            parameter.copy_(torch.view_as_real(value).expand_as(parameter))
        output = _complex(self.output).cpu()
        row = 2 * (output @ start.basis.mH).real  # c in the basis in which A is real: (D, N)
        row = row - _advanced(row, self._transition(start.matrix), self.span)
        self.output.copy_(torch.view_as_real(row.to(output.dtype) @ start.basis))

    def _transition(self, matrix: Tensor) -> Tensor:
        """M of every channel's time step.                                    (D, N, N)."""
        half = self.log_timestep.double().cpu().exp()[:, None, None] / 2 * matrix
        one = torch.eye(len(matrix), dtype=matrix.dtype)
        return torch.linalg.solve(one - half, one + half)

    def taps(self, rate: int = 1) -> Tensor:
        """The inverse transform of the rational function.                (D, span)."""
        self.check_rate(rate)
        with full_precision(self.log_timestep):
            taps = torch.fft.irfft(self._spectrum(), n=self.span)
        return taps.to(widened(self.output).dtype)

    def _spectrum(self) -> Tensor:
        """sum_t k[t] w^t at w = exp(-2 pi i f / n), f = 0..n / 2.         (D, n // 2 + 1)."""
        angle = torch.arange(self.span // 2 + 1, device=self.output.device, dtype=torch.float64)
        angle = 2 * math.pi / self.span * angle
        minus = torch.complex(2 * (angle / 2).sin().square(), angle.sin())  # 1 - w
        plus = torch.complex(2 * (angle / 2).cos().square(), -angle.sin())  # 1 + w
        timestep = self.log_timestep.double().exp()[:, None]
        s = timestep / 2 * plus  # (D, F)
        e_b, e_p, p_b, p_p = self._resolvents(minus, s)
        return timestep * (e_b - s * e_p * p_b / (1 + s * p_p))

    def _resolvents(self, minus: Tensor, s: Tensor) -> list[Tensor]:
        """E R b, e R p, p* R b and p* R p, each (D, F).

        A pair's terms v / (m - s l) + v' / (m - s l') are 2 (m Re v - s Re(v l')) over
        m^2 - 2 s m Re l + s^2 |l|^2, with m = 1 - w and the prime for the conjugate.
        """
        system = torch.arange(self.channels, device=s.device) % len(self.frequency)
        decay, frequency = self.log_decay.double().exp(), self.frequency.double()
        poles = torch.complex(-decay, frequency)[system]  # (D, N / 2)
        low_rank, source = _complex(self.low_rank)[system], _complex(self.source)[system]
        output = _complex(self.output)
        s, poles = s[:, None], poles[..., None]  # (D, 1, F) and (D, N / 2, 1)
        below = minus.square() - 2 * s * minus * poles.real + (s * poles.abs()).square()
        products = [output * source, output * low_rank, low_rank.conj() * source]
        products.append(low_rank.abs().square().to(output.dtype))
        over = torch.stack(products, 1)  # (D, 4, N / 2)
        rows = torch.cat([over.real, (over * poles.mH).real], 1)
        # real rows times complex columns, as one product of real matrices
        sums = rows @ torch.view_as_real(below.reciprocal()).flatten(2)
        first, second = torch.view_as_complex(sums.unflatten(2, (-1, 2))).chunk(2, 1)
        return list((2 * (minus * first - s * second)).unbind(1))

    def extra_repr(self) -> str:
        """Sizes for ``repr``."""
        return f"{super().extra_repr()}, order={self.order}, systems={len(self.frequency)}"


def _complex(pairs: Tensor) -> Tensor:
    """Complex128 from real and imaginary parts (..., 2)."""
    return torch.view_as_complex(pairs.double())


def _advanced(rows: Tensor, matrix: Tensor, power: int) -> Tensor:
    """rows[d] matrix[d]^power by squaring.                                     (D, N)."""
    while power:
        if power & 1:
            rows = (rows[:, None] @ matrix)[:, 0]
        power >>= 1
        matrix = matrix @ matrix if power else matrix
    return rows
