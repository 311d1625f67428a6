"""The blocked convolution as one operator, with its gradient; compilers see no spectra."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .blocks import for_each_block
from .layout import circular, fft_size
from .shifts import add_shifted, shifted_products

__all__ = ["convolve", "folded", "in_blocks"]

# Real elements of one block, so that its rows and their spectra stay in the cache. Training step in
# ms at (16, 64, 4096), two threads: 2^17 53, 2^18 45, 2^19 39, 2^20 44.
BLOCK = 1 << 19

# Real elements of all padded rows from which on there are blocks, in worker threads. Below, the
# team of threads that the layer before has left spinning would hold the workers up: forward in ms
# at (16, 64, 1024) 6.5 in workers, 3.8 as one block that the team shares.
MANY = 1 << 22


def _lags(taps: Tensor, future: int) -> range:
    return range(-future, taps.shape[-1] - future)


def in_blocks(work: Callable[[slice], None], u: Tensor, size: int) -> None:
    """Runs ``work`` on all channels of u (B, D, L) at once, or where they are many in blocks.

    Args:
        work: As for ``for_each_block``.
        u: Input.                                                    (B, D, L)
        size: Of one padded row.
    """
    if u.shape[0] * u.shape[1] * size < MANY:
        work(slice(0, u.shape[1]))
    else:
        for_each_block(work, u, size, BLOCK)


@torch.library.custom_op("mrconv::long_convolution", mutates_args=())
def convolve(u: Tensor, taps: Tensor, future: int, short: bool) -> Tensor:
    """y[b, d, t] = sum_j taps[d, j] u[b, d, t - (j - future)], as long as u.

    Args:
        u: Input.                                                    (B, D, L)
        taps: None of them reaches beyond the input.                    (D, n)
        future: Columns before lag 0.
        short: Whether to add up shifted copies in place of FFTs.
    """
    length = u.shape[-1]
    n = fft_size(length, taps.shape[-1], future)
    y = torch.empty(u.shape, dtype=u.dtype, device=u.device)

    def work(block: slice) -> None:
        if short:
            add_shifted(y[:, block].zero_(), u[:, block], taps[block], _lags(taps, future))
            return
        spectrum = torch.fft.rfft(u[:, block], n)
        spectrum *= torch.fft.rfft(circular(taps[block], future, n))
        y[:, block] = torch.fft.irfft(spectrum, n)[..., :length]

    in_blocks(work, u, n)
    return y


@torch.library.custom_op("mrconv::long_convolution_backward", mutates_args=())
def convolve_backward(
    gradient: Tensor, u: Tensor, taps: Tensor, future: int, short: bool
) -> tuple[Tensor, Tensor]:
    """Du = correlation of the gradient with the taps, dtaps = of the gradient with the input."""
    length, num_taps = u.shape[-1], taps.shape[-1]
    n = fft_size(length, num_taps, future)
    du = torch.empty(u.shape, dtype=u.dtype, device=u.device)
    dtaps = torch.empty(taps.shape, dtype=taps.dtype, device=taps.device)

    def work(block: slice) -> None:
        if short:
            lags = _lags(taps, future)
            dtaps[block] = shifted_products(gradient[:, block], u[:, block], lags)
            ahead = [-lag for lag in lags]
            add_shifted(du[:, block].zero_(), gradient[:, block], taps[block], ahead)
            return
        spectrum = torch.fft.rfft(gradient[:, block], n)
        product = torch.fft.rfft(u[:, block], n).conj_physical_().mul_(spectrum)
        circle = torch.fft.irfft(product.sum(0), n)
        dtaps[block] = torch.cat([circle[:, n - future :], circle[:, : num_taps - future]], -1)
        spectrum *= torch.fft.rfft(circular(taps[block], future, n)).conj_physical_()
        du[:, block] = torch.fft.irfft(spectrum, n)[..., :length]

    in_blocks(work, u, n)
    return du, dtaps


@convolve.register_fake
def _(u: Tensor, taps: Tensor, future: int, short: bool) -> Tensor:
    return torch.empty(u.shape, dtype=u.dtype, device=u.device)


@convolve_backward.register_fake
def _(gradient: Tensor, u: Tensor, taps: Tensor, future: int, short: bool) -> tuple[Tensor, Tensor]:
    du = torch.empty(u.shape, dtype=u.dtype, device=u.device)
    return du, torch.empty(taps.shape, dtype=taps.dtype, device=taps.device)


def _save_operands(ctx: Any, inputs: tuple[Tensor, Tensor, int, bool], output: Tensor) -> None:
    u, taps, ctx.future, ctx.short = inputs
    ctx.save_for_backward(u, taps)


def _gradients(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
    du, dtaps = convolve_backward(gradient, *ctx.saved_tensors, ctx.future, ctx.short)
    return du, dtaps, None, None


convolve.register_autograd(_gradients, setup_context=_save_operands)


def folded(x: Tensor, dim: int | None, size: int, axis: int) -> Tensor:
    """The mapped axis folded into the channels at ``axis``, which are independent anyway."""
    x = x.movedim(dim, axis) if dim is not None else x.unsqueeze(axis)
    shape = list(x.shape)
    shape[axis] = size
    return x.expand(shape).flatten(axis, axis + 1)


@convolve.register_vmap
def _(
    info: Any, in_dims: tuple[int | None, ...], u: Tensor, taps: Tensor, future: int, short: bool
) -> tuple[Tensor, int]:
    size = info.batch_size
    u, taps = folded(u, in_dims[0], size, 1), folded(taps, in_dims[1], size, 0)
    return convolve(u, taps, future, short).unflatten(1, (size, -1)), 1


@convolve_backward.register_vmap
def _(
    info: Any,
    in_dims: tuple[int | None, ...],
    gradient: Tensor,
    u: Tensor,
    taps: Tensor,
    future: int,
    short: bool,
) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
    size = info.batch_size
    gradient, u = (folded(x, dim, size, 1) for x, dim in zip((gradient, u), in_dims, strict=False))
    taps = folded(taps, in_dims[2], size, 0)
    du, dtaps = convolve_backward(gradient, u, taps, future, short)
    return (du.unflatten(1, (size, -1)), dtaps.unflatten(0, (size, -1))), (1, 0)
