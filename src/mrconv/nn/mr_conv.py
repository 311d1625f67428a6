"""MRConv: the sum of normalised convolutions with kernels of growing length and equal size."""

from collections.abc import Callable

import torch
from torch import Tensor

from .._checks import full_precision, mask_invalid, widened
from ..branch_statistics import BranchNorm, normalized_branches, total_valid
from ..convolution import Method, long_convolution
from ..errors import ArgumentError
from ..kernels import Kernel
from .combine import CombinationName
from .long_conv import LongConv
from .mr_arguments import Gains, NormKind
from .mr_branches import MRBranches
from .norm import update_running
from .recurrence import ModalRecurrence
from .reparameterize import Form, reparameterize, with_skip

__all__ = ["MRConv"]


class MRConv(MRBranches):
    """Multi-resolution convolution, in its training form: one branch a resolution.

    y[t] = sum_i ( gain_i (z_i[t] - mean_i) / sqrt(var_i + eps) + shift_i ) + skip u[t]

    z_i = k_i * u, i = 0..R-1, with R = floor(log2(length / kernel_size)) + 1. Kernel k_i spans
    l_i = kernel_size 2^i samples; all have about kernel_size parameters a channel. In training,
    mean and variance are those of z_i over batch and time; in eval mode the running ones, so that
    the layer is one convolution, which ``reparameterize`` gives.

    ``combine="concat"`` lays pieces of length l_0, l_0, 2 l_0, 4 l_0, ... end to end in one kernel
    k = (gain_0 k_0 | gain_1 k_1 | ...) with one norm. BatchNorm would cancel the gains' common
    factor |gain|, so it is applied behind:
    y[t] = |gain| (z[t] - mean) / sqrt(var + eps) + shift + skip u[t],   |gain|^2 = sum_i gain_i^2.

    Args:
        channels: D.
        length: Reach in samples; no limit on inputs. Memory ends after K = kernel_size 2^(R-1).
        kernel_size: l_0, span of the first kernel; at most ``length``.
        kernel: "dense", "fourier", "dilated", "sparse", "implicit", "modal", names joined by +
            (added before the convolution), or a callable
            ``(channels, kernel_size, resolution, *, device, dtype) -> Kernel``.
        causal: Whether outputs depend on the past and present only. If not, each resolution also
            has a kernel of its own for the future, at lags -1..-l_i.
        combine: "sum" of branches, or "concat", one kernel of pieces.
        gains: "learned", one a resolution and channel from 1 / sqrt(R); or "fixed", 2^-i.
        norm: "batch"; "constant" (kernels divided by their norm at initialisation); "none"; or a
            ``BranchNorm`` with settings.
        skip: Whether skip u[t] is added, one trained factor a channel from N(0, 1).
        device: Where parameters and buffers live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If kernel_size is above length, a size below 1, or a word unknown.

    Cost: training, R convolutions; eval, one convolution and the making of its taps.
    Source: Cunningham et al. 2024, section 3. The paper leaves open the rounding of R, the start
    of the gains, and whether there is a skip; those here fit its parameter counts.

    Example:
        >>> import torch, mrconv
        >>> layer = mrconv.MRConv(8, length=100, kernel_size=4, kernel="dilated")
        >>> y = layer(torch.randn(2, 8, 100))
        >>> merged = layer.eval().reparameterize()
        >>> merged.num_taps
        64
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        kernel_size: int = 16,
        kernel: str | Callable[..., Kernel] = "fourier",
        causal: bool = True,
        combine: CombinationName = "sum",
        gains: Gains = "learned",
        norm: NormKind | BranchNorm = "batch",
        skip: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            channels,
            length,
            kernel_size=kernel_size,
            kernel=kernel,
            causal=causal,
            combine=combine,
            gains=gains,
            norm=norm,
            skip=skip,
            device=device,
            dtype=dtype,
        )

    def forward(
        self,
        x: Tensor,
        lengths: Tensor | None = None,
        *,
        rate: int = 1,
        method: Method = "auto",
    ) -> Tensor:
        """Convolves each channel with its multi-resolution kernel.

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)
            rate: Samples of the training rate per sample of x; above 1 in eval mode and for
                band-limited kernels only. Exact for input without energy above
                1 / (2 rate) of the training rate.
            method: "auto", "fft" or "direct", as in ``long_convolution``.

        Returns:
            Output in the input's dtype, 0 behind each row's length. (B, D, L)

        Raises:
            ShapeError: If x is not (B, D, L) or lengths not (B,).
            DtypeError: If x has another dtype than the parameters.
            ArgumentError: In training mode, if there are fewer than 2 valid samples or the rate is
                not 1.
        """
        u = self._operand(x, lengths)
        if self.training and rate != 1:
            raise ArgumentError(
                f"MRConv: rate must be 1 in training; got rate={rate}. Call .eval() first."
            )
        with full_precision(x):
            if self.training:
                y = self._normalised(u, lengths, method)
            elif isinstance(self.norm, BranchNorm) and self.norm.statistics == "textbook":
                y = self.by_branches(u, rate, method)
            else:
                y = self._merged(u, rate, method)
            return mask_invalid(y, lengths).to(x.dtype)

    def _normalised(self, u: Tensor, lengths: Tensor | None, method: Method) -> Tensor:
        """Training: batch statistics, and the running ones moved towards them."""
        if not isinstance(self.norm, BranchNorm):  # linear, hence merged in training too
            return self._merged(u, 1, method)
        y, mean, var = normalized_branches(
            u,
            self._branches(1),
            self._outer_gain(),
            widened(self.shift),
            self.norm,
            lengths,
            skip=None if self.skip is None else widened(self.skip),
            causal=self.causal,
            method=method,
        )
        count = total_valid("MRConv", u, lengths)
        update_running(self, mean, var, count, self.norm.momentum)
        return y

    def _merged(self, u: Tensor, rate: int, method: Method) -> Tensor:
        """Eval mode as the one convolution that it is."""
        taps, bias = self.merged_taps(rate)
        return long_convolution(u, taps, causal=self.causal, method=method) + bias[:, None]

    def by_branches(self, u: Tensor, rate: int = 1, method: Method = "auto") -> Tensor:
        """Eval mode as the class's equation has it, one convolution a branch: the slow oracle.

        Args:
            u: Input, exactly 0 behind each row's length.            (B, D, L)
            rate: As in ``forward``.
            method: As in ``forward``.

        Returns:
            Output in the input's dtype.                             (B, D, L)
        """
        y = torch.zeros_like(u) if self.skip is None else widened(self.skip)[:, None] * u
        for output in self.branch_outputs(u, rate, method):
            y = y + output
        return y

    def contributions(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """What each resolution adds to the output, in eval mode: scale_i (k_i * u).

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Parts that sum to the output less bias and skip.      (R, B, D, L)

        Raises:
            ArgumentError: In training mode, whose statistics belong to a batch.

        Example:
            >>> import torch, mrconv
            >>> layer = mrconv.MRConv(4, 64, kernel_size=8).eval()
            >>> layer.contributions(torch.randn(1, 4, 64)).shape
            torch.Size([4, 1, 4, 64])
        """
        if self.training:
            raise ArgumentError(
                "contributions: the layer must be in eval mode; got training=True. "
                "Call .eval() first."
            )
        u = self._operand(x, lengths)
        with full_precision(x):
            parts = [
                mask_invalid(long_convolution(u, taps, causal=self.causal), lengths)
                for taps in self.weighted_taps()
            ]
            return torch.stack(parts).to(x.dtype)

    def factors(self) -> tuple[Tensor, Tensor]:
        """Factor of every kernel in the merged taps (R, D), and the bias (D,), in eval mode."""
        scale, offset = self.scale_and_offset()
        return self._combination.weights(scale, widened(self.gain)), offset.sum(0)

    def weighted_taps(self, rate: int = 1) -> list[Tensor]:
        """What each resolution adds to the merged taps, scale_i pad(k_i).

        Args:
            rate: As in ``forward``.

        Returns:
            R tensors (D, K // rate), or two-sided (D, 2 K // rate).
        """
        weights, _ = self.factors()
        laid = self._combination.laid([piece.taps for piece in self._pieces(rate)], self.causal)
        return [weight[:, None] * taps for weight, taps in zip(weights, laid, strict=True)]

    def merged_taps(self, rate: int = 1) -> tuple[Tensor, Tensor]:
        """Taps and bias of the one convolution that the layer is in eval mode.

        taps = sum_i scale_i pad(k_i), skip added at lag 0;  bias = sum_i shift_i - scale_i mean_i
        with scale_i = gain_i / sqrt(var_i + eps).

        Args:
            rate: As in ``forward``.

        Returns:
            Taps (D, K // rate), or two-sided (D, 2 K // rate), and bias (D,), in at least float32.
        """
        taps = torch.stack(self.weighted_taps(rate)).sum(0)
        return with_skip(taps, self.skip, self.causal), self.factors()[1]

    def reparameterize(self, rate: int = 1, form: Form = "merged") -> LongConv | ModalRecurrence:
        """The same layer as one convolution, or one recurrence; see ``nn.reparameterize``.

        Args:
            rate: Samples of the training rate per sample of the new layer's input.
            form: "merged", or "recurrence" where the kernels are modal.

        Returns:
            A new layer in eval mode; this one stays as it is.

        Raises:
            MergeError: In training mode, for a form it cannot have, or if the comparison fails.
            ArgumentError: If the kernels cannot be thinned by ``rate``.

        Example:
            >>> import mrconv
            >>> mrconv.MRConv(4, 64).eval().reparameterize().num_taps
            64
        """
        return reparameterize(self, rate, form)

    def fuse(self) -> LongConv | ModalRecurrence:
        """``reparameterize`` under the name that timm's walker looks for."""
        return self.reparameterize()

    def extra_repr(self) -> str:
        """Settings for ``repr``."""
        return (
            f"{self.channels}, length={self.length}, kernel_size={self.kernel_size}, "
            f"kernel={self.kernel!r}, resolutions={self.resolutions}, causal={self.causal}, "
            f"combine={self.combine!r}, gains={self.gains!r}, norm={self.norm!r}"
        )
