"""Long convolution of outer products that are never stored: what a MultiHyena layer computes."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from .layout import circular, fft_size, reachable
from .operator import folded, in_blocks

__all__ = ["outer_convolution"]


def outer_convolution(q: Tensor, k: Tensor, v: Tensor, taps: Tensor) -> Tensor:
    """What queries read from convolved outer products of keys and values, head by head.

    y[m, j, t] = sum_i q[m, i, t] sum_s taps[m, s] k[m, i, t - s] v[m, j, t - s]

    Args:
        q: Queries, float32 or float64; entry i of head m in channel m N + i.      (B, D, L)
        k: Keys, likewise.                                                         (B, D, L)
        v: Values, likewise.                                                       (B, D, L)
        taps: One causal filter a head, of the same dtype.                            (M, K)

    Returns:
        Output.                                                                    (B, D, L)

    Cost: 2 D N FFTs forward and 4 D N backward a row, N = D / M, which recomputes what it needs:
    q, k and v are all that is kept between the two, D numbers a sample three times in place of
    2 D N. Causality holds to rounding, as in ``long_convolution``.

    Example:
        >>> import torch
        >>> from mrconv.convolution import outer_convolution
        >>> q = k = v = torch.ones(1, 2, 3)
        >>> y = outer_convolution(q, k, v, torch.ones(1, 2))
        >>> torch.testing.assert_close(y, torch.tensor([[[2.0, 4.0, 4.0]]]).expand(1, 2, 3))
    """
    taps, _ = reachable(taps, 0, q.shape[-1])
    if q.numel() == 0:
        return torch.zeros_like(q)
    return _outer(q.contiguous(), k.contiguous(), v.contiguous(), taps)


@torch.library.custom_op("mrconv::outer_convolution", mutates_args=())
def _outer(q: Tensor, k: Tensor, v: Tensor, taps: Tensor) -> Tensor:
    y = torch.zeros_like(q)
    n = fft_size(q.shape[-1], taps.shape[-1], 0)

    def work(block: slice) -> None:
        spectrum = torch.fft.rfft(circular(taps[block], 0, n))[:, None]
        out, values = _heads(y, taps, block), _heads(v, taps, block)
        for query, key in _entries(q, k, taps, block):
            product = torch.fft.rfft(key * values, n)
            product *= spectrum
            out.addcmul_(query, torch.fft.irfft(product, n)[..., : q.shape[-1]])

    in_blocks(work, _rows(q, taps), n)
    return y


@torch.library.custom_op("mrconv::outer_convolution_backward", mutates_args=())
def _outer_backward(
    gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, taps: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """For each key i: dq_i = sum_j g_j S_ij, dS_ij = q_i g_j, and back through the convolution."""
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.zeros_like(v)
    dtaps, length = torch.empty_like(taps), q.shape[-1]
    n = fft_size(length, taps.shape[-1], 0)

    def work(block: slice) -> None:
        spectrum = torch.fft.rfft(circular(taps[block], 0, n))[:, None]
        g, values, dvalues = (_heads(x, taps, block) for x in (gradient, v, dv))
        total = torch.zeros_like(spectrum[:, 0])
        pairs = zip(_entries(q, k, taps, block), _entries(dq, dk, taps, block), strict=True)
        for (query, key), (dquery, dkey) in pairs:
            entered = torch.fft.rfft(key * values, n)
            state = torch.fft.irfft(entered * spectrum, n)[..., :length]
            dquery.copy_((g * state).sum(2, keepdim=True))
            came = torch.fft.rfft(query * g, n)
            total += (entered.conj() * came).sum((0, 2))
            came *= spectrum.conj()
            dstate = torch.fft.irfft(came, n)[..., :length]
            dvalues.addcmul_(key, dstate)
            dkey.copy_((values * dstate).sum(2, keepdim=True))
        dtaps[block] = torch.fft.irfft(total, n)[:, : taps.shape[-1]]

    in_blocks(work, _rows(q, taps), n)
    return dq, dk, dv, dtaps


def _heads(x: Tensor, taps: Tensor, block: slice) -> Tensor:
    """Some heads of (B, D, L) as (B, m, N, L), a view."""
    return x.unflatten(1, (len(taps), -1))[:, block]


def _entries(q: Tensor, k: Tensor, taps: Tensor, block: slice) -> Iterator[tuple[Tensor, Tensor]]:
    """Views (B, m, 1, L) of every entry of those heads."""
    queries, keys = _heads(q, taps, block), _heads(k, taps, block)
    yield from zip(queries.split(1, 2), keys.split(1, 2), strict=True)


def _rows(x: Tensor, taps: Tensor) -> Tensor:
    """A view (B N, M, 1) that tells how many rows each head has; for ``in_blocks``."""
    entries = x.shape[1] // len(taps)
    return x[:1, :1, :1].expand(len(x) * entries, len(taps), 1)


@_outer.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, taps: Tensor) -> Tensor:
    return torch.empty_like(q)


@_outer_backward.register_fake
def _(
    gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, taps: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), torch.empty_like(taps)


def _save_operands(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _gradients(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return _outer_backward(gradient.contiguous(), *ctx.saved_tensors)


_outer.register_autograd(_gradients, setup_context=_save_operands)


@_outer.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], *operands: Tensor) -> tuple[Tensor, int]:
    size, axes = info.batch_size, (1, 1, 1, 0)
    together = [
        folded(x, dim, size, axis) for x, dim, axis in zip(operands, in_dims, axes, strict=True)
    ]
    return _outer(*together).unflatten(1, (size, -1)), 1


@_outer_backward.register_vmap
def _(
    info: Any, in_dims: tuple[int | None, ...], *operands: Tensor
) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    size, axes = info.batch_size, (1, 1, 1, 1, 0)
    together = [
        folded(x, dim, size, axis) for x, dim, axis in zip(operands, in_dims, axes, strict=True)
    ]
    *inputs, dtaps = _outer_backward(*together)
    apart = [x.unflatten(1, (size, -1)) for x in inputs]
    return (*apart, dtaps.unflatten(0, (size, -1))), (1, 1, 1, 0)
