"""Impulse responses that the tests of distillation share."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import mrconv
from mrconv.kernels import FourierKernel


def fourier(kernel_size: int, length: int, seeds: range) -> Tensor:
    """Branches of unit energy with gains halving, one filter a seed.            (F, length)."""
    rows = []
    for seed in seeds:
        torch.manual_seed(seed)
        row = torch.zeros(length, dtype=torch.float64)
        for i in range(int(math.log2(length / kernel_size)) + 1):
            taps = FourierKernel(1, kernel_size, i, dtype=torch.float64).taps().detach()[0]
            row[: len(taps)] += 0.5**i * taps / taps.norm()
        rows.append(row)
    return torch.stack(rows)


def pairs(radii: list[float], length: int, seed: int = 0) -> Tensor:
    """One filter: a conjugate pair of each radius, at angles over the half circle.    (1, K)."""
    torch.manual_seed(seed)
    t = torch.arange(length, dtype=torch.float64)
    parts = [
        radius**t * (torch.randn(()) * (angle * t).cos() + torch.randn(()) * (angle * t).sin())
        for radius, angle in zip(radii, torch.linspace(0.3, 2.6, len(radii)).tolist(), strict=True)
    ]
    return torch.stack(parts).sum(0)[None]


def conv(taps: Tensor, dtype: torch.dtype = torch.float64) -> mrconv.LongConv:
    """A LongConv of these taps, in eval mode."""
    made = mrconv.LongConv(*taps.shape, dtype=dtype)
    with torch.no_grad():
        made.taps.copy_(taps)
        made.bias.normal_()
    return made.eval()


@pytest.fixture
def fourier_filters() -> Callable[..., Tensor]:
    return fourier


@pytest.fixture
def pair_filter() -> Callable[..., Tensor]:
    return pairs


@pytest.fixture
def conv_of() -> Callable[..., mrconv.LongConv]:
    return conv
