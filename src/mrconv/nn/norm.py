"""Masked BatchNorm, LayerNorm over channels, and the running statistics both norms share."""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._checks import (
    HALF,
    check_count,
    checked_input,
    layer_operand,
    length_mask,
    mask_invalid,
    widened,
)
from ..branch_statistics import count_valid, joined_moments, masked_moments, world_size

__all__ = ["NORMS", "ChannelNorm", "MaskedBatchNorm", "NormName", "update_running"]

NormName = Literal["batch", "layer"]
STATISTICS = ("running_mean", "running_var")


def keep_statistics(module: nn.Module, cast: Callable[[], None]) -> None:
    """Runs a cast of the module's tensors and puts half-precision statistics back to float32.

    A variance rounded to 8 bits would put the merged layer off by 1e-3.
    """
    before = {name: getattr(module, name, None) for name in STATISTICS}
    cast()
    for name, old in before.items():
        new = getattr(module, name, None)
        if old is not None and new is not None and new.dtype in HALF:
            setattr(module, name, old.float().to(new.device))


def update_running(
    module: nn.Module, mean: Tensor, var: Tensor, count: Tensor | int, momentum: float | None
) -> None:
    """Moves the running statistics of a module towards those of one batch, in place.

    running = (1 - w) running + w batch, w = momentum, or 1 / batches where it is None; the
    variance enters unbiased, var M / (M - 1), as in torch.

    Args:
        module: Holds ``running_mean``, ``running_var`` and ``num_batches_tracked``.
        mean: Mean of the batch.
        var: Population variance of the batch.
        count: M, the number of valid positions.
        momentum: w, or None.
    """
    with torch.no_grad():
        batches: Tensor = module.num_batches_tracked.add_(1)  # type: ignore[operator]
        newest = {"running_mean": mean, "running_var": var * count / (count - 1)}
        for name, value in newest.items():
            running: Tensor = getattr(module, name)
            step = value.to(running.dtype) - running
            running.add_(step / batches if momentum is None else momentum * step)


