"""Impulse responses of every kernel family, as ``mrconv bench distill`` fits them."""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from ..kernels import InterpolatedKernel, Kernel, KernelName, kernel_factory
from ..nn import KernelConv, LongConv

__all__ = ["FAMILIES", "Family", "branch_taps", "conv_of", "family_taps", "pair_taps", "s4d_conv"]

Family = Literal[
    "Fourier, size 1",
    "Fourier, size 8",
    "Fourier, size 16",
    "dilated",
    "sparse",
    "implicit",
    "dense",
    "modal",
    "S4D",
    "SGConv",
]

#: Factor from a branch to the next longer one.
HALVING = 0.5
#: Time steps of S4D in the order of the seeds, over the range that its default draws from.
TIMESTEPS = (0.1, 0.03, 0.01, 7e-3, 3e-3, 1e-3)


def branch_taps(kernel: KernelName, kernel_size: int, length: int, seed: int) -> Tensor:
    """One filter of branches of unit energy with gains halving, as a fresh MRConv has them.

    taps = sum_i 2^-i k_i / |k_i|,  k_i of kernel_size 2^i samples up to the length

    Args:
        kernel: Name of the kernel.
        kernel_size: l_0, in samples.
        length: K, in samples.
        seed: Of the kernels' parameters.

    Returns:
        Float64.                                                       (K,)

    Example:
        >>> from mrconv.bench.filters import branch_taps
        >>> branch_taps("dense", 4, 16, seed=0).shape
        torch.Size([16])
    """
    make = kernel_factory(kernel)
    taps = torch.zeros(length, dtype=torch.float64)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for i in range((length // kernel_size).bit_length()):
            part = _taps(make(1, kernel_size, i, device=None, dtype=torch.float64))
            taps[: len(part)] += HALVING**i * part / part.norm()
    return taps


def pair_taps(radii: tuple[float, ...], length: int, seed: int) -> Tensor:
    """A sum of conjugate pairs of these radii, at angles over the half circle, random residues.

    Args:
        radii: Of the poles.
        length: K, in samples.
        seed: Of the residues.

    Returns:
        Float64.                                                       (K,)
    """
    noise = torch.Generator().manual_seed(seed)
    cosine, sine = torch.randn(2, len(radii), 1, generator=noise, dtype=torch.float64)
    t = torch.arange(length, dtype=torch.float64)
    turn = torch.linspace(0.3, 2.6, len(radii), dtype=torch.float64)[:, None] * t
    magnitude = torch.tensor(radii, dtype=torch.float64)[:, None] ** t
    return (magnitude * (cosine * turn.cos() + sine * turn.sin())).sum(0)


def s4d_conv(timestep: float, length: int, seed: int) -> KernelConv:
    """A layer of one channel whose kernel is S4D's, 32 complex modes.

    Args:
        timestep: In units of time a sample; the modes remember 2 / timestep samples.
        length: K, in samples.
        seed: Of the coefficients.

    Returns:
        A layer in eval mode, float64.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = KernelConv(1, length, kernel="s4d", skip=False, dtype=torch.float64).eval()
    nn.init.constant_(layer.get_parameter("past.log_timestep"), math.log(timestep))
    return layer


def _sgconv(length: int, seed: int) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _taps(InterpolatedKernel(1, length, 0, dtype=torch.float64))


def _taps(kernel: Kernel) -> Tensor:
    return kernel.taps().detach()[0]


def _s4d(length: int, seed: int) -> Tensor:
    return _taps(s4d_conv(TIMESTEPS[seed % len(TIMESTEPS)], length, seed).past)


def _branches(kernel: KernelName, kernel_size: int) -> Callable[[int, int], Tensor]:
    return lambda length, seed: branch_taps(kernel, kernel_size, length, seed)


#: Taps (K,) of one filter by length and seed.
FAMILIES: dict[Family, Callable[[int, int], Tensor]] = {
    "Fourier, size 1": _branches("fourier", 1),
    "Fourier, size 8": _branches("fourier", 8),
    "Fourier, size 16": _branches("fourier", 16),
    "dilated": _branches("dilated", 8),
    "sparse": _branches("sparse", 8),
    "implicit": _branches("implicit", 8),
    "dense": _branches("dense", 8),
    "modal": _branches("modal", 8),
    "S4D": _s4d,
    "SGConv": _sgconv,
}


def family_taps(family: Family, length: int, filters: int, seed: int) -> Tensor:
    """Filters of one family.

    Args:
        family: Which.
        length: K, in samples.
        filters: F, whose seeds follow each other.
        seed: Of the first.

    Returns:
        Float64.                                                       (F, K)
    """
    make = FAMILIES[family]
    return torch.stack([make(length, seed + i) for i in range(filters)])


def conv_of(taps: Tensor) -> LongConv:
    """A layer in eval mode whose response is these taps.

    Args:
        taps: Of every channel.                                        (F, K)

    Returns:
        A layer without bias in the taps' precision.
    """
    conv = LongConv(*taps.shape, bias=False, dtype=taps.dtype)
    with torch.no_grad():
        conv.taps.copy_(taps)
    return conv.eval()
