"""Hyena and MultiHyena: long convolutions between two gates, the mixers of language models."""

from collections.abc import Callable

import torch
from torch import Tensor

from .._checks import full_precision
from ..branch_statistics import BranchNorm
from ..convolution import Method, outer_convolution
from ..kernels import Kernel
from .gated_conv import GatedConv
from .long_filter import fixed_response
from .mr_arguments import NormKind

__all__ = ["Hyena", "MultiHyena"]


class Hyena(GatedConv):
    """The Hyena operator of order 2: a long convolution of gated values, gated again.

    (q | k | v) = short(W u + b)
    y[c, t] = q[c, t] sum_j h[m(c), j] k[c, t - j] v[c, t - j],  m(c) = floor(c M / D)
    out = W_o y + b_o

    ``short`` is a causal depthwise convolution of 3 taps over all 3 D projections. Filter m serves
    the D / M neighbouring channels m D / M, ..., (m + 1) D / M - 1. Branches of ``kernel_size``
    normalise what they make of the gated values, so that h includes scale and bias.

    Args:
        channels: D.
        length: Reach of the long filters in samples; no limit on inputs.
        num_filters: M, which must divide D; None: one a channel.
        kernel: Of the long filters. Without ``kernel_size`` one kernel of the whole length:
            "implicit" (a sine network under a decaying window), "s4d", "sgconv", "dense"; with it,
            a kernel of ``MRConv``. Or a callable, as there.
        kernel_size: l_0 of multi-resolution filters, l_i = l_0 2^i; None: one kernel.
        norm: Of multi-resolution filters, as in ``MRConv``.
        device: Where parameters and buffers live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a size is below 1, M does not divide D, or a word is unknown.

    Cost: D convolutions of length L and 4 D^2 L products a row; M filters are made.
    Source: Poli et al. 2023, definition 3.1 with N = 2. Filters shared by neighbouring channels as
    in StripedHyena. Other code bases permute the roles of q, k and v; convert weights by shape and
    equation, not by name.

    Example:
        >>> import torch, mrconv
        >>> layer = mrconv.Hyena(8, length=100, num_filters=4)
        >>> layer(torch.randn(2, 8, 50)).shape
        torch.Size([2, 8, 50])
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        num_filters: int | None = None,
        kernel: str | Callable[..., Kernel] = "implicit",
        kernel_size: int | None = None,
        norm: NormKind | BranchNorm = "batch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            channels,
            length,
            num_filters=channels if num_filters is None else num_filters,
            kernel=kernel,
            kernel_size=kernel_size,
            norm=norm,
            device=device,
            dtype=dtype,
        )

    @property
    def rows(self) -> int:
        """N, rows of M channels for each row of D."""
        return self.width

    def product(self, k: Tensor, v: Tensor) -> Tensor:
        """The values times their keys; channel m N + i in row i, channel m."""
        return _apart(k * v, self.num_filters).flatten(0, 1)

    def read(self, q: Tensor, filtered: Tensor) -> Tensor:
        """The filters' output times the queries."""
        return q * _together(filtered.unflatten(0, (len(q), self.rows)))


class MultiHyena(GatedConv):
    """Hyena with heads: one long filter a head, applied to the outer product of keys and values.

    (q | k | v) = short(W u + b),  channel m N + i is entry i of head m, N = D / M
    S[m, i, j, t] = sum_s h[m, s] k[m, i, t - s] v[m, j, t - s]
    y[m, j, t] = sum_i q[m, i, t] S[m, i, j, t],  out = W_o y + b_o

    The queries contract the key index, as in linear attention, which is h = 1; heads are
    concatenated. All N^2 entries of a head share its filter, so that M filters are to be distilled,
    and the recurrent state is D N d numbers for filters of order d. N = 1 is ``Hyena``.

    In safari, NeMo and mad-lab, ``num_heads`` is N, the width of the outer product, and they make
    D / num_heads filters: pass ``num_filters = channels // num_heads`` here. mad-lab's
    ``mh-hyena.yml``, dim 128 and num_heads 16, is num_filters=8. Where a paper counts heads,
    M of them, that is ``num_filters``.

    Args:
        channels: D.
        length: Reach of the long filters in samples; no limit on inputs.
        num_filters: M, the heads; must divide D.
        kernel: As in ``Hyena``.
        kernel_size: As in ``Hyena``.
        norm: As in ``Hyena``; statistics of a filter are those of all N^2 entries.
        device: Where parameters and buffers live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a size is below 1, M does not divide D, or a word is unknown.

    Cost: D N convolutions of length L and 4 D^2 L products a row. The outer product is not stored:
    training keeps q, k and v, and recomputes the rest. Only branches with BatchNorm store it in
    training, about 3 D N L numbers a row: their statistics are those of all entries at once.
    Source: Massaroli et al. 2023, section 4 with figure 4.1. The printed algorithm leaves out the
    concatenation and output projection, which its figure and the authors' code have.

    Example:
        >>> import torch, mrconv
        >>> layer = mrconv.MultiHyena(8, length=100, num_filters=4)
        >>> layer(torch.randn(2, 8, 50)).shape, layer.width
        (torch.Size([2, 8, 50]), 2)
    """

    @property
    def rows(self) -> int:
        """N^2, rows of M channels for each row of D."""
        return self.width**2

    def product(self, k: Tensor, v: Tensor) -> Tensor:
        """Outer product k_i v_j of each head m, in row i N + j and channel m."""
        keys, values = _apart(k, self.num_filters), _apart(v, self.num_filters)
        return (keys[:, :, None] * values[:, None]).flatten(0, 2)

    def read(self, q: Tensor, filtered: Tensor) -> Tensor:
        """sum_i q_i S_ij of each head."""
        entries = filtered.unflatten(0, (len(q), self.width, self.width))  # (B, N, N, M, L)
        return _together((_apart(q, self.num_filters)[:, :, None] * entries).sum(1))

    def _mixed(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        lengths: Tensor | None,
        dtype: torch.dtype,
        method: Method,
    ) -> Tensor:
        """Without storing the outer product, where the filters do not depend on it."""
        response = None
        # hooks are to see what the filters are given
        plain = method == "direct" or self.filter._forward_hooks or torch.compiler.is_exporting()
        if not plain:
            with full_precision(q):
                response = fixed_response(self.filter, max(1, q.shape[-1]))
        if response is None:
            return super()._mixed(q, k, v, lengths, dtype, method)
        taps, bias = response
        y = outer_convolution(q, k, v, taps)
        if bias is None:
            return y
        read = q.unflatten(1, (self.num_filters, -1)).sum(2) * bias[:, None]
        return y + read.repeat_interleave(self.width, 1)


def _apart(x: Tensor, num_filters: int) -> Tensor:
    """(B, D, L) to (B, N, M, L): channel m N + i to entry i of filter m."""
    return x.unflatten(1, (num_filters, -1)).transpose(1, 2)


def _together(x: Tensor) -> Tensor:
    """(B, N, M, L) back to (B, D, L)."""
    return x.transpose(1, 2).flatten(1, 2)
