"""Convolution with few taps as a sum of shifted copies of the input.

y[t] = sum_j taps[j] u[t - lag_j]: a pass over the input a tap, which for few taps costs less than
an FFT. Every output is made of inputs at its own lags only, so causality is exact.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["add_shifted", "shifted_products"]


def _overlap(lag: int, length: int) -> tuple[slice, slice]:
    """Where outputs and inputs that stand ``lag`` samples apart lie in 0..length-1."""
    return slice(max(lag, 0), length + min(lag, 0)), slice(max(-lag, 0), length - max(lag, 0))


def add_shifted(y: Tensor, u: Tensor, taps: Tensor, lags: Sequence[int]) -> None:
    """Adds sum_j taps[:, j] u[t - lags[j]] to y, in place.

    Args:
        y: Output.                                                   (B, c, L)
        u: Input, 0 outside 0..L-1.                                  (B, c, L)
        taps: One column a lag.                                         (c, n)
        lags: Positive in the past; below L either way.                   (n,)
    """
    for j, lag in enumerate(lags):
        to, of = _overlap(lag, u.shape[-1])
        y[..., to].addcmul_(u[..., of], taps[:, j, None])


def shifted_products(gradient: Tensor, u: Tensor, lags: Sequence[int]) -> Tensor:
    """sum_{b, t} gradient[b, :, t] u[b, :, t - lags[j]], the gradient of the taps.  (c, n).

    Args:
        gradient: Of the output.                                     (B, c, L)
        u: Input.                                                    (B, c, L)
        lags: As in ``add_shifted``.                                      (n,)
    """
    found = []
    for lag in lags:
        to, of = _overlap(lag, u.shape[-1])
        found.append((gradient[..., to] * u[..., of]).sum(-1).sum(0))
    return torch.stack(found, -1)