class MaskedBatchNorm(nn.Module):
    """BatchNorm over batch and time that sees valid positions only.

    y = weight (x - mean) / sqrt(var + eps) + bias, exactly 0 behind each row's length.

    Statistics, parameters and state dict are those of ``nn.BatchNorm1d``; running statistics stay
    in float32 when the module is cast to half precision.

    Args:
        channels: D.
        momentum: Weight of the newest batch; None averages all batches.
        eps: Added to the variance.
        device: Where parameters and buffers live.
        dtype: Of the parameters.

    Example:
        >>> import torch, mrconv
        >>> norm = mrconv.nn.MaskedBatchNorm(2)
        >>> norm(torch.randn(3, 2, 5), lengths=torch.tensor([5, 2, 1])).shape
        torch.Size([3, 2, 5])
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(
        self,
        channels: int,
        momentum: float | None = 0.1,
        *,
        eps: float = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_count("MaskedBatchNorm", "channels", channels)
        self.channels, self.momentum, self.eps = channels, momentum, eps
        self.weight = nn.Parameter(torch.ones(channels, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(channels, device=device, dtype=dtype))
        statistics = widened(self.weight.detach())
        self.register_buffer("running_mean", torch.zeros_like(statistics))
        self.register_buffer("running_var", torch.ones_like(statistics))
        batches = torch.zeros((), dtype=torch.int64, device=device)
        self.register_buffer("num_batches_tracked", batches)

    def reset_parameters(self) -> None:
        """Sets weight 1, bias 0 and forgets the running statistics."""
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)
        self.running_mean.zero_()
        self.running_var.fill_(1)
        self.num_batches_tracked.zero_()

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Normalises each channel.

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Output in the input's dtype, 0 behind each row's length. (B, D, L)
        """
        # masked, because a NaN times a gradient of 0 is a NaN
        wide = layer_operand("MaskedBatchNorm", x, lengths, self.channels, self.weight.dtype)
        y = self._of_batch(wide, lengths) if self.training else self._of_past(wide)
        return mask_invalid(y, lengths).to(x.dtype)

    def _of_past(self, x: Tensor) -> Tensor:
        """Normalised by the running statistics."""
        weight, bias = widened(self.weight), widened(self.bias)
        mean, var = self.running_mean, self.running_var
        return functional.batch_norm(x, mean, var, weight, bias, eps=self.eps)

    def _of_batch(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """Normalised by the batch's own statistics, which enter the running ones."""
        count = count_valid("MaskedBatchNorm", x, lengths)
        if isinstance(count, int) and world_size() == 1:
            return self._by_torch(x, lengths, count)
        mean, var, total = joined_moments(*masked_moments(x, lengths, count), count)
        update_running(self, mean, var, total, self.momentum)
        scale = widened(self.weight) * torch.rsqrt(var + self.eps)
        return (x - mean[:, None]) * scale[:, None] + widened(self.bias)[:, None]

    def _by_torch(self, x: Tensor, lengths: Tensor | None, count: int) -> Tensor:
        """By torch's kernel, which takes all N positions: with the mean in the padding,

        var_N = (M / N) var,   rsqrt(var + eps) = sqrt(M / N) rsqrt(var_N + (M / N) eps).
        """
        positions = x.shape[0] * x.shape[-1]
        share = count / positions
        if lengths is not None:
            padding = ~length_mask(lengths.to(x.device), x.shape[-1])[:, None]
            x = x + (x.sum((0, 2)) / count)[:, None] * padding.to(x.dtype)
        mean, var = torch.zeros_like(self.running_mean), torch.ones_like(self.running_var)
        weight, bias = math.sqrt(share) * widened(self.weight), widened(self.bias)
        y = functional.batch_norm(x, mean, var, weight, bias, True, 1.0, share * self.eps)
        unbiased = var * (positions - 1) / positions  # torch keeps N / (N - 1) times it
        update_running(self, mean, unbiased / share, count, self.momentum)
        return y

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "MaskedBatchNorm":
        keep_statistics(self, lambda: super(MaskedBatchNorm, self)._apply(fn, recurse))
        return self

    def extra_repr(self) -> str:
        """Settings for ``repr``."""
        return f"{self.channels}, momentum={self.momentum}, eps={self.eps}"


class ChannelNorm(nn.Module):
    """LayerNorm over the channels of every position of (B, D, L).

    y[b, :, t] = weight (x[b, :, t] - mean_d) / sqrt(var_d + eps) + bias

    Args:
        channels: D.
        eps: Added to the variance.
        device: Where the parameters live.
        dtype: Of the parameters.

    Example:
        >>> import torch, mrconv
        >>> mrconv.nn.ChannelNorm(2)(torch.randn(3, 2, 5)).shape
        torch.Size([3, 2, 5])
    """

    def __init__(
        self,
        channels: int,
        eps: float = 1e-5,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_count("ChannelNorm", "channels", channels)
        self.channels, self.eps = channels, eps
        self.weight = nn.Parameter(torch.ones(channels, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(channels, device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Sets weight 1 and bias 0."""
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Normalises each position.

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Output in the input's dtype, 0 behind each row's length. (B, D, L)
        """
        u = checked_input("ChannelNorm", x, lengths, self.channels, self.weight.dtype)
        across = u.transpose(1, 2)  # (B, L, D)
        shape = (self.channels,)
        y = nn.functional.layer_norm(across, shape, self.weight, self.bias, self.eps)
        return mask_invalid(y.transpose(1, 2), lengths).to(x.dtype)

    def extra_repr(self) -> str:
        """Settings for ``repr``."""
        return f"{self.channels}, eps={self.eps}"


NORMS: dict[NormName, type[MaskedBatchNorm] | type[ChannelNorm]] = {
    "batch": MaskedBatchNorm,
    "layer": ChannelNorm,
}
