"""Slow definitions in float64, written by another route than the library: what results should be.

Everything here is differentiable, so that gradients have an oracle too.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from ..branch_statistics import BranchNorm
from ..nn import MRBranches, MRConv

__all__ = [
    "branch_taps",
    "direct_convolution",
    "fourier_series",
    "layer_output",
    "textbook_branches",
]


def direct_convolution(u: Tensor, taps: Tensor, *, causal: bool = True) -> Tensor:
    """Convolution lag by lag: y[t] = sum_j taps[j] u[t - lag(j)], u = 0 outside 0..L-1.

    Args:
        u: Input.                                                    (B, D, L)
        taps: Causal (D, K), column j at lag j; two-sided (D, 2 K), column j at lag j - K.
        causal: Which of the two.

    Returns:
        Output in float64.                                           (B, D, L)

    Cost: O(B D K L).

    Example:
        >>> import torch
        >>> from mrconv.testing import direct_convolution
        >>> direct_convolution(torch.tensor([[[1.0, 0.0, 2.0]]]), torch.tensor([[3.0, 5.0]]))
        tensor([[[3., 5., 6.]]], dtype=torch.float64)
    """
    u, taps = u.double(), taps.double()
    length, future = u.shape[-1], 0 if causal else taps.shape[-1] // 2
    y = torch.zeros_like(u)
    for column in range(taps.shape[-1]):
        lag = column - future
        if abs(lag) >= length:
            continue
        delayed = (
            functional.pad(u[..., : length - lag], (lag, 0))
            if lag >= 0
            else functional.pad(u[..., -lag:], (0, -lag))
        )
        y = y + taps[:, column, None] * delayed
    return y


def fourier_series(coefficients: Tensor, period: int, positions: Tensor) -> Tensor:
    """A truncated Fourier series by its cosines and sines, at any real position.

    k(t) = 1 / sqrt(period) * sum_m w_m (a_m cos(2 pi m t / period) - b_m sin(2 pi m t / period))
    with w_m = 1 for m = 0 and m = period / 2, and 2 for all others.

    Args:
        coefficients: a_m and b_m of each mode.                      (D, M, 2)
        period: In samples.
        positions: Where the series is evaluated.                         (n,)

    Returns:
        Values in float64.                                              (D, n)
    """
    a, b = coefficients.double().unbind(-1)  # (D, M)
    modes = torch.arange(a.shape[-1], dtype=torch.float64)
    weights = torch.where((modes == 0) | (2 * modes == period), 1.0, 2.0)
    angle = 2 * math.pi * modes[:, None] * positions.double() / period  # (M, n)
    return ((a * weights) @ angle.cos() - (b * weights) @ angle.sin()) / math.sqrt(period)


def textbook_branches(
    u: Tensor,
    branches: Sequence[Tensor],
    gain: Tensor,
    shift: Tensor,
    *,
    eps: float = 1e-5,
    lengths: Tensor | None = None,
    causal: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Branch outputs, normalised by torch's own BatchNorm on the gathered valid positions.

    Args:
        u: Input; what stands behind a row's length is not read.     (B, D, L)
        branches: R tensors of taps, as in ``direct_convolution``.
        gain: Weight of each branch.                                    (R, D)
        shift: Constant of each branch.                                 (R, D)
        eps: Added to the variance.
        lengths: Valid samples of each row; None: all.                    (B,)
        causal: Whether the taps are causal or two-sided.

    Returns:
        y (B, D, L), 0 behind each row's length; the means and the unbiased variances, both (R, D).
    """
    valid = _valid(u, lengths)
    u = torch.where(valid[:, None], u.double(), 0.0)
    total = torch.zeros_like(u)
    means, variances = [], []
    for taps, weight, bias in zip(branches, gain.double(), shift.double(), strict=True):
        z = direct_convolution(u, taps, causal=causal).transpose(1, 2)[valid]  # (M, D)
        mean, var = torch.zeros_like(z[0]).detach(), torch.ones_like(z[0]).detach()
        # momentum 1: the running statistics become those of this batch
        normalised = functional.batch_norm(z, mean, var, weight, bias, True, 1.0, eps)
        total = total + _scattered(normalised, valid)
        means.append(mean)
        variances.append(var)
    return total, torch.stack(means), torch.stack(variances)


