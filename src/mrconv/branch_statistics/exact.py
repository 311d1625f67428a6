"""Exact statistics of all branches, one convolution of the merged taps, and their gradient.

With s_i = gain_i / sqrt(var_i + eps) the sum of the normalised branches is one convolution,
y = (sum_i s_i k_i) * u + sum_i (shift_i - s_i mean_i), and mean_i and var_i are functions of the
input and the taps (see ``rows``). They are part of the graph, so the gradient is BatchNorm's, not
that of a kernel merged beforehand. Blocks of channels are worked through whole, so that their
spectra stay in the cache; the backward pass computes them again.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from .._checks import mask_invalid
from ..convolution import channel_blocks, run_blocks
from .branches import Branches, Products
from .plan import Plan
from .processes import added_in_place, world_size
from .rows import F64, Rows, exclusive_sums

__all__ = ["Saved", "backward", "forward"]

# Real elements of one block of rows.
BLOCK = 1 << 20


class Saved(NamedTuple):
    """What the forward pass leaves for the backward pass."""

    var: Tensor
    """Population variances, float64.                                   (R, D)"""
    relative: Tensor
    """Means less those of a constant input c, float64.                 (R, D)"""
    centre: Tensor
    """c, float64.                                                        (D,)"""
    merged: Tensor
    """sum_i s_i k_i.                                               (D, reach)"""
    products: Products

    @classmethod
    def empty(cls, u: Tensor, gain: Tensor, plan: Plan) -> "Saved":
        """Tensors of the right sizes."""
        channels, columns = u.shape[1], plan.tail_columns

        def wide(*shape: int) -> Tensor:
            return torch.empty(shape, dtype=F64, device=u.device)

        products = Products(
            wide(len(plan.few), channels, plan.widest),
            wide(channels, columns),
            u.new_empty(u.shape[0], channels, columns),
        )
        merged = u.new_empty(channels, plan.reach)
        return cls(wide(*gain.shape), wide(*gain.shape), wide(channels), merged, products)


def _for_each_block(work: Callable[[slice], None], u: Tensor, size: int) -> None:
    """Runs ``work`` on blocks of channels; over processes, on the same blocks in the same order."""
    if world_size() == 1:
        run_blocks(work, channel_blocks(u, size, BLOCK))
        return
    step = -(-u.shape[1] // 8)
    for start in range(0, u.shape[1], step):
        work(slice(start, start + step))


def _count(u: Tensor, lengths: Tensor | None) -> Tensor:
    """M, the valid positions of this process."""
    if lengths is None:
        return torch.tensor(u.shape[0] * u.shape[-1], dtype=F64, device=u.device)
    return lengths.sum().to(u.device, F64)


def forward(
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    plan: Plan,
    gain: Tensor,
    shift: Tensor,
    eps: float,
) -> tuple[Tensor, Tensor, Saved]:
    """Outputs (B, D, L), means (R, D) in float64, and what the backward pass needs."""
    count = _count(u, lengths)
    total = added_in_place(count.clone())
    y, saved = torch.empty(u.shape, dtype=u.dtype, device=u.device), Saved.empty(u, gain, plan)
    mean = torch.empty_like(saved.var)
    # one centre for all processes: what it adds to mean and output then cancels over them
    saved.centre.copy_(added_in_place(u.sum((0, 2), dtype=F64)) / total)

    def work(block: slice) -> None:
        rows = Rows.of(u[:, block], saved.centre[block], lengths, plan.reach, plan.size)
        branches = Branches(plan, packed[block])
        first, second = branches.moments(rows, saved.products.of(block))
        constant = rows.centre * branches.totals()
        here = first / count
        spread = (second / count - here.square()).clamp_min(0)
        mean[:, block], saved.var[:, block] = _joined(here + constant, spread, count, total)
        # of one process: without the rounding of adding the constant and taking it away
        relative = here if world_size() == 1 else mean[:, block] - constant
        scale = gain[:, block] * torch.rsqrt(saved.var[:, block] + eps)
        merged = branches.merged(scale.to(u.dtype))
        level = (shift[:, block] - scale * relative).sum(0)
        y[:, block] = _convolved(rows, merged, level)
        saved.relative[:, block], saved.merged[block] = relative, merged

    _for_each_block(work, u, plan.size)
    return y, mean, saved


def _joined(mean: Tensor, var: Tensor, count: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance over all processes, by Chan's formula."""
    if world_size() == 1:
        return mean, var
    joined = added_in_place(count * mean) / total
    return joined, added_in_place(count * (var + (mean - joined).square())) / total


