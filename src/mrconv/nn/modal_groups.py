"""Modes of a recurrence that act on the same lags."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..kernels.exponentials import complex_product

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
        turn = torch.exp(-1j * omega)
        response = self._endless(self.residue, turn)
        if self.end is not None:
            span = torch.tensor(self.end - self.start, device=omega.device)
            left = complex_product(self.residue, self.powers(span))
            response = response - self._endless(left, turn) * torch.exp(-1j * omega * span)
        return response * torch.exp(-1j * omega * self.start)

    def _endless(self, residue: Tensor, turn: Tensor) -> Tensor:
        """sum_t Re(residue pole^t) turn^t over the modes.                   (D, n).

        With residue = a + i b, pole = c + i s and z = exp(-i omega), a mode gives
        (a (1 - c z) - b s z) / ((1 - pole z) (1 - conj(pole) z)). The halves r / (1 - pole z) would
        cancel: of a mode that ends at once, b may be 1e17 and s 1e-13.
        """
        pole = self.powers(torch.ones((), device=turn.device))
        response = torch.zeros(len(pole), len(turn), dtype=turn.dtype, device=turn.device)
        # mode by mode, to hold (D, n) only
        for m in range(pole.shape[1]):
            (a, b), (c, s) = (one[:, m, :, None].unbind(1) for one in (residue, pole))
            ratio = torch.complex(c, s) * turn
            other = torch.complex(c, -s) * turn
            response += (a - (a * c + b * s) * turn) / ((1 - ratio) * (1 - other))
        return response


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
