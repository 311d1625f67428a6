"""MRBranches: kernels of growing length with gains and norms, what MRConv and GatedMRConv share."""

from collections.abc import Callable, Iterator, Mapping
from typing import Self

import torch
from torch import Tensor, nn

from .._checks import layer_operand, widened
from ..branch_statistics import BranchNorm
from ..convolution import Method, long_convolution
from ..errors import DtypeError
from ..kernels import Branch, Kernel, branch, kernel_factory
from .combine import COMBINATIONS, CombinationName
from .mr_arguments import Gains, NormKind, check_arguments, norm_settings, num_resolutions
from .norm import keep_statistics

__all__ = ["MRBranches"]


class MRBranches(nn.Module):
    """Parameters and statistics of multi-resolution branches; subclasses say how they are joined.

    b_i[t] = gain_i (z_i[t] - mean_i) / sqrt(var_i + eps) + shift_i,   z_i = k_i * u

    Kernels, words and sizes are those of ``MRConv``.
    """

    gain: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        kernel_size: int,
        kernel: str | Callable[..., Kernel],
        causal: bool,
        combine: CombinationName,
        gains: Gains,
        norm: NormKind | BranchNorm,
        skip: bool,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        check_arguments(owner, channels, length, kernel_size, combine, gains)
        self.channels, self.length, self.kernel_size = channels, length, kernel_size
        self.kernel, self.causal, self.combine, self.gains = kernel, causal, combine, gains
        self.norm = norm_settings(owner, norm)
        self.resolutions = num_resolutions(length, kernel_size)
        self._combination = COMBINATIONS[combine]
        factory = {"device": device, "dtype": dtype}
        self.kernels = self._make_kernels(factory)
        self.future_kernels = nn.ModuleList() if causal else self._make_kernels(factory)
        self._make_gains(skip, factory)
        # not a subclass's own, whose further parts are yet to be made
        MRBranches.reset_parameters(self, kernels=False)

    def _make_kernels(self, factory: Mapping[str, object]) -> nn.ModuleList:
        make, kernels = kernel_factory(self.kernel), nn.ModuleList()
        for i in self._combination.exponents(self.resolutions):
            made = make(self.channels, self.kernel_size, i, **factory)
            if not isinstance(made, Kernel) or made.span != self.kernel_size << i:
                raise DtypeError(
                    f"{type(self).__name__}: kernel must make a mrconv.kernels.Kernel of span "
                    f"{self.kernel_size << i} at resolution {i}; got {made!r}. "
                    "Pass the three sizes on to Kernel.__init__."
                )
            kernels.append(made)
        return kernels

    def _make_gains(self, skip: bool, factory: Mapping[str, object]) -> None:
        pieces = torch.empty(self.resolutions, self.channels, **factory)  # type: ignore[call-overload]
        norms = torch.empty_like(pieces[: self._combination.norms(self.resolutions)])
        if self.gains == "learned":
            self.gain = nn.Parameter(pieces)
        else:
            self.register_buffer("gain", pieces)
        self.shift = nn.Parameter(norms)
        self.skip = nn.Parameter(torch.empty_like(norms[0])) if skip else None
        if self.norm == "none":
            return
        self.register_buffer("running_mean", torch.zeros_like(widened(norms)))
        self.register_buffer("running_var", torch.ones_like(widened(norms)))
        if isinstance(self.norm, BranchNorm):
            batches = torch.zeros((), dtype=torch.int64, device=norms.device)
            self.register_buffer("num_batches_tracked", batches)

    @property
    def spans(self) -> list[int]:
        """l_i of every kernel, in samples."""
        return [kernel.span for kernel in self.kernels]  # type: ignore[misc]

    @property
    def num_taps(self) -> int:
        """K = kernel_size 2^(R-1), taps of the merged kernel (a side, if two-sided)."""
        spans = self.spans
        return self._combination.starts(spans)[-1] + spans[-1]

    @torch.no_grad()
    def reset_parameters(self, *, kernels: bool = True) -> None:
        """Draws the parameters anew and forgets the running statistics.

        Args:
            kernels: Whether the kernels are drawn anew as well.
        """
        if kernels:
            for made in (*self.kernels, *self.future_kernels):
                made.reset_parameters()
        if self.gains == "learned":
            self.gain.fill_(self.resolutions**-0.5)
        else:
            powers = torch.arange(self.resolutions, device=self.gain.device)
            self.gain.copy_(torch.pow(0.5, powers)[:, None].expand_as(self.gain))
        self.shift.zero_()
        if self.skip is not None:
            self.skip.normal_()
        if isinstance(self.norm, BranchNorm):
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()  # type: ignore[operator]
        elif self.norm == "constant":
            # the squared norm takes the place of the variance, so that one formula serves all
            squares = [one.taps.square().sum(-1) for one in self._branches(1)]
            self.running_mean.zero_()
            self.running_var.copy_(torch.stack(squares))

    def _operand(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """The input, checked, 0 behind every length, in at least float32."""
        return layer_operand(type(self).__name__, x, lengths, self.channels, self.shift.dtype)

    def _pieces(self, rate: int) -> list[Branch]:
        """The branch of every kernel, unweighted."""
        future = [*self.future_kernels] if not self.causal else [None] * self.resolutions
        return [
            branch(past, ahead, rate)  # type: ignore[arg-type]
            for past, ahead in zip(self.kernels, future, strict=True)
        ]

    def _branches(self, rate: int) -> list[Branch]:
        return self._combination.branches(self._pieces(rate), widened(self.gain), self.causal)

    def _outer_gain(self) -> Tensor:
        normalised = isinstance(self.norm, BranchNorm)
        return self._combination.outer_gain(widened(self.gain), normalised)

    def branch_outputs(self, u: Tensor, rate: int = 1, method: Method = "auto") -> Iterator[Tensor]:
        """What is normalised on its own, in eval mode: scale_i (k_i * u) + offset_i, one by one.

        Args:
            u: Input in at least float32, exactly 0 behind each row's length.   (B, D, L)
            rate: Samples of the training rate per sample of u.
            method: "auto", "fft" or "direct", as in ``long_convolution``.

        Yields:
            One output for each norm, in the input's dtype.                     (B, D, L)
        """
        for one, scale, offset in zip(self._branches(rate), *self.scale_and_offset(), strict=True):
            z = long_convolution(u, one.taps, causal=self.causal, method=method)
            yield z * scale[:, None] + offset[:, None]

    def scale_and_offset(self) -> tuple[Tensor, Tensor]:
        """Affine map behind each convolution in eval mode, scale z + offset.  (norms, D) each."""
        gain, shift = self._outer_gain(), widened(self.shift)
        if self.norm == "none":
            return gain, shift
        eps = self.norm.eps if isinstance(self.norm, BranchNorm) else 0.0
        scale = gain * torch.rsqrt(self.running_var.to(gain.dtype) + eps)
        return scale, shift - scale * self.running_mean.to(gain.dtype)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        keep_statistics(self, lambda: super(MRBranches, self)._apply(fn, recurse))
        return self
