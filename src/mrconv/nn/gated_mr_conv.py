"""GatedMRConv: branches of several resolutions whose gains depend on the input."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from .._checks import full_precision, mask_invalid, widened
from ..branch_statistics import BranchNorm, count_valid, normalized, total_valid
from ..convolution import Method, long_convolution
from ..errors import MergeError
from ..kernels import Kernel
from .mr_arguments import NormKind
from .mr_branches import MRBranches
from .norm import update_running
from .resolution_gates import ResolutionGates, gated

__all__ = ["GatedMRConv", "refuse_gates"]


class GatedMRConv(MRBranches):
    """Multi-resolution convolution whose gains depend on the input: a gate for every resolution.

    y[d, t] = sum_i g[i, h(d), t] b_i[d, t] + skip[d] u[d, t]
    b_i[t] = gain_i (z_i[t] - mean_i) / sqrt(var_i + eps) + shift_i,   z_i = k_i * u
    g[i, h, t] = 2 sigmoid( sum_d W[i H + h, d] u[d, t] + b[i H + h] ),   h(d) = floor(d H / D)

    The branches b_i are those of ``MRConv``. Each is weighed by a gate between 0 and 2 that a
    linear map makes of the present sample. W and b start at 0, so that every gate starts at 1 and
    a new layer is an MRConv. R H (D + 1) parameters more than that one.

    A kernel whose weights change from sample to sample is no convolution: the layer has no merged
    form and no recurrence. Its branches stay apart, and each streams exactly by its own method.

    Args:
        channels: D.
        length: Reach in samples, as in ``MRConv``.
        kernel_size: l_0, span of the first kernel; at most ``length``.
        kernel: As in ``MRConv``.
        causal: As in ``MRConv``; gates see the present sample only in either case.
        num_heads: H, groups of D / H neighbouring channels with gates of their own; must divide D.
        norm: As in ``MRConv``; statistics are always computed by the textbook form.
        skip: As in ``MRConv``; the skip is not gated.
        device: Where parameters and buffers live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If kernel_size is above length, a size below 1, a word unknown, or the heads
            do not divide the channels.

    Cost: R convolutions, in training and in eval mode, and R outputs kept for the backward pass.
    Source: the authors' reply to reviewers suggests gains that depend on the input; the form is
    ours.

    Example:
        >>> import torch, mrconv
        >>> layer = mrconv.GatedMRConv(8, length=100, kernel_size=4, num_heads=2)
        >>> y = layer(torch.randn(2, 8, 100))
        >>> layer.gate
        ResolutionGates(8, resolutions=5, num_heads=2)
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        kernel_size: int = 16,
        kernel: str | Callable[..., Kernel] = "fourier",
        causal: bool = True,
        num_heads: int = 1,
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
            combine="sum",
            gains="learned",
            norm=norm,
            skip=skip,
            device=device,
            dtype=dtype,
        )
        self.gate = ResolutionGates(
            channels, self.resolutions, num_heads=num_heads, device=device, dtype=dtype
        )

    def reset_parameters(self, *, kernels: bool = True) -> None:
        """Draws the parameters anew, forgets the running statistics and sets every gate to 1.

        Args:
            kernels: Whether the kernels are drawn anew as well.
        """
        super().reset_parameters(kernels=kernels)
        self.gate.reset_parameters()

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, *, method: Method = "auto"
    ) -> Tensor:
        """Convolves each channel at every resolution and sums what the gates let through.

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)
            method: "auto", "fft" or "direct", as in ``long_convolution``.

        Returns:
            Output in the input's dtype, 0 behind each row's length. (B, D, L)

        Raises:
            ShapeError: If x is not (B, D, L) or lengths not (B,).
            DtypeError: If x has another dtype than the parameters.
            ArgumentError: In training mode, if there are fewer than 2 valid samples.
        """
        u = self._operand(x, lengths)
        with full_precision(x):
            outputs: Iterable[Tensor] = self.branch_outputs(u, method=method)
            if self.training and isinstance(self.norm, BranchNorm):
                outputs = self._normalised(u, lengths, self.norm, method)
            y = torch.zeros_like(u) if self.skip is None else widened(self.skip)[:, None] * u
            for branch, gate in zip(outputs, self.gate(u), strict=True):
                y = y + gated(branch, gate)
            return mask_invalid(y, lengths).to(x.dtype)

    def _normalised(
        self, u: Tensor, lengths: Tensor | None, norm: BranchNorm, method: Method
    ) -> list[Tensor]:
        """Training: branches by batch statistics, and the running ones moved towards them."""
        count = count_valid("GatedMRConv", u, lengths)
        outputs, means, variances = [], [], []
        affine = zip(self._branches(1), self._outer_gain(), widened(self.shift), strict=True)
        for one, gain, shift in affine:
            z = long_convolution(u, one.taps, causal=self.causal, method=method)
            y, mean, var = normalized(z, gain, shift, norm, lengths, count)
            outputs.append(y)
            means.append(mean)
            variances.append(var)
        total = total_valid("GatedMRConv", u, lengths)
        update_running(self, torch.stack(means), torch.stack(variances), total, norm.momentum)
        return outputs

    def reparameterize(self, rate: int = 1, form: str = "merged") -> None:
        """Refuses: there is no single convolution or recurrence that equals the layer.

        Args:
            rate: Of no use.
            form: Of no use.

        Raises:
            MergeError: Always.
        """
        refuse_gates("reparameterize", self)

    def extra_repr(self) -> str:
        """Settings for ``repr``."""
        return (
            f"{self.channels}, length={self.length}, kernel_size={self.kernel_size}, "
            f"kernel={self.kernel!r}, resolutions={self.resolutions}, causal={self.causal}, "
            f"norm={self.norm!r}"
        )


def refuse_gates(what: str, model: nn.Module, remedy: str = "Keep the branches") -> None:
    """Raises a MergeError if gains of a layer in the model depend on the input.

    Args:
        what: First word of the message.
        model: A layer, a block or a whole model.
        remedy: What to do, before the words on streaming.

    Raises:
        MergeError: With the name of the first such layer.
    """
    for name, layer in model.named_modules():
        if isinstance(layer, GatedMRConv):
            raise MergeError(
                f"{what}: gains must not depend on the input, because those of one convolution do "
                f"not; got gates in {name or 'GatedMRConv'}. {remedy}, and stream the model "
                "exactly with mrconv.Streamer(model)."
            )
