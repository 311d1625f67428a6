"""The exact statistics as one operator, so that compilers see neither its loops nor its spectra."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .branches import Products
from .exact import Saved, backward, forward
from .plan import Plan

__all__ = ["exact_branches"]


def exact_branches(
    u: Tensor,
    lengths: Tensor | None,
    values: Sequence[Tensor],
    spacings: Sequence[int],
    gain: Tensor,
    shift: Tensor,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum of the normalised branches, and their statistics.

    Args:
        u: Input, exactly 0 behind each row's length.                (B, D, L)
        lengths: Valid samples of each row; None: all.                    (B,)
        values: Taps of each causal branch.                    R of (D, n_i)
        spacings: Samples from tap to tap of each branch.                 (R,)
        gain: Weight of each branch.                                    (R, D)
        shift: Constant of each branch.                                 (R, D)
        eps: Added to the variance.

    Returns:
        y (B, D, L), means and population variances (R, D), detached.

    Cost: forward 2 FFTs a row and backward 3, as one convolution, for branches of at most 32 taps;
    forward 5 and backward 7 for others. One activation is kept, or three.
    """
    counts = [value.shape[-1] for value in values]
    packed = torch.cat(list(values), -1)
    y, mean, var, *_ = _exact(u, lengths, packed, counts, list(spacings), gain, shift, eps)
    return y, mean.detach().to(u.dtype), var.detach().to(u.dtype)


# y, means, then the fields of Saved and of its Products
Results = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


@torch.library.custom_op("mrconv::exact_branches", mutates_args=())
def _exact(
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    counts: Sequence[int],
    spacings: Sequence[int],
    gain: Tensor,
    shift: Tensor,
    eps: float,
) -> Results:
    plan = Plan(tuple(counts), tuple(spacings), u.shape[-1])
    y, mean, saved = forward(u, lengths, packed, plan, gain, shift, eps)
    return (y, mean, *saved[:4], *saved.products)


@_exact.register_fake
def _(
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    counts: Sequence[int],
    spacings: Sequence[int],
    gain: Tensor,
    shift: Tensor,
    eps: float,
) -> Results:
    plan = Plan(tuple(counts), tuple(spacings), u.shape[-1])
    saved = Saved.empty(u, gain, plan)
    y = torch.empty(u.shape, dtype=u.dtype, device=u.device)
    return (y, torch.empty_like(saved.var), *saved[:4], *saved.products)


@torch.library.custom_op("mrconv::exact_branches_backward", mutates_args=())
def _exact_backward(
    gradient: Tensor,
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    counts: Sequence[int],
    spacings: Sequence[int],
    gain: Tensor,
    eps: float,
    saved: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    plan = Plan(tuple(counts), tuple(spacings), u.shape[-1])
    var, relative, centre, merged, *products = saved
    kept = Saved(var, relative, centre, merged, Products(*products))
    return backward(gradient, u, lengths, packed, plan, gain, eps, kept)


@_exact_backward.register_fake
def _(
    gradient: Tensor,
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    counts: Sequence[int],
    spacings: Sequence[int],
    gain: Tensor,
    eps: float,
    saved: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    du, *rest = (
        torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (u, packed, gain, gain)
    )
    return (du, *rest)  # type: ignore[return-value]


def _save(ctx: Any, inputs: tuple[Any, ...], output: Results) -> None:
    u, lengths, packed, ctx.counts, ctx.spacings, gain, _, ctx.eps = inputs
    ctx.save_for_backward(u, lengths, packed, gain, *output[2:])


def _gradients(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    u, lengths, packed, gain, *saved = ctx.saved_tensors
    du, dpacked, dgain, dshift = _exact_backward(
        gradient, u, lengths, packed, ctx.counts, ctx.spacings, gain, ctx.eps, saved
    )
    return du, None, dpacked, None, None, dgain, dshift, None


_exact.register_autograd(_gradients, setup_context=_save)
