"""Modes of a recurrence that act on the same lags."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Group", "grouped"]


class Group(NamedTuple):
    """Modes that act on the same lags, float64."""

    members: Tensor
    """Their numbers.                                          (M',)"""
    decay: Tensor
    """(D, M')"""
    angle: Tensor
    """(D, M')"""
    residue: Tensor
    """(D, M', 2)"""
    start: int
    end: int | None
    """Lag behind the last; None: never."""

    def powers(self, exponents: Tensor) -> Tensor:
        """pole^n as two reals.

        Args:
            exponents: n, of a shape that broadcasts with (D, M', ...).
        """
        shape = (*self.decay.shape, *(1,) * max(0, exponents.ndim - 2))
        decay, angle = self.decay.reshape(shape), self.angle.reshape(shape)
        magnitude = torch.exp(-decay * exponents)
        return torch.stack(
            [magnitude * (angle * exponents).cos(), magnitude * (angle * exponents).sin()], -1
        )

    def frequency_response(self, omega: Tensor) -> Tensor:
        """Of the group's modes together, (D, n) complex, at omega (n,) in rad a sample."""
        turn, residue = torch.exp(-1j * omega), torch.view_as_complex(self.residue.contiguous())
        poles = torch.exp(torch.complex(-self.decay, self.angle))
        response = torch.zeros(len(self.decay), len(omega), dtype=turn.dtype, device=omega.device)
        # Re r p^t = (r p^t + its conjugate) / 2; mode by mode, to hold (D, n) only
        for r, p in zip((residue / 2).unbind(-1), poles.unbind(-1), strict=True):
            response += self._geometric(r, p, turn) + self._geometric(r.conj(), p.conj(), turn)
        return response * torch.exp(-1j * omega * self.start)

    def _geometric(self, residue: Tensor, pole: Tensor, turn: Tensor) -> Tensor:
        """sum_t residue (pole turn)^t over the window.                      (D, n)."""
        ratio = pole[:, None] * turn
        total = residue[:, None] / (1 - ratio)
        if self.end is None:
            return total
        ends: Tensor = total * (1 - ratio ** (self.end - self.start))
        return ends


def grouped(
    decay: Tensor, angle: Tensor, residue: Tensor, windows: Sequence[tuple[int, int | None]]
) -> list[Group]:
    """Modes (D, M) gathered by their windows of lags."""
    groups = []
    for window in dict.fromkeys(windows):
        numbers = [m for m, one in enumerate(windows) if one == window]
        index = torch.tensor(numbers, device=decay.device)
        groups.append(Group(index, decay[:, index], angle[:, index], residue[:, index], *window))
    return groups
