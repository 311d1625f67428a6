"""Causal and two-sided long convolution: what is convolved, and by which method.

Column j of the taps acts at lag ``j - future``: ``future`` is 0 for a causal convolution and K for
a two-sided one of (D, 2 K) taps. Every convolution here is linear (zero-padded), never circular.
"""

from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional

from .._checks import check_choice, full_precision
from ..errors import DtypeError, ShapeError
from .layout import circular, fft_size, reachable
from .operator import convolve

__all__ = ["Method", "long_convolution"]

Method = Literal["auto", "fft", "direct"]
METHODS: tuple[Method, ...] = get_args(Method)

#: Taps up to which shifted copies of the input are added up in place of FFTs. Training step in ms
#: at (4, 64, 16384), one thread: 4 taps 21 against 85, 8 taps 43 against 85, 16 taps 84 against 85.
SHORT = 8


#: Elements of an input below which one expression over the whole batch is faster in training; 32
#: times as many without gradients. Forward and training step in ms at 2^12 elements: 0.07 and 0.34
#: against 0.14 and 0.51 by the operator; at 2^16, 0.25 and 1.24 against 0.36 and 1.10; at 2^20, 3.7
#: and 20 against 4.4 and 11; at 2^22, 54 and 181 against 13 and 45.
SMALL = 1 << 16


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
        method: "fft"; "direct", exactly causal to the last bit, O(K L); "auto" adds up shifted
            copies of the input for at most 8 taps and takes the FFT for more, of a small input
            without blocks.

    Returns:
        Output in the input's dtype.                                 (B, D, L)

    Raises:
        ShapeError: If u is not (B, D, L) or the taps are not (D, K).
        DtypeError: If the two dtypes differ, or are not float32 or float64.
        ArgumentError: If ``method`` is none of the three.

    Cost: O(B D L log L) by FFT; spectra are recomputed in the backward pass, not stored.
    Causality by FFT holds to rounding relative to the largest value of the sequence. torch.vmap
    works; torch.func.grad does not reach into custom operators, torch.autograd.grad does, also
    with ``is_grads_batched``. There is no second derivative by the method "fft".

    Example:
        >>> import torch
        >>> from mrconv.convolution import long_convolution
        >>> u = torch.tensor([[[1.0, 0.0, 0.0, 2.0]]])
        >>> long_convolution(u, torch.tensor([[3.0, 5.0]]), method="direct")
        tensor([[[3., 5., 0., 6.]]])
    """
    if method not in METHODS:
        check_choice("long_convolution", "method", method, METHODS)
    _check_operands(u, taps, causal)
    taps, future = reachable(taps, 0 if causal else taps.shape[-1] // 2, u.shape[-1])
    if u.numel() == 0 or taps.numel() == 0:
        return torch.zeros_like(u)
    if method == "direct":
        return _direct(u, taps, future)
    short = method == "auto" and taps.shape[-1] <= SHORT
    if torch.compiler.is_exporting():
        return (_direct if short else _plain)(u, taps, future)
    if method == "auto" and _is_small(u, taps, short):
        return _plain(u, taps, future)
    return convolve(u, taps, future, short)


def _is_small(u: Tensor, taps: Tensor, short: bool) -> bool:
    """Whether calling the operator would cost more than its blocks or shifts gain."""
    if torch.compiler.is_compiling():  # compilers must see no spectra
        return False
    trained = torch.is_grad_enabled() and (u.requires_grad or taps.requires_grad)
    if short:
        return u.numel() < SMALL // 4
    return u.numel() < (SMALL if trained else 32 * SMALL)


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


def _direct(u: Tensor, taps: Tensor, future: int) -> Tensor:
    past = taps.shape[-1] - future
    padded = functional.pad(u, (past - 1, future))
    with full_precision(u):
        return functional.conv1d(padded, taps.flip(-1)[:, None], groups=u.shape[1])


def _plain(u: Tensor, taps: Tensor, future: int) -> Tensor:
    """The same convolution as one expression, for exporters, which have no custom operator."""
    n = fft_size(u.shape[-1], taps.shape[-1], future)
    laid = circular(taps, future, n) if future else taps
    spectrum = torch.fft.rfft(u, n) * torch.fft.rfft(laid, n)
    return torch.fft.irfft(spectrum, n)[..., : u.shape[-1]]
