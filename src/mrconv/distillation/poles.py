"""Poles of real recurrences as real numbers, and the damped exponentials that they make."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Poles", "grouped", "least_decay"]

#: A pole's time constant is at most this many times the number of taps that it was fitted to:
#: longer ones gain nothing on the taps and sum up all that comes behind them.
LONGEST_MEMORY = 4.0
#: The same where a filter does not decay at all and can be had in no other way.
ENDLESS_MEMORY = 1e4
#: Smallest decay that a recurrence can express; see ``nn.ModalRecurrence``.
LEAST_DECAY_ALLOWED = 1e-7
#: A pair keeps this angle from 0 and pi, which stand for real poles.
LEAST_ANGLE = 1e-7
#: Largest decay: exp(-30) is below any rounding.
MOST_DECAY = 30.0


def least_decay(num_taps: int, memory: float = LONGEST_MEMORY) -> float:
    """Smallest decay a sample for a memory of this many times the number of taps."""
    return max(LEAST_DECAY_ALLOWED, 1 / (memory * num_taps))


class Poles(NamedTuple):
    """Poles exp(-decay + i angle) of F filters with equally many real ones, pairs by their upper.

    The first ``reals`` of the M poles of each filter are real: their angle is exactly 0 or pi.
    """

    decay: Tensor
    """(F, M), above 0."""
    angle: Tensor
    """(F, M), in rad a sample, 0 to pi."""
    reals: int
    least: float = LEAST_DECAY_ALLOWED
    """Decays are kept at or above this."""

    @property
    def order(self) -> int:
        """N, real numbers of state: 1 a real pole, 2 a pair."""
        return 2 * self.decay.shape[-1] - self.reals

    def basis(self, num_taps: int) -> Tensor:
        """The exponentials at lags 0..K-1; see ``at``.

        Args:
            num_taps: K.

        Returns:
            A column for each real number of state.                 (F, K, N)
        """
        lags = torch.arange(num_taps, dtype=self.decay.dtype, device=self.decay.device)
        return self.at(lags)

    def at(self, lags: Tensor) -> Tensor:
        """exp(-decay t) cos(angle t) of all poles, then exp(-decay t) sin(angle t) of the pairs.

        Args:
            lags: t, in samples.                                          (T,)

        Returns:
            A column for each real number of state.                 (F, T, N)
        """
        t = lags[:, None]
        magnitude = torch.exp(-self.decay[:, None] * t)
        turn = self.angle[:, None] * t
        sines = magnitude[..., self.reals :] * turn[..., self.reals :].sin()
        return torch.cat([magnitude * turn.cos(), sines], -1)

    def derivatives(self, basis: Tensor, weights: Tensor, lags: Tensor) -> Tensor:
        """How basis @ weights changes with log(decay) of every pole, then the angle of the pairs.

        Args:
            basis: As ``at`` gave it, rows weighted or not.         (F, T, N)
            weights: One a column.                                     (F, N)
            lags: Of the rows.                                           (T,)

        Returns:
            (F, T, N).
        """
        t = lags[:, None]
        poles = self.decay.shape[-1]
        cosines, sines = basis[..., :poles], basis[..., poles:]
        a, b = weights[:, None, :poles], weights[:, None, poles:]
        first, pairs = cosines[..., : self.reals], cosines[..., self.reals :]
        response = torch.cat(
            [a[..., : self.reals] * first, a[..., self.reals :] * pairs + b * sines], -1
        )
        turned = b * pairs - a[..., self.reals :] * sines
        return torch.cat([-self.decay[:, None] * t * response, t * turned], -1)

    def moved(self, change: Tensor) -> "Poles":
        """The poles after a change of log(decay) and of the pairs' angles, kept in their ranges.

        Args:
            change: In the order of ``derivatives``.                   (F, N)

        Returns:
            New poles.
        """
        poles = self.decay.shape[-1]
        decay = self.decay * change[:, :poles].clamp(-3, 3).exp()
        angle = self.angle.clone()
        angle[:, self.reals :] += change[:, poles:]
        folded = torch.acos(angle[:, self.reals :].cos())  # back to 0..pi
        angle[:, self.reals :] = folded.clamp(LEAST_ANGLE, torch.pi - LEAST_ANGLE)
        return self._replace(decay=decay.clamp(self.least, MOST_DECAY), angle=angle)

    def chosen(self, filters: Tensor) -> "Poles":
        """The poles of some filters, by number or by a mask (F,)."""
        return self._replace(decay=self.decay[filters], angle=self.angle[filters])

    def where(self, chosen: Tensor, other: "Poles") -> "Poles":
        """These poles in the filters that are ``chosen`` (F,), the others' elsewhere."""
        return self._replace(
            decay=torch.where(chosen[:, None], self.decay, other.decay),
            angle=torch.where(chosen[:, None], self.angle, other.angle),
        )


def grouped(poles: Tensor, least: float) -> Iterator[tuple[Tensor, Poles]]:
    """Filters in groups of equally many real poles, unstable ones reflected into the circle.

    Args:
        poles: Closed under conjugation, complex.                      (F, N)
        least: Smallest decay a sample that a pole may have.

    Yields:
        The filters' numbers (F',) and their poles.
    """
    decay = poles.abs().clamp_min(1e-300).log().abs()
    decay = decay.clamp(least, MOST_DECAY)
    real = poles.imag == 0
    angle = poles.angle().abs()
    angle = torch.where(real, angle, angle.clamp(LEAST_ANGLE, torch.pi - LEAST_ANGLE))
    for reals in real.sum(-1).unique().tolist():
        index = (real.sum(-1) == reals).nonzero()[:, 0]
        # real poles first, then those of the upper half plane
        rank = torch.where(real[index], 0, torch.where(poles.imag[index] > 0, 1, 2))
        kept = rank.argsort(dim=-1, stable=True)[:, : (poles.shape[-1] + reals) // 2]
        kept_decay, kept_angle = (one[index].gather(-1, kept) for one in (decay, angle))
        yield index, Poles(kept_decay, kept_angle, reals, least)
