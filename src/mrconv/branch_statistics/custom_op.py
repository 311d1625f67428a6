"""The exact statistics as one operator, so that compilers see neither its loops nor its spectra."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..kernels import Branch
from .branches import Products
from .exact import Saved, backward, forward
from .plan import Plan

__all__ = ["exact_branches"]


def exact_branches(
    u: Tensor,
    lengths: Tensor | None,
    branches: Sequence[Branch],
    affine: tuple[Tensor, Tensor, Tensor],
    eps: float,
    causal: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum of the normalised branches, and their statistics.

    Args:
        u: Input, exactly 0 behind each row's length.                (B, D, L)
        lengths: Valid samples of each row; None: all.                    (B,)
        branches: R branches that no tap of which reaches beyond the input.
        affine: Weight and constant of each branch, and the factor of the input itself.
                                                          (R, D), (R, D), (D,)
        eps: Added to the variance.
        causal: Whether the taps are causal or two-sided.

    Returns:
        y (B, D, L), means and population variances (R, D), detached.

    Cost: FFTs of a row as of one convolution, forward 2 and backward 3, for evenly spaced or
    scattered branches of few taps; for others together 11.5. The input is kept, or besides it two
    outputs and tails of half an output.
    """
    packed = torch.cat([branch.values for branch in branches], -1)
    none = torch.empty(0, dtype=torch.int64, device=u.device)
    positions = torch.cat([none, *(one.lags for one in branches if one.lags is not None)])
    shapes = (
        [branch.values.shape[-1] for branch in branches],
        [branch.spacing if branch.lags is None else 0 for branch in branches],
        [branch.span for branch in branches],
    )
    y, mean, var, *_ = _exact(u, lengths, packed, positions, *shapes, *affine, eps, causal)
    return y, mean.detach().to(u.dtype), var.detach().to(u.dtype)


def _plan(u: Tensor, shapes: Sequence[Sequence[int]], causal: bool) -> Plan:
    counts, spacings, spans = map(tuple, shapes)
    return Plan(counts, spacings, spans, u.shape[0], u.shape[-1], causal)


# y, means, then the fields of Saved and of its Products
Results = tuple[
    Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor
]


@torch.library.custom_op("mrconv::exact_branches", mutates_args=())
def _exact(
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    positions: Tensor,
    counts: Sequence[int],
    spacings: Sequence[int],
    spans: Sequence[int],
    gain: Tensor,
    shift: Tensor,
    skip: Tensor,
    eps: float,
    causal: bool,
) -> Results:
    plan = _plan(u, (counts, spacings, spans), causal)
    y, mean, saved = forward(u, lengths, packed, positions, plan, (gain, shift, skip), eps)
    return (y, mean, *saved[:4], *saved.products)


@_exact.register_fake
def _(
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    positions: Tensor,
    counts: Sequence[int],
    spacings: Sequence[int],
    spans: Sequence[int],
    gain: Tensor,
    shift: Tensor,
    skip: Tensor,
    eps: float,
    causal: bool,
) -> Results:
    plan = _plan(u, (counts, spacings, spans), causal)
    saved = Saved.empty(u, gain, plan)
    y = torch.empty(u.shape, dtype=u.dtype, device=u.device)
    return (y, torch.empty_like(saved.var), *saved[:4], *saved.products)


@torch.library.custom_op("mrconv::exact_branches_backward", mutates_args=())
def _exact_backward(
    gradient: Tensor,
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    positions: Tensor,
    counts: Sequence[int],
    spacings: Sequence[int],
    spans: Sequence[int],
    gain: Tensor,
    skip: Tensor,
    eps: float,
    causal: bool,
    saved: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    plan = _plan(u, (counts, spacings, spans), causal)
    var, relative, centre, merged, *products = saved
    kept = Saved(var, relative, centre, merged, Products(*products))
    return backward(gradient, u, lengths, packed, positions, plan, gain, skip, eps, kept)


@_exact_backward.register_fake
def _(
    gradient: Tensor,
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    positions: Tensor,
    counts: Sequence[int],
    spacings: Sequence[int],
    spans: Sequence[int],
    gain: Tensor,
    skip: Tensor,
    eps: float,
    causal: bool,
    saved: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    like = u, packed, gain, gain, gain[0]
    du, *rest = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in like)
    return (du, *rest)  # type: ignore[return-value]


def _save(ctx: Any, inputs: tuple[Any, ...], output: Results) -> None:
    u, lengths, packed, positions, *ctx.shapes, gain, _, skip, ctx.eps, ctx.causal = inputs
    ctx.set_materialize_grads(False)  # zeros for everything saved would cost as much as a pass
    ctx.save_for_backward(u, lengths, packed, positions, gain, skip, *output[2:])


def _gradients(ctx: Any, gradient: Tensor | None, *_: object) -> tuple[Tensor | None, ...]:
    if gradient is None:  # nobody read the outputs
        return (None,) * 12
    u, lengths, packed, positions, gain, skip, *saved = ctx.saved_tensors
    du, dpacked, dgain, dshift, dskip = _exact_backward(
        gradient, u, lengths, packed, positions, *ctx.shapes, gain, skip, ctx.eps, ctx.causal, saved
    )
    return du, None, dpacked, None, None, None, None, dgain, dshift, dskip, None, None


_exact.register_autograd(_gradients, setup_context=_save)
