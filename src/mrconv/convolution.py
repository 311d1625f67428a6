"""Causal and two-sided long convolution by FFT in cache-sized blocks, as one operator.

Column j of the taps acts at lag ``j - future``: ``future`` is 0 for a causal convolution and K for
a two-sided one of (D, 2 K) taps. Every convolution here is linear (zero-padded), never circular.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional

from ._checks import check_choice, full_precision
from .errors import DtypeError, ShapeError

__all__ = ["Method", "channel_blocks", "fast_length", "long_convolution", "run_blocks"]

Method = Literal["auto", "fft", "direct"]

# Real elements of one block, so that its rows and their spectra stay in the cache. Forward in ms at
# (16, 64, 4096), two threads: 2^17 38, 2^18 32, 2^19 25, 2^20 27, 2^21 40.
BLOCK = 1 << 19


def fast_length(least: int) -> int:
    """The smallest FFT size 2^a 3^b 5^c (b, c at most 1) that is at least ``least``."""
    best = 1 << max(least - 1, 0).bit_length()
    for odd in (3, 5, 15):
        size = odd << max(-(-least // odd) - 1, 0).bit_length()
        best = min(best, size)
    return best


def long_convolution(
    u: Tensor, taps: Tensor, *, causal: bool = True, method: Method = "auto"
) -> Tensor:
    """Convolution of every channel with its own long kernel, as long as the input.

    causal:     y[b, d, t] = sum_{j=0}^{K-1} taps[d, j] u[b, d, t-j]
    two-sided:  y[b, d, t] = sum_{j=0}^{2K-1} taps[d, j] u[b, d, t-(j-K)]
    with u = 0 outside 0..L-1.

    Args:
        u: Input, float32 or float64.                                (B, D, L)
        taps: Impulse responses; any number, also more than L.          (D, K)
            Two-sided: column j stands at lag j - K.                  (D, 2 K)
        causal: Whether all taps stand at lags 0 and above.
        method: "fft"; "direct", exactly causal to the last bit, O(K L); "auto" chooses.

    Returns:
        Output in the input's dtype.                                 (B, D, L)

    Raises:
        ShapeError: If u is not (B, D, L) or the taps are not (D, K).
        DtypeError: If the two dtypes differ, or are not float32 or float64.
        ArgumentError: If ``method`` is none of the three.

    Cost: O(B D L log L) by FFT; spectra are recomputed in the backward pass, not stored.
    Causality by FFT holds to rounding relative to the largest value of the sequence.

    Example:
        >>> import torch
        >>> from mrconv.convolution import long_convolution
        >>> u = torch.tensor([[[1.0, 0.0, 0.0, 2.0]]])
        >>> long_convolution(u, torch.tensor([[3.0, 5.0]]), method="direct")
        tensor([[[3., 5., 0., 6.]]])
    """
    check_choice("long_convolution", "method", method, get_args(Method))
    _check_operands(u, taps, causal)
    taps, future = _reachable(taps, 0 if causal else taps.shape[-1] // 2, u.shape[-1])
    if u.numel() == 0 or taps.numel() == 0:
        return torch.zeros_like(u)
    if method == "direct":
        return _direct(u, taps, future)
    if torch.compiler.is_exporting():
        return _plain(u, taps, future)
    return _operator(u, taps, future)


def _check_operands(u: Tensor, taps: Tensor, causal: bool) -> None:
    if u.ndim != 3 or taps.ndim != 2 or taps.shape[0] != u.shape[1]:
        raise ShapeError(
            "long_convolution: input must be (batch, channels, length) and taps (channels, taps); "
            f"got {tuple(u.shape)} and {tuple(taps.shape)}. Give both the same channels."
        )
    if not causal and taps.shape[-1] % 2:
        raise ShapeError(
            "long_convolution: two-sided taps must be (channels, 2 K), K a side; "
            f"got {tuple(taps.shape)}. Pad the shorter side with a zero."
        )
    if u.dtype != taps.dtype or u.dtype not in (torch.float32, torch.float64):
        raise DtypeError(
            "long_convolution: input and taps must both be float32 or both float64; "
            f"got {u.dtype} and {taps.dtype}. Convert them first."
        )


def _reachable(taps: Tensor, future: int, length: int) -> tuple[Tensor, int]:
    """Cuts away taps that no pair of samples of the input is far enough apart to meet."""
    past = taps.shape[-1] - future
    first, last = max(future - length, 0), future + min(past, length)
    return taps[:, first:last], future - first


def _direct(u: Tensor, taps: Tensor, future: int) -> Tensor:
    past = taps.shape[-1] - future
    padded = functional.pad(u, (past - 1, future))
    with full_precision(u):
        return functional.conv1d(padded, taps.flip(-1)[:, None], groups=u.shape[1])


def _fft_size(length: int, num_taps: int, future: int) -> int:
    # Outputs 0..L-1 stay free of wrap-around when n >= L + past - 1 and n >= L + future.
    return fast_length(length + max(num_taps - future - 1, future))


def _circular(taps: Tensor, future: int, size: int) -> Tensor:
    """Taps laid on a circle of ``size``: lag 0 at index 0, negative lags at the end."""
    past = functional.pad(taps[:, future:], (0, size - taps.shape[-1]))
    return torch.cat([past, taps[:, :future]], -1)  # (D, size)


def _plain(u: Tensor, taps: Tensor, future: int) -> Tensor:
    """The same convolution as one expression, for exporters, which have no custom operator."""
    n = _fft_size(u.shape[-1], taps.shape[-1], future)
    spectrum = torch.fft.rfft(u, n) * torch.fft.rfft(_circular(taps, future, n), n)
    return torch.fft.irfft(spectrum, n)[..., : u.shape[-1]]


def channel_blocks(u: Tensor, size: int, elements: int) -> list[slice]:
    """Slices of the channels of u (B, D, L): all rows of a block together fill ``elements``.

    Args:
        u: Input.                                                    (B, D, L)
        size: Of the FFTs.
        elements: Real numbers of one block of padded rows.

    Returns:
        Slices that cover the channels; at least one a thread where there are channels enough.
    """
    threads = torch.get_num_threads() if u.device.type == "cpu" else 1
    if u.device.type != "cpu":
        return [slice(0, u.shape[1])]  # one call over all rows keeps an accelerator busy
    step = max(1, elements // max(1, u.shape[0] * size))
    step = min(step, -(-u.shape[1] // threads))
    return [slice(start, start + step) for start in range(0, u.shape[1], step)]


def run_blocks(work: Callable[[slice], None], blocks: Sequence[slice]) -> None:
    """Runs ``work`` on every block, each in a worker thread whose operations use one thread.

    A team of threads for every small FFT costs more than it gains; one block a thread does not
    wait for others.

    Args:
        work: Called with a block; writes its results itself. Must not record gradients.
        blocks: As ``channel_blocks`` gives them.
    """
    threads = torch.get_num_threads()
    if threads == 1 or len(blocks) == 1:
        for block in blocks:
            work(block)
        return
    for _ in _workers(threads, os.getpid()).map(torch.no_grad()(work), blocks):
        pass  # raises what a block raised


@lru_cache(maxsize=1)
def _workers(threads: int, process: int) -> ThreadPoolExecutor:
    """Threads for the blocks; made anew in a forked process, which inherits none."""
    workers = ThreadPoolExecutor(
        threads, "mrconv", initializer=torch.set_num_threads, initargs=(1,)
    )
    for _ in workers.map(lambda _: None, range(threads)):
        pass
    torch.set_num_threads(threads)  # the workers' 1 must not become that of other new threads
    return workers


@torch.library.custom_op("mrconv::long_convolution", mutates_args=())
def _operator(u: Tensor, taps: Tensor, future: int) -> Tensor:
    length = u.shape[-1]
    n = _fft_size(length, taps.shape[-1], future)
    y = torch.empty(u.shape, dtype=u.dtype, device=u.device)

    def work(block: slice) -> None:
        spectrum = torch.fft.rfft(u[:, block], n)
        spectrum *= torch.fft.rfft(_circular(taps[block], future, n), n)
        y[:, block] = torch.fft.irfft(spectrum, n)[..., :length]

    run_blocks(work, channel_blocks(u, n, BLOCK))
    return y


@torch.library.custom_op("mrconv::long_convolution_backward", mutates_args=())
def _operator_backward(
    gradient: Tensor, u: Tensor, taps: Tensor, future: int
) -> tuple[Tensor, Tensor]:
    """Du = correlation of the gradient with the taps, dtaps = of the gradient with the input."""
    length, num_taps = u.shape[-1], taps.shape[-1]
    n = _fft_size(length, num_taps, future)
    du = torch.empty(u.shape, dtype=u.dtype, device=u.device)
    dtaps = torch.empty(taps.shape, dtype=taps.dtype, device=taps.device)

    def work(block: slice) -> None:
        spectrum = torch.fft.rfft(gradient[:, block], n)
        lags = (torch.fft.rfft(u[:, block], n).conj() * spectrum).sum(0)
        circle = torch.fft.irfft(lags, n)
        dtaps[block] = torch.cat([circle[:, n - future :], circle[:, : num_taps - future]], -1)
        spectrum *= torch.fft.rfft(_circular(taps[block], future, n), n).conj()
        du[:, block] = torch.fft.irfft(spectrum, n)[..., :length]

    run_blocks(work, channel_blocks(u, n, BLOCK))
    return du, dtaps


@_operator.register_fake
def _(u: Tensor, taps: Tensor, future: int) -> Tensor:
    return torch.empty(u.shape, dtype=u.dtype, device=u.device)


@_operator_backward.register_fake
def _(gradient: Tensor, u: Tensor, taps: Tensor, future: int) -> tuple[Tensor, Tensor]:
    du = torch.empty(u.shape, dtype=u.dtype, device=u.device)
    return du, torch.empty(taps.shape, dtype=taps.dtype, device=taps.device)


def _save_operands(
    ctx: torch.autograd.function.FunctionCtx, inputs: tuple[Tensor, Tensor, int], output: Tensor
) -> None:
    u, taps, future = inputs
    ctx.save_for_backward(u, taps)
    ctx.future = future  # type: ignore[attr-defined]


def _gradients(
    ctx: torch.autograd.function.FunctionCtx, gradient: Tensor
) -> tuple[Tensor, Tensor, None]:
    u, taps = ctx.saved_tensors  # type: ignore[attr-defined]
    du, dtaps = _operator_backward(gradient, u, taps, ctx.future)  # type: ignore[attr-defined]
    return du, dtaps, None


_operator.register_autograd(_gradients, setup_context=_save_operands)


@_operator.register_vmap
def _(
    info: object, in_dims: tuple[int | None, ...], u: Tensor, taps: Tensor, future: int
) -> tuple[Tensor, int]:
    """Folds the mapped axis into the channels, which are independent anyway."""
    size: int = info.batch_size  # type: ignore[attr-defined]
    u = u.movedim(in_dims[0], 1) if in_dims[0] is not None else u[:, None].expand(-1, size, -1, -1)
    taps = taps.movedim(in_dims[1], 0) if in_dims[1] is not None else taps.expand(size, -1, -1)
    batch, _, channels, length = u.shape
    y = _operator(
        u.reshape(batch, size * channels, length), taps.reshape(size * channels, -1), future
    )
    return y.reshape(batch, size, channels, length), 1
