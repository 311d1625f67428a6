"""GatedConv: long filters between two gates, what Hyena and MultiHyena share."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .._checks import (
    check_count,
    checked_input,
    mask_invalid,
    widened,
)
from ..branch_statistics import BranchNorm
from ..convolution import Method
from ..kernels import Kernel
from .heads import check_divides
from .long_filter import LongFilter, long_filter
from .mr_arguments import NormKind
from .short_conv import ShortConv

__all__ = ["GatedConv"]

#: Taps of the short convolution in front of the gates.
SHORT_TAPS = 3


class GatedConv(nn.Module, ABC):
    """What Hyena and MultiHyena share: projections, a short convolution, filters between two gates.

    (q | k | v) = short(W u + b),  y = W_o read(q, filter(product(k, v))) + b_o

    Subclasses say what the product and the reading are. The long filters see channels that share a
    filter as rows of the batch: ``filter`` is a layer (B rows, M, L) of M channels, an MRConv or a
    KernelConv, or what a conversion put in its place.
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        num_filters: int,
        kernel: str | Callable[..., Kernel] = "implicit",
        kernel_size: int | None = None,
        norm: NormKind | BranchNorm = "batch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        check_count(owner, "channels", channels)
        check_count(owner, "length", length)
        check_divides(owner, "num_filters", num_filters, channels)
        self.channels, self.length, self.num_filters = channels, length, num_filters
        self.qkv = nn.Linear(channels, 3 * channels, device=device, dtype=dtype)
        self.short = ShortConv(3 * channels, SHORT_TAPS, device=device, dtype=dtype)
        self.filter: LongFilter = long_filter(
            owner,
            num_filters,
            length,
            kernel=kernel,
            kernel_size=kernel_size,
            norm=norm,
            device=device,
            dtype=dtype,
        )
        self.out = nn.Linear(channels, channels, device=device, dtype=dtype)

    @property
    def causal(self) -> bool:
        """True: outputs depend on the past and present only."""
        return True

    @property
    def width(self) -> int:
        """N = channels / num_filters, the channels that share a filter."""
        return self.channels // self.num_filters

    @property
    def num_taps(self) -> int | None:
        """Samples that an output depends on, itself included; None where filters never end."""
        taps = self.filter.num_taps
        return None if taps is None else taps + self.short.num_taps - 1

    @property
    @abstractmethod
    def rows(self) -> int:
        """Rows of the filters' batch for each row of the input."""

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws all parameters anew."""
        for part in self.children():
            part.reset_parameters()  # type: ignore[operator]

    @abstractmethod
    def product(self, k: Tensor, v: Tensor) -> Tensor:
        """What the filters convolve.

        Args:
            k: Keys.                                                 (B, D, L)
            v: Values.                                               (B, D, L)

        Returns:
            Rows of M channels.                                 (B rows, M, L)
        """

    @abstractmethod
    def read(self, q: Tensor, filtered: Tensor) -> Tensor:
        """What the queries read from the filters' output.

        Args:
            q: Queries.                                              (B, D, L)
            filtered: As ``product`` lays it out.               (B rows, M, L)

        Returns:
            Mixed values.                                            (B, D, L)
        """

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, *, method: Method = "auto"
    ) -> Tensor:
        """Mixes over time between two gates.

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)
            method: Of all convolutions: "auto", "fft" or "direct", as in ``long_convolution``.

        Returns:
            Output in the input's dtype, 0 behind each row's length. (B, D, L)

        Raises:
            ShapeError: If x is not (B, D, L) or lengths not (B,).
            DtypeError: If x has another dtype than the parameters.
        """
        owner = type(self).__name__
        u = checked_input(owner, x, lengths, self.channels, self.qkv.weight.dtype)
        q, k, v = self.short(self.qkv(u.transpose(1, 2)).transpose(1, 2), method=method).chunk(3, 1)
        mixed = self._mixed(q, k, v, lengths, x.dtype, method).to(x.dtype)
        y = self.out(mixed.transpose(1, 2)).transpose(1, 2)
        return mask_invalid(y, lengths).to(x.dtype)

    def _mixed(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        lengths: Tensor | None,
        dtype: torch.dtype,
        method: Method,
    ) -> Tensor:
        each = None if lengths is None else lengths.repeat_interleave(self.rows)
        filtered = self.filter(self.product(k, v).to(dtype), each, method=method)
        return self.read(q, widened(filtered))

    def extra_repr(self) -> str:
        """Sizes for ``repr``."""
        return f"{self.channels}, length={self.length}, num_filters={self.num_filters}"
