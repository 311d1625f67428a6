"""The memory of a diagonal recurrence, and how one sample or many move it on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from .._checks import mask_invalid, widened
from ..convolution import long_convolution
from ..kernels.exponentials import complex_product, modal_taps

if TYPE_CHECKING:
    from .recurrence import ModalRecurrence

__all__ = ["Group", "ModalState", "advance", "grouped", "take_one", "zero_state"]

#: Samples of a chunk taken at once.
BLOCK = 256


class ModalState(NamedTuple):
    """What a recurrence remembers, one row of every tensor for each sequence; fresh: all zero."""

    ring: Tensor
    """The last inputs in their own precision, sample t in slot t mod W.   (B, D, W)"""
    modes: Tensor
    """x_m as two reals, float64.                       (B, D, M, 2)"""
    position: Tensor
    """Samples seen, int64.                                     (B,)"""


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

    def run(self, count: int) -> Tensor:
        """pole^0 .. pole^(n - 1), by doubling: n products in place of n exponentials.

        Args:
            count: n.

        Returns:
            Powers as two reals.                                     (D, M', n, 2)
        """
        table = self.powers(torch.zeros((), device=self.decay.device))[:, :, None]
        while (size := table.shape[2]) < count:
            step = self.powers(torch.tensor(float(size), device=self.decay.device))
            table = torch.cat([table, complex_product(table, step[:, :, None])], 2)
        return table[:, :, :count]

    def leaving(self) -> Tensor:
        """pole^(end - start), by which a sample that leaves is weighted.    (D, M', 2)."""
        if self.end is None:
            return torch.zeros_like(self.residue)
        return self.powers(torch.tensor(self.end - self.start, device=self.decay.device))

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


def zero_state(layer: "ModalRecurrence", batch_size: int) -> ModalState:
    """The memory of rows that have seen nothing; see ``ModalRecurrence.init_state``."""
    device, shape = layer.head.device, (batch_size, layer.channels)
    ring = torch.zeros(*shape, _slots(layer), dtype=widened(layer.head).dtype, device=device)
    modes = torch.zeros(*shape, layer.modes, 2, dtype=torch.float64, device=device)
    return ModalState(ring, modes, torch.zeros(batch_size, dtype=torch.int64, device=device))


def _slots(layer: "ModalRecurrence") -> int:
    """W: the present and every lag that a sample is read at."""
    return max([layer.fir_head, *(end for _, end in layer.windows or ())]) + 1


def take_one(
    layer: "ModalRecurrence", groups: Sequence[Group], x: Tensor, state: ModalState
) -> tuple[Tensor, ModalState]:
    """One sample of every row, with the layer's ``groups``; see ``ModalRecurrence.step``."""
    slots, position = state.ring.shape[-1], state.position
    here = (position % slots)[:, None, None].expand(-1, layer.channels, 1)
    # in place: a copy of a long ring would cost more than the sample
    ring = state.ring.scatter_(2, here, x[..., None].to(state.ring.dtype))

    def at(lags: Tensor) -> Tensor:
        index = (position[:, None] - lags) % slots
        return ring.gather(2, index[:, None].expand(-1, layer.channels, -1)).double()

    lags = torch.arange(layer.fir_head, device=x.device)
    y = (at(lags) * layer.head.double()).sum(-1)
    modes = state.modes.clone()
    for group in groups:
        moved = complex_product(state.modes[:, :, group.members], group.powers(lags.new_ones(())))
        moved[..., 0] += at(lags.new_full((1,), group.start))
        if group.end is not None:
            moved = moved - group.leaving() * at(lags.new_full((1,), group.end))[..., None]
        modes[:, :, group.members] = moved
        y = y + _read_out(moved, group.residue)
    if layer.bias is not None:
        y = y + layer.bias.double()
    return y.to(x.dtype), ModalState(ring, modes, position + 1)


def _read_out(modes: Tensor, residue: Tensor) -> Tensor:
    """sum_m Re(residue x_m), (..., M, 2) to (...)."""
    return (modes[..., 0] * residue[..., 0] - modes[..., 1] * residue[..., 1]).sum(-1)


def advance(
    layer: "ModalRecurrence",
    groups: Sequence[Group],
    x: Tensor,
    state: ModalState,
    lengths: Tensor | None,
) -> tuple[Tensor, ModalState]:
    """Any number of samples of every row; see ``ModalRecurrence.chunk``."""
    u, parts = mask_invalid(x, lengths).double(), []
    left = torch.full_like(state.position, x.shape[-1])
    left = left if lengths is None else lengths.to(left)
    for part in u.split(BLOCK, -1) if x.shape[-1] else ():
        valid = left.clamp(0, part.shape[-1])
        y, state = _block(layer, groups, part, state, valid)
        parts.append(y)
        left = left - part.shape[-1]
    y = torch.cat(parts, -1) if parts else u
    if layer.bias is not None:
        y = y + layer.bias.double()[:, None]
    return mask_invalid(y, lengths).to(x.dtype), state


def _block(
    layer: "ModalRecurrence",
    groups: Sequence[Group],
    u: Tensor,
    state: ModalState,
    valid: Tensor,
) -> tuple[Tensor, ModalState]:
    """One block of n samples, of which each row's first ``valid`` (B,) count."""
    slots, n = state.ring.shape[-1], u.shape[-1]
    # the last W samples in their order, then the new ones: sample j of u at column W + j
    order = (state.position[:, None] + torch.arange(slots, device=u.device)) % slots
    past = state.ring.gather(2, order[:, None].expand_as(state.ring))
    run = torch.cat([past.double(), u], -1)
    head = layer.head.double()
    y = long_convolution(run[..., slots - layer.fir_head + 1 :], head, causal=True)
    y = y[..., layer.fir_head - 1 :]
    modes = state.modes.clone()
    for group in groups:
        before = state.modes[:, :, group.members]
        entering = run[..., slots - group.start : slots - group.start + n]
        y = y + _from_state(group, before, n) + _from_inputs(group, group.residue, entering)
        after = complex_product(before, _own_powers(group, valid))
        powers = group.run(n)
        after = after + _gathered(powers, entering, valid)
        if group.end is not None:
            gone = run[..., slots - group.end : slots - group.end + n]
            factor = group.leaving()
            y = y - _from_inputs(group, complex_product(group.residue, factor), gone)
            after = after - complex_product(_gathered(powers, gone, valid), factor)
        modes[:, :, group.members] = after
    return y, ModalState(_ring(run, state, valid), modes, state.position + valid)


def _from_state(group: Group, modes: Tensor, n: int) -> Tensor:
    """sum_m Re(residue pole^(j + 1) x_m) at j = 0..n-1.                         (B, D, n)."""
    rows, channels = modes.shape[:2]
    amplitudes = complex_product(group.residue, modes).flatten(0, 1)  # (B D, M', 2)
    decay, angle = group.decay.repeat(rows, 1), group.angle.repeat(rows, 1)
    return modal_taps(decay, angle, amplitudes, n, start=1).unflatten(0, (rows, channels))


def _from_inputs(group: Group, residue: Tensor, u: Tensor) -> Tensor:
    """What the inputs of a block add to its outputs.                            (B, D, n)."""
    response = modal_taps(group.decay, group.angle, residue, u.shape[-1])
    return long_convolution(u, response, causal=True)


def _own_powers(group: Group, valid: Tensor) -> Tensor:
    """pole^valid of each row.                                            (B, D, M', 2)."""
    tables = [group.powers(one) for one in valid.to(torch.float64).unique()]
    chosen = torch.unique(valid, return_inverse=True)[1]
    return torch.stack(tables)[chosen]


def _gathered(powers: Tensor, u: Tensor, valid: Tensor) -> Tensor:
    """sum_{j < valid} pole^(valid - 1 - j) u[j], the state that a block leaves.  (B, D, M', 2)."""
    n = u.shape[-1]
    # each row's last valid sample to the front, then backwards in time
    back = valid[:, None] - 1 - torch.arange(n, device=u.device)
    turned = u.gather(2, back.clamp_min(0)[:, None].expand_as(u)) * (back >= 0)[:, None]
    return torch.einsum("bdn,dmnc->bdmc", turned, powers)


def _ring(run: Tensor, state: ModalState, valid: Tensor) -> Tensor:
    """The ring that holds each row's last W samples."""
    slots = state.ring.shape[-1]
    after = state.position + valid
    slot = torch.arange(slots, device=run.device)
    # the latest time t < after with t mod W = slot
    time = after[:, None] - 1 - (after[:, None] - 1 - slot) % slots
    column = slots + time - state.position[:, None]
    return run.gather(2, column[:, None].expand(-1, run.shape[1], -1)).to(state.ring.dtype)
