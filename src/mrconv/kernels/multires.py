"""The kernel of MultiresNet: two short filters, shared by all levels of a dilated tree."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._checks import check_count, widened
from .base import Kernel

__all__ = ["MultiresKernel"]


class MultiresKernel(Kernel):
    """Taps of a wavelet-like tree of J levels, whose filters h0 and h1 all levels share:

    K(z) = v + sum_{j<J} w_j H1(z^(2^j)) A_j(z) + w_J A_J(z),  A_j(z) = prod_{i<j} H0(z^(2^i))

    H0 and H1 are polynomials of ``filter_size`` taps in the delay z, A_j is the average that level
    j splits into a coarser one and a detail, v weighs the present. Taps behind the span are cut
    away.

    Args:
        channels: D.
        kernel_size: Span at resolution 0; a layer of one kernel passes its whole length.
        resolution: i; the span is kernel_size 2^i.
        filter_size: Taps of h0 and h1, at least 2.
        levels: J; None: as few as reach over the span, at least 1.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If filter_size is below 2 or levels below 1.

    Cost: O(D filter_size span) operations; D (2 filter_size + J + 2) parameters.
    Source: Shi, Wang and Fox 2023, "Sequence modeling with multiresolution convolutional memory",
    the "fading" selection, with the start of the authors' code. Differs: what reaches beyond the
    span is cut away, which inputs of that length do not see.

    Example:
        >>> from mrconv.kernels import MultiresKernel
        >>> kernel = MultiresKernel(2, kernel_size=100, resolution=0)
        >>> kernel.levels, kernel.taps().shape
        (7, torch.Size([2, 100]))
    """

    def __init__(
        self,
        channels: int,
        kernel_size: int,
        resolution: int,
        *,
        filter_size: int = 2,
        levels: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels, kernel_size, resolution)
        check_count("MultiresKernel", "filter_size", filter_size, least=2)
        if levels is None:
            # (filter_size - 1) (2^J - 1) + 1 taps reach over the span
            levels = max(1, (-((1 - self.span) // (filter_size - 1))).bit_length())
        check_count("MultiresKernel", "levels", levels)
        self.filter_size, self.levels = filter_size, levels
        filters = torch.empty(2, channels, filter_size, device=device, dtype=dtype)
        self.average = nn.Parameter(filters[0].clone())  # h0
        self.detail = nn.Parameter(filters[1].clone())  # h1
        self.weight = nn.Parameter(filters.new_empty(channels, levels + 2))  # w_0..w_J, v
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws filters from U(-1, 1) / sqrt(filter_size), weights from U(-1, 1) / sqrt(J + 2)."""
        for parameter in (self.average, self.detail, self.weight):
            bound = parameter.shape[1] ** -0.5
            nn.init.uniform_(parameter, -bound, bound)

    def taps(self, rate: int = 1) -> Tensor:
        """The tree's response to an impulse, level by level.             (D, span)."""
        self.check_rate(rate)
        detail, weight = widened(self.detail), widened(self.weight)
        average = torch.ones_like(weight[:, :1])
        parts = [weight[:, -1:]]
        for level in range(self.levels):
            parts.append(weight[:, level, None] * self._filtered(average, detail, level))
            average = self._filtered(average, widened(self.average), level)
        parts.append(weight[:, -2, None] * average)
        padded = [functional.pad(part, (0, self.span - part.shape[1])) for part in parts]
        return torch.stack(padded).sum(0)

    def _filtered(self, x: Tensor, taps: Tensor, level: int) -> Tensor:
        """X (D, n) convolved with a filter (D, filter_size) of dilation 2^level, cut at the span.

        Returns:
            At most filter_size - 1 dilations longer.
        """
        length = min(x.shape[1] + ((self.filter_size - 1) << level), self.span)
        delays = [q << level for q in range(self.filter_size) if q << level < length]
        delayed = [
            functional.pad(taps[:, q, None] * x, (delay, length - delay - x.shape[1]))
            for q, delay in enumerate(delays)
        ]
        return torch.stack(delayed).sum(0)

    def extra_repr(self) -> str:
        """Sizes for ``repr``."""
        return f"{super().extra_repr()}, filter_size={self.filter_size}, levels={self.levels}"
