"""Mixtures: kernels of equal length added with one learned factor a channel each."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .._checks import widened
from ..errors import ArgumentError
from .base import Kernel

__all__ = ["MixtureKernel"]


class MixtureKernel(Kernel):
    """Sum of kernels of one span, k[d] = sum_j factor[j, d] k_j[d], added before any convolution.

    Args:
        parts: Two or more kernels of the same channels, kernel_size and resolution.
        device: Where the factors live.
        dtype: Of the factors.

    Raises:
        ArgumentError: If there are fewer than two parts, or parts of different sizes.

    Source: the paper's equation (9), causal branch addition with linear rescaling. The factors'
    shape and start (one a channel, 1) are ours.

    Example:
        >>> from mrconv.kernels import FourierKernel, MixtureKernel, SparseKernel
        >>> MixtureKernel([FourierKernel(2, 4, 1), SparseKernel(2, 4, 1)]).taps().shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        parts: Sequence[Kernel],
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        sizes = {(part.channels, part.kernel_size, part.resolution) for part in parts}
        if len(parts) < 2 or len(sizes) != 1:
            raise ArgumentError(
                "MixtureKernel: parts must be two or more kernels of equal channels, kernel_size "
                f"and resolution; got {len(parts)} parts of {len(sizes)} sizes. "
                "Make every part with the same three numbers."
            )
        super().__init__(*sizes.pop())
        self.parts = nn.ModuleList(parts)
        self.band_limited = all(part.band_limited for part in parts)
        shape = (len(parts), self.channels)
        self.factor = nn.Parameter(torch.ones(shape, device=device, dtype=dtype))

    def _parts(self) -> list[Kernel]:
        return list(self.parts)  # type: ignore[arg-type]

    def reset_parameters(self) -> None:
        """Draws every part anew and sets the factors to 1."""
        for part in self._parts():
            part.reset_parameters()
        nn.init.ones_(self.factor)

    def taps(self, rate: int = 1) -> Tensor:
        """The weighted sum of the parts' taps.                (D, span // rate)."""
        self.check_rate(rate)
        return self._weighted([part.taps(rate) for part in self._parts()])

    def future_taps(self, rate: int = 1) -> Tensor:
        """The weighted sum of the parts' future taps.         (D, span // rate)."""
        self.check_rate(rate)
        return self._weighted([part.future_taps(rate) for part in self._parts()])

    def _weighted(self, taps: list[Tensor]) -> Tensor:
        return (widened(self.factor)[..., None] * torch.stack(taps)).sum(0)
