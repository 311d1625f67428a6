"""Sizes of FFTs, and where taps stand in them."""

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["circular", "fast_length", "fft_size", "reachable"]


def fast_length(least: int) -> int:
    """The smallest FFT size 2^a 3^b 5^c (b, c at most 1) that is at least ``least``."""
    best = 1 << max(least - 1, 0).bit_length()
    for odd in (3, 5, 15):
        size = odd << max(-(-least // odd) - 1, 0).bit_length()
        best = min(best, size)
    return best


def fft_size(length: int, num_taps: int, future: int) -> int:
    """The size at which a convolution of so many taps does not wrap around."""
    # outputs 0..L-1 stay free of wrap-around when n >= L + past - 1 and n >= L + future.
    return fast_length(length + max(num_taps - future - 1, future))


def circular(taps: Tensor, future: int, size: int) -> Tensor:
    """Taps laid on a circle of ``size``: lag 0 at index 0, negative lags at the end."""
    past = functional.pad(taps[:, future:], (0, size - taps.shape[-1]))
    return torch.cat([past, taps[:, :future]], -1)  # (D, size)


def reachable(taps: Tensor, future: int, length: int) -> tuple[Tensor, int]:
    """Cuts away taps that no pair of samples of the input is far enough apart to meet."""
    past = taps.shape[-1] - future
    first, last = max(future - length, 0), future + min(past, length)
    if last - first == taps.shape[-1]:
        return taps, future
    return taps[:, first:last], future - first
