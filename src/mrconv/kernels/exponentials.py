"""Sums of damped exponentials: the response of a diagonal recurrence, and kernels that are one."""

import math
from abc import abstractmethod

import torch
from torch import Tensor

from .._checks import full_precision
from .base import Kernel

__all__ = ["ExponentialKernel", "complex_product", "modal_taps", "zero_order_hold"]


def complex_product(first: Tensor, second: Tensor) -> Tensor:
    """Product of complex numbers that are stored as two reals.

    Args:
        first: Real and imaginary parts.                            (..., 2)
        second: Of a shape that broadcasts with it.                 (..., 2)

    Returns:
        Real and imaginary parts of the products.                   (..., 2)
    """
    (a, b), (c, d) = first.unbind(-1), second.unbind(-1)
    return torch.stack([a * c - b * d, a * d + b * c], -1)


def modal_taps(
    decay: Tensor, angle: Tensor, residue: Tensor, num_taps: int, start: int = 0
) -> Tensor:
    """Values of a sum of damped exponentials at evenly spaced lags.

    h[d, j] = Re sum_m residue[d, m] exp((-decay[d, m] + i angle[d, m]) (start + j))

    Args:
        decay: Negative logarithm of the poles' magnitudes, a sample.   (D, M)
        angle: Of the poles, in rad a sample.                           (D, M)
        residue: Real and imaginary parts.                           (D, M, 2)
        num_taps: K, at least 1.
        start: Lag of the first value, in samples.

    Returns:
        Real values in the dtype of the arguments.                      (D, K)

    Cost: O(D M K) products in one batched matrix product and O(D M sqrt(K)) exponentials and
    memory: with j = a C + b and C about sqrt(K), pole^j = (pole^C)^a pole^b.

    Example:
        >>> import torch
        >>> from mrconv.kernels import modal_taps
        >>> halving, one = torch.tensor([[2.0]]).log(), torch.tensor([[[1.0, 0.0]]])
        >>> modal_taps(halving, torch.zeros(1, 1), one, 4)
        tensor([[1.0000, 0.5000, 0.2500, 0.1250]])
    """
    chunk = math.isqrt(num_taps - 1) + 1  # C

    def powers(exponents: Tensor) -> Tensor:
        magnitude = torch.exp(-decay[..., None] * exponents)
        turn = angle[..., None] * exponents
        return torch.stack([magnitude * turn.cos(), magnitude * turn.sin()], -1)

    near = torch.arange(chunk, device=decay.device)
    far = start + torch.arange(0, num_taps, chunk, device=decay.device)
    left = complex_product(residue[..., None, :], powers(far))  # (D, M, K / C, 2)
    right = powers(near)  # (D, M, C, 2)
    # the real part of a product of complex matrices is one product of real ones, twice as wide
    left = torch.cat([left[..., 0], -left[..., 1]], 1).transpose(1, 2)
    right = torch.cat([right[..., 0], right[..., 1]], 1)
    return (left @ right).flatten(1)[:, :num_taps]


def zero_order_hold(rate: Tensor, frequency: Tensor, timestep: Tensor) -> tuple[Tensor, ...]:
    """X' = a x + u, a = -rate + i frequency, with the input held for a time step.

    x[t] = exp(dt a) x[t - 1] + g u[t],  g = (exp(dt a) - 1) / a

    Args:
        rate: Above 0, a unit of time.                                    (...)
        frequency: In rad a unit of time.                                 (...)
        timestep: dt, units of time a sample.

    Returns:
        Decay and angle of the pole a sample, (...) each, and g (..., 2).
    """
    decay, angle = timestep * rate, timestep * frequency
    # exp(dt a) - 1 with no difference of nearly equal numbers: cos = 1 - 2 sin^2(half)
    real = torch.expm1(-decay) * angle.cos() - 2 * (angle / 2).sin().square()
    held = torch.stack([real, torch.exp(-decay) * angle.sin()], -1)
    inverse = torch.stack([-rate, -frequency], -1) / (rate**2 + frequency**2)[..., None]
    return decay, angle, complex_product(held, inverse)


class ExponentialKernel(Kernel):
    """A kernel that is a sum of damped exponentials; subclasses define ``modes``."""

    @abstractmethod
    def modes(self) -> tuple[Tensor, Tensor, Tensor]:
        """What the taps are made of, as ``modal_taps`` takes it, in at least float32.

        Returns:
            Decay (D, M) and angle (D, M) a sample, and residue (D, M, 2).
        """

    def taps(self, rate: int = 1) -> Tensor:
        """The sum at lags 0..span-1.                                  (D, span)."""
        return self._values(rate, start=0)

    def future_taps(self, rate: int = 1) -> Tensor:
        """The sum at 1..span: column j acts at lag -(j + 1).          (D, span)."""
        return self._values(rate, start=1)

    def _values(self, rate: int, start: int) -> Tensor:
        self.check_rate(rate)
        decay, angle, residue = self.modes()
        with full_precision(decay):
            return modal_taps(decay, angle, residue, self.span, start)
