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

from .._checks import mask_invalid
from ..convolution import for_each_block
from .branches import Branches, Products
from .plan import Plan
from .processes import added_in_place, world_size
from .rows import F64, Rows

__all__ = ["Saved", "backward", "forward"]

# Real elements of padded rows that a thread works on at a time: more than of one convolution, for
# there are hundreds of operations a block. Training step of dilated / dense branches in ms at
# (16, 64, 4096), two threads: 2^18 166 / 323, 2^19 117 / 226, 2^20 104 / 197, 2^21 94 / 186.
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
        channels = u.shape[1]
        return cls(
            u.new_empty(gain.shape, dtype=F64),
            u.new_empty(gain.shape, dtype=F64),
            u.new_empty(channels, dtype=F64),
            u.new_empty(channels, plan.reach),
            Products.empty(u, plan),
        )


def _for_each_block(work: Callable[[slice], None], u: Tensor, size: int) -> None:
    """Runs ``work`` on blocks of channels; over processes, on the same blocks in the same order."""
    if world_size() == 1:
        for_each_block(work, u, size, BLOCK)
        return
    step = -(-u.shape[1] // 8)
    for start in range(0, u.shape[1], step):
        work(slice(start, start + step))


def _count(u: Tensor, lengths: Tensor | None) -> Tensor:
    """M, the valid positions of this process."""
    if lengths is None:
        return torch.tensor(u.shape[0] * u.shape[-1], dtype=F64, device=u.device)
    return lengths.sum().to(u.device, F64)


def _split(positions: Tensor, plan: Plan) -> list[list[int]]:
    return [one.tolist() for one in plan.split_of(plan.scattered, positions)]


def forward(
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    positions: Tensor,
    plan: Plan,
    affine: tuple[Tensor, Tensor, Tensor],
    eps: float,
) -> tuple[Tensor, Tensor, Saved]:
    """Outputs (B, D, L), means (R, D) in float64, and what the backward pass needs.

    ``positions`` are the lags of all scattered branches side by side; ``affine`` is gain (R, D),
    shift (R, D) and skip (D,).
    """
    gain, shift, skip = affine
    count = _count(u, lengths)
    total = added_in_place(count.clone())
    lags = _split(positions, plan)
    y, saved = torch.empty(u.shape, dtype=u.dtype, device=u.device), Saved.empty(u, gain, plan)
    mean = torch.empty_like(saved.var)
    # one centre for all processes: what it adds to mean and output then cancels over them
    saved.centre.copy_(added_in_place(u.sum(-1).to(F64).sum(0)) / total)

    def work(block: slice) -> None:
        rows = Rows.of(u[:, block], saved.centre[block], lengths, plan.size)
        branches = Branches(plan, packed[block], lags)
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
        _convolve(rows, merged, plan.future, level, y[:, block])
        # on its own, not as tap 0: an FFT would round it to the digits of the largest sample
        y[:, block].addcmul_(u[:, block], skip[block, None])
        saved.relative[:, block], saved.merged[block] = relative, merged

    _for_each_block(work, u, plan.size)
    return y, mean, saved


def _joined(mean: Tensor, var: Tensor, count: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance over all processes, by Chan's formula."""
    if world_size() == 1:
        return mean, var
    joined = added_in_place(count * mean) / total
    return joined, added_in_place(count * (var + (mean - joined).square())) / total


def _convolve(rows: Rows, merged: Tensor, future: int, level: Tensor, out: Tensor) -> None:
    """Merged * u less its constant part, plus level, into out (B, c, L)."""
    spectrum = rows.spectrum.mul_(rows.transformed(merged, future))
    z = torch.fft.irfft(spectrum, rows.size)[..., : rows.w.shape[-1]]
    torch.add(z, (rows.lacking(merged, future) + level[:, None]).to(z.dtype), out=out)


def backward(
    gradient: Tensor,
    u: Tensor,
    lengths: Tensor | None,
    packed: Tensor,
    positions: Tensor,
    plan: Plan,
    gain: Tensor,
    skip: Tensor,
    eps: float,
    saved: Saved,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of u, packed, gain, shift and skip."""
    total = added_in_place(_count(u, lengths))
    past, lags = plan.reach - plan.future, _split(positions, plan)
    du = torch.empty(u.shape, dtype=u.dtype, device=u.device)
    dpacked, dgain, dshift = (torch.empty_like(x) for x in (packed, gain, gain))
    dskip = torch.empty_like(gain[0])

    def work(block: slice) -> None:
        rows = Rows.of(u[:, block], saved.centre[block], lengths, plan.size)
        conjugate = rows.spectrum.conj_physical()
        branches = Branches(plan, packed[block], lags)
        spectrum = torch.fft.rfft(gradient[:, block], plan.size)
        correlation = (conjugate * spectrum).sum(0)
        dmerged, level = rows.tap_gradient(correlation, gradient[:, block], past, plan.future)
        inverse = torch.rsqrt(saved.var[:, block] + eps)
        relative, scale = saved.relative[:, block], gain[:, block] * inverse
        direct = branches.merged_gradients(dmerged)
        dots = [(k * dk).sum(-1) for k, dk in zip(branches.values, direct, strict=True)]
        dscale = torch.stack(dots) - relative * level
        dgain[:, block], dshift[:, block] = dscale * inverse, level
        dskip[block] = dmerged[:, plan.future] + rows.centre * level
        dvar = added_in_place(-0.5 * dscale * scale * inverse.square())
        dmean = added_in_place(-scale * level)
        # var = sum z'^2 / M - (sum z' / M)^2
        dmoments = (dmean - 2 * relative * dvar) / total, dvar / total
        spectrum *= rows.transformed(saved.merged[block], plan.future).conj_physical_()
        values, rest = branches.gradients(
            rows, conjugate, saved.products.of(block), dmoments, spectrum
        )
        parts = [a + s[:, None] * b for a, s, b in zip(values, scale, direct, strict=True)]
        dpacked[block] = torch.cat(parts, -1)
        x = torch.fft.irfft(spectrum, plan.size)[..., : u.shape[-1]]
        x = x if rest is None else x.add_(rest)
        x = x.addcmul(gradient[:, block], skip[block, None])
        du[:, block] = mask_invalid(x, lengths)

    _for_each_block(work, u, plan.size)
    return du, dpacked, dgain, dshift, dskip
