"""The paper's route: gradient descent on poles and residues, for comparison."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .fit import Fitted
from .poles import LEAST_DECAY_ALLOWED, MOST_DECAY, Poles
from .residues import error_norms

__all__ = ["Gradient", "gradient_poles"]


@dataclass(frozen=True)
class Gradient:
    """Adam on log decays, angles and residues, from poles on a ring.

    Args:
        steps: Of Adam.
        rate: Learning rate at the start; it falls to 0 as a cosine.
        seed: Of the residues' start values.
    """

    steps: int = 20_000
    rate: float = 3e-3
    seed: int = 0


def gradient_poles(taps: Tensor, order: int, settings: Gradient) -> Fitted:
    """Poles found by Adam on sum_t (h[t] - Re sum_m residue_m pole_m^t)^2 of each filter.

    Each filter's taps are divided by their norm, so that one rate serves all. The residues that
    Adam leaves are replaced by the best ones, which can only help it.

    Args:
        taps: Behind the explicit head, float64.                     (F, K)
        order: N; an odd one adds a real pole.
        settings: Steps, rate and seed.

    Returns:
        Poles and errors.

    Cost: O(K N) a step and filter.
    Source: Massaroli et al. 2023, section 3 (the l2 loss). The paper leaves open how poles start;
    here evenly over the half circle with memories of K / 4 samples.
    """
    filters, size = taps.shape
    scaled = taps / taps.norm(dim=-1, keepdim=True).clamp_min(1e-300)
    log_decay, angle, reals = _ring(taps, order)
    seeded = torch.Generator().manual_seed(settings.seed)
    weights = torch.randn(filters, order, generator=seeded, dtype=taps.dtype).to(taps.device)
    weights = weights / math.sqrt(size * order)
    free = [tensor.clone().requires_grad_() for tensor in (log_decay, angle, weights)]
    adam = torch.optim.Adam(free, lr=settings.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, settings.steps)
    for _ in range(settings.steps):
        adam.zero_grad()
        response = (_poles(free[0], free[1], reals).basis(size) @ free[2][..., None])[..., 0]
        (response - scaled).square().sum().backward()
        adam.step()
        schedule.step()
    with torch.no_grad():
        poles = _poles(free[0], free[1], reals)
        angle = torch.acos(poles.angle.cos())
        angle[:, :reals] = poles.angle[:, :reals]
        poles = Poles(poles.decay.detach(), angle, reals)
        return Fitted(poles.decay, poles.angle, error_norms(taps, poles))


def _ring(taps: Tensor, order: int) -> tuple[Tensor, Tensor, int]:
    pairs, reals = order // 2, order % 2
    numbers = torch.arange(pairs, dtype=taps.dtype, device=taps.device)
    pair_angles = (numbers + 0.5) * math.pi / max(1, pairs)
    angle = torch.cat([pair_angles.new_zeros(reals), pair_angles]).expand(len(taps), -1)
    return torch.full_like(angle, math.log(4 / taps.shape[-1])), angle, reals


def _poles(log_decay: Tensor, angle: Tensor, reals: int) -> Poles:
    decay = log_decay.exp().clamp(LEAST_DECAY_ALLOWED, MOST_DECAY)
    fixed = torch.cat([angle[:, :reals].detach(), angle[:, reals:]], -1)
    return Poles(decay, fixed, reals)