def _convolved(rows: Rows, merged: Tensor, level: Tensor) -> Tensor:
    """Merged * u less its constant part, plus level; u = w + c adds c (-sum_{s > t} merged[s])."""
    length = rows.w.shape[-1]
    spectrum = rows.spectrum * torch.fft.rfft(merged[:, :length], rows.size)
    wide = merged.to(F64)
    lacking = rows.centre[:, None] * (wide.cumsum(-1) - wide.sum(-1, keepdim=True))
    offset = pad(lacking, (0, length))[:, :length] + level[:, None]
    return torch.fft.irfft(spectrum, rows.size)[..., :length].add_(offset.to(merged.dtype))


def backward(
    gradient: Tensor,
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    plan: Plan,
    gain: Tensor,
    eps: float,
    saved: Saved,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of u, packed, gain and shift."""
    total = added_in_place(_count(u, lengths))
    du = torch.empty(u.shape, dtype=u.dtype, device=u.device)
    dpacked, dgain, dshift = (torch.empty_like(x) for x in (packed, gain, gain))

    def work(block: slice) -> None:
        rows = Rows.of(u[:, block], saved.centre[block], lengths, plan.reach, plan.size)
        branches = Branches(plan, packed[block])
        spectrum = torch.fft.rfft(gradient[:, block], plan.size)
        dmerged, level = _merged_gradient(rows, spectrum, gradient[:, block], plan)
        inverse = torch.rsqrt(saved.var[:, block] + eps)
        relative, scale = saved.relative[:, block], gain[:, block] * inverse
        dscale = branches.dots(dmerged) - relative * level
        dgain[:, block], dshift[:, block] = dscale * inverse, level
        dvar = added_in_place(-0.5 * dscale * scale * inverse.square())
        dmean = added_in_place(-scale * level)
        # var = sum z'^2 / M - (sum z' / M)^2
        denergy, dsum = dvar / total, (dmean - 2 * relative * dvar) / total
        dlast = torch.zeros_like(rows.last)
        dvalues, dlags, dheads = branches.gradients(
            rows, saved.products.of(block), dsum, denergy, dlast
        )
        direct = branches.merged_gradients(scale, dmerged)
        dpacked[block] = torch.cat([a + b for a, b in zip(dvalues, direct, strict=True)], -1)
        x = _input_gradient(rows, spectrum, saved.merged[block], dlags)
        rows.add_gradient(x, dlags, dheads)
        rows.add_last_gradient(x, dlast)
        du[:, block] = mask_invalid(x, lengths)

    _for_each_block(work, u, plan.size)
    return du, dpacked, dgain, dshift


def _merged_gradient(
    rows: Rows, spectrum: Tensor, gradient: Tensor, plan: Plan
) -> tuple[Tensor, Tensor]:
    """Gradients of the merged taps (c, reach) and of the level (c,), float64.

    d merged[s] = sum_{b, t} g_b[t] (u_b[t - s] - c), which is g correlated with w, less
    c times the sum of g before s.
    """
    kept = min(plan.reach, rows.w.shape[-1])
    circle = torch.fft.irfft((rows.spectrum.conj() * spectrum).sum(0), rows.size)
    dmerged = pad(circle[:, :kept].to(F64), (0, plan.reach - kept))
    total = gradient.sum(0).to(F64)
    dmerged = dmerged - rows.centre[:, None] * exclusive_sums(total, plan.reach)
    return dmerged, total.sum(-1)


def _input_gradient(rows: Rows, spectrum: Tensor, merged: Tensor, dlags: Tensor) -> Tensor:
    """Gradient through the convolution and the autocorrelation, in one inverse FFT. (B, c, L).

    r[tau] = sum w[t] w[t - tau] passes dr on as w convolved with dr on both sides of lag 0.
    """
    length = rows.w.shape[-1]
    spectrum *= torch.fft.rfft(merged[:, :length], rows.size).conj()
    both_sides = 2 * torch.fft.rfft(dlags[:, :length], rows.size).real
    spectrum += rows.spectrum * both_sides.to(merged.dtype)
    return torch.fft.irfft(spectrum, rows.size)[..., :length]
