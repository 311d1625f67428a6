"""The order of each filter: as asked, or the smallest that was found to keep a tolerance."""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from .fit import MANY, PADDING, Fitted, fit_poles
from .gradient import Gradient, gradient_poles
from .hankel import hankel_vectors, lower_bounds, order_from_spectrum

__all__ = ["METHODS", "Chosen", "MethodName", "choose"]

MethodName = Literal["hankel", "gradient"]
#: Takes taps (F, K), an order, the leading Hankel vectors, and as ``ridge`` the error by which
#: stored weights are rounded.
Method = Callable[..., Fitted]
METHODS: dict[MethodName, Method] = {
    "hankel": fit_poles,
    "gradient": lambda taps, order, vectors, ridge: gradient_poles(taps, order, Gradient()),
}
#: Filters fitted at a time, which bounds the memory.
TOGETHER = 32
#: Singular values below this, relative to the first, are rounding.
RANK_PRECISION = 1e-15
#: Relative error that a filter fitted at the rank of its Hankel matrix should be below.
HIDDEN = 1e-10


class Chosen(NamedTuple):
    """Poles of all filters of a layer, padded, with what is known of every order."""

    fitted: Fitted
    spectrum: Tensor
    """Hankel singular values, descending.                       (F, max_order + 1)"""
    bounds: Tensor
    """Norms that orders 0..max_order cannot go below.            (F, max_order + 1)"""


def choose(
    taps: Tensor,
    norms: Tensor,
    *,
    tolerance: float | None,
    order: int | None,
    max_order: int,
    method: Method | None,
    ridge: float = 0.0,
) -> Chosen:
    """Poles for every filter of one layer.

    With a tolerance, the first order tried is the smallest whose Hankel singular value and lower
    bound allow it; where the fit, measured on all taps, misses the tolerance, an order about an
    eighth larger is tried, up to ``max_order``.

    Args:
        taps: Behind the explicit head, float64.                     (F, K)
        norms: Of the whole filters, which errors are relative to.      (F,)
        tolerance: Relative error in norm, or None.
        order: N, or None.
        max_order: Largest order with a tolerance.
        method: How poles are found; None: only spectrum and bounds are wanted.
        ridge: Relative error of the numbers that the residues will be stored in.

    Returns:
        Poles, spectrum and bounds.
    """
    if not taps.shape[-1] or not len(taps):  # all taps stand in the head
        empty = taps.new_zeros(len(taps), 1)
        return Chosen(_nothing(taps, 0), empty, empty)
    limit = (taps.shape[-1] + 1) // 2
    most = min(limit, max_order if order is None else order)
    spectrum, vectors = hankel_vectors(taps, min(limit, most + 1))
    bounds = lower_bounds(taps, most)
    rank = order_from_spectrum(spectrum, RANK_PRECISION).clamp_max(most)
    if order is not None:
        orders, goal = rank, torch.zeros_like(norms)
    else:
        goal = float(tolerance or 0) * norms
        relative = goal / taps.norm(dim=-1).clamp_min(1e-300)
        first = order_from_spectrum(spectrum, relative[:, None]).clamp_max(most)
        possible = (bounds > goal[:, None]).sum(-1).clamp_max(most)
        orders = torch.maximum(first, possible)
        orders = torch.where(taps.norm(dim=-1) <= goal, 0, orders)
    fitted = _nothing(taps, most)
    fit = None if method is None else partial(method, ridge=ridge)
    waiting = torch.ones_like(orders, dtype=torch.bool)
    while fit is not None and waiting.any():
        fitted = _fit_each(taps, orders, waiting, vectors, fitted, fit)
        waiting = waiting & (fitted.error > goal) & (orders < rank) & (orders > 0)
        orders = torch.where(waiting, orders + 1 + orders // 8, orders).minimum(rank)
    # where poles lie so close that the taps hide some of them, more may do what their number cannot
    exact = max(HIDDEN, MANY * ridge) * norms
    hidden = (fitted.error > exact) & (rank < most) & (rank > 0)
    if fit is not None and order is not None and hidden.any():
        most_of_all = torch.full_like(rank, most)
        fitted = _fit_each(taps, most_of_all, hidden, vectors, fitted, fit)
    return Chosen(fitted, spectrum, bounds)


def _nothing(taps: Tensor, most: int) -> Fitted:
    padding = taps.new_full((len(taps), most), PADDING)
    return Fitted(padding, torch.zeros_like(padding), taps.norm(dim=-1))


def _fit_each(
    taps: Tensor, orders: Tensor, waiting: Tensor, vectors: Tensor, old: Fitted, method: Method
) -> Fitted:
    """New poles of the waiting filters where they are better than the old ones."""
    decay, angle, error = (tensor.clone() for tensor in old)
    for order in orders[waiting & (orders > 0)].unique().tolist():
        for index in (waiting & (orders == order)).nonzero()[:, 0].split(TOGETHER):
            new = method(taps[index], order, vectors[index])
            better = new.error < error[index]
            chosen = index[better]
            missing = (0, decay.shape[-1] - new.decay.shape[-1])
            decay[chosen] = functional.pad(new.decay[better], missing, value=PADDING)
            angle[chosen] = functional.pad(new.angle[better], missing)
            error[chosen] = new.error[better]
    return Fitted(decay, angle, error)