def branch_taps(layer: MRBranches) -> list[Tensor]:
    """Taps of all that an MRConv or GatedMRConv normalises on its own, in float64.

    Args:
        layer: Any; with ``combine="concat"`` its pieces are weighted and laid end to end.

    Returns:
        R or, for "concat", one tensor; causal (D, l), two-sided (D, 2 l).
    """
    past = [kernel.taps().double() for kernel in layer.kernels]  # type: ignore[operator]
    future = [kernel.future_taps().double() for kernel in layer.future_kernels]  # type: ignore[operator]
    if layer.combine == "concat":
        past = [_end_to_end(past, layer.gain)]
        future = [_end_to_end(future, layer.gain)] if future else []
    if layer.causal:
        return past
    return [torch.cat([f.flip(-1), p], -1) for f, p in zip(future, past, strict=True)]


def layer_output(layer: MRConv, x: Tensor, lengths: Tensor | None = None) -> Tensor:
    """What an MRConv should give, in its present mode, from its parameters and statistics.

    Args:
        layer: Not changed: the running statistics stay as they are.
        x: Input.                                                    (B, D, L)
        lengths: Valid samples of each row; None: all.                    (B,)

    Returns:
        Output in float64, 0 behind each row's length.               (B, D, L)
    """
    valid = _valid(x, lengths)
    u = torch.where(valid[:, None], x.double(), 0.0)
    branches, shift = branch_taps(layer), layer.shift.double()
    batch_norm = isinstance(layer.norm, BranchNorm)
    gain = layer.gain.double()
    if layer.combine == "concat":
        gain = gain.square().sum(0, keepdim=True).sqrt() if batch_norm else torch.ones_like(shift)
    if isinstance(layer.norm, BranchNorm) and layer.training:
        y, _, _ = textbook_branches(
            u, branches, gain, shift, eps=layer.norm.eps, lengths=lengths, causal=layer.causal
        )
    else:
        y = torch.zeros_like(u)
        for i, taps in enumerate(branches):
            z = direct_convolution(u, taps, causal=layer.causal)
            y = y + gain[i, :, None] * _normalised(layer, i, z) + shift[i, :, None]
    if layer.skip is not None:
        y = y + layer.skip.double()[:, None] * u
    return torch.where(valid[:, None], y, 0.0)


def _normalised(layer: MRConv, i: int, z: Tensor) -> Tensor:
    if layer.norm == "none":
        return z
    eps = layer.norm.eps if isinstance(layer.norm, BranchNorm) else 0.0
    mean, var = layer.running_mean[i].double(), layer.running_var[i].double()
    return (z - mean[:, None]) / torch.sqrt(var + eps)[:, None]


def _end_to_end(pieces: Sequence[Tensor], gain: Tensor) -> Tensor:
    weighted = [g[:, None] * piece for g, piece in zip(gain.double(), pieces, strict=True)]
    return torch.cat(weighted, -1)


def _valid(x: Tensor, lengths: Tensor | None) -> Tensor:
    rows, length = x.shape[0], x.shape[-1]
    valid = torch.zeros(rows, length, dtype=torch.bool)
    for row in range(rows):
        valid[row, : length if lengths is None else int(lengths[row])] = True
    return valid


def _scattered(values: Tensor, valid: Tensor) -> Tensor:
    """Puts (M, D) back to where it was gathered from, zeros elsewhere.        (B, D, L)."""
    shape = (*valid.shape, values.shape[-1])
    return values.new_zeros(shape).masked_scatter(valid[..., None], values).transpose(1, 2)
