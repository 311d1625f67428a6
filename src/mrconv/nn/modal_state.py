"""The memory of a diagonal recurrence, and how many samples move it on."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Self

import torch
from torch import Tensor
from torch.nn import functional

from .._checks import mask_invalid, widened
from ..convolution import long_convolution
from .modal_moves import Moves

if TYPE_CHECKING:
    from .recurrence import ModalRecurrence

__all__ = ["BLOCK", "Block", "ModalState", "advance", "zero_state"]

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


def zero_state(layer: "ModalRecurrence", batch_size: int) -> ModalState:
    """The memory of rows that have seen nothing; see ``ModalRecurrence.init_state``."""
    device, shape = layer.head.device, (batch_size, layer.channels)
    ring = torch.zeros(*shape, _slots(layer), dtype=widened(layer.head).dtype, device=device)
    modes = torch.zeros(*shape, layer.modes, 2, dtype=torch.float64, device=device)
    return ModalState(ring, modes, torch.zeros(batch_size, dtype=torch.int64, device=device))


def _slots(layer: "ModalRecurrence") -> int:
    """The present and every lag that a sample is read at.

    Where modes end the ring is long and holds a block more, so that a chunk needs no other.
    """
    reach = max([layer.fir_head, *(end for _, end in layer.windows or ())])
    return reach + (1 if layer.windows is None else BLOCK)


class Flow(NamedTuple):
    """Modes that take in, or let go, the sample at one lag."""

    lag: int
    members: slice
    weight: Tensor | None
    """Complex; None: 1.                                         (D, M')"""


class Block(NamedTuple):
    """Constants of a block of n samples, in float64; a stream makes them once, for n = BLOCK.

    Those of a shorter block are their beginnings.
    """

    powers: Tensor
    """pole^0 .. pole^n as two reals.                    (D, n + 1, M, 2)"""
    decaying: Tensor
    """What each real of a state adds to the outputs.        (D, M, 2, n)"""
    responses: Tensor
    """What a sample at each of the modes' lags adds.            (D, W, n)"""
    flows: tuple[Flow, ...]

    @classmethod
    @torch.no_grad()
    def of(cls, moves: Moves, size: int = BLOCK) -> Self:
        """The constants for blocks of at most ``size`` samples.

        Cost: 4 D M n numbers.
        """
        t = torch.arange(size + 1, dtype=torch.float64, device=moves.decay.device)[:, None]
        powers = torch.polar(torch.exp(-moves.decay[:, None] * t), moves.angle[:, None] * t)
        residue = torch.view_as_complex(moves.readout.unflatten(1, (-1, 2))).conj()
        # Re(residue pole^(j + 1) (a + i b)) of the state's reals a and b
        ahead = (residue[:, None] * powers[:, 1:]).permute(0, 2, 1)
        decaying = torch.stack([ahead.real, -ahead.imag], 2)
        heard = (residue[:, None] * powers[:, :-1]).permute(0, 2, 1)  # (D, M, n)
        responses = t.new_zeros(len(powers), len(moves.lags), size)
        responses.index_add_(1, moves.entering, heard.real)
        if moves.weight is not None:
            gone = -(heard * moves.weight[..., None]).real
            responses.index_add_(1, moves.leaving, gone)
        return cls(torch.view_as_real(powers), decaying, responses, tuple(_flows(moves)))


def _flows(moves: Moves) -> Iterator[Flow]:
    """In the order of the lags."""
    for w, lag in enumerate(moves.lags.tolist()):
        for members in _stretches(moves.entering == w):
            yield Flow(lag, members, None)
        if moves.weight is not None:
            for members in _stretches(moves.leaving == w):
                yield Flow(lag, members, -moves.weight[:, members])


def _stretches(chosen: Tensor) -> Iterator[slice]:
    """Neighbours among the numbers chosen by a mask (M,); slices, because these are views."""
    edges = torch.diff(functional.pad(chosen.int(), (1, 1)))
    begins, ends = (edges == 1).nonzero()[:, 0], (edges == -1).nonzero()[:, 0]
    yield from map(slice, begins.tolist(), ends.tolist())


def advance(
    moves: Moves, block: Block, x: Tensor, state: ModalState, lengths: Tensor | None
) -> tuple[Tensor, ModalState]:
    """Any number of samples of every row; see ``ModalRecurrence.chunk``.

    Args:
        moves: Constants of the layer.
        block: Those of a block, as long as x or BLOCK.
        x: Input.                                                    (B, D, n)
        state: Behind the samples before. Written to.
        lengths: Valid samples of each row; None: all.                    (B,)

    Returns:
        Output (B, D, n), and the state behind the valid samples.
    """
    u, parts, slots = mask_invalid(x, lengths), list[Tensor](), state.ring.shape[-1]
    if moves.weight is None:  # a block more: nothing is overwritten too early
        state = _with_slots(state, slots + BLOCK)
    left = torch.full_like(state.position, x.shape[-1])
    left = left if lengths is None else lengths.to(left)
    for part in u.split(BLOCK, -1) if x.shape[-1] else ():
        valid = left.clamp(0, part.shape[-1])
        y, state = _taken(moves, block, part, state, valid)
        parts.append(y)
        left = left - part.shape[-1]
    y = torch.cat(parts, -1) if parts else u.double()
    if moves.bias is not None:
        y = y + moves.bias[:, None]
    return mask_invalid(y, lengths).to(x.dtype), _with_slots(state, slots)


def _with_slots(state: ModalState, slots: int) -> ModalState:
    """The same memory in a ring of another size, with as many of the last samples as fit."""
    ring, had = state.ring, state.ring.shape[-1]
    if slots == had:
        return state
    kept = min(slots, had)
    times = state.position[:, None] - kept + torch.arange(kept, device=ring.device)
    index = times[:, None].expand(-1, ring.shape[1], -1)
    values = ring.gather(2, index % had)
    other = ring.new_zeros(*ring.shape[:2], slots)
    return state._replace(ring=other.scatter_(2, index % slots, values))


def _taken(
    moves: Moves, block: Block, u: Tensor, state: ModalState, valid: Tensor
) -> tuple[Tensor, ModalState]:
    """One block of n samples, of which each row's first ``valid`` (B,) count."""
    n, position = u.shape[-1], state.position
    ring = _written(state.ring, position, u)
    heads = moves.head.shape[1]
    near = _read(ring, position - heads + 1, n + heads - 1)
    y = long_convolution(near, moves.head.flip(-1), causal=True)[..., heads - 1 :]
    rows = state.modes.flatten(2).transpose(0, 1)  # (D, B, 2 M)
    y += (rows @ block.decaying[..., :n].flatten(1, 2)).transpose(0, 1)
    modes = torch.view_as_complex(state.modes) * _after(block, valid)
    heard = {lag: _read(ring, position - lag, n) for lag in moves.lags.tolist()}  # (B, D, n) each
    for one, response in zip(heard.values(), block.responses.unbind(1), strict=True):
        y += long_convolution(one, response[:, :n], causal=True)
    backwards = {lag: _reversed(one, valid).transpose(0, 1) for lag, one in heard.items()}
    for flow in block.flows:
        # sum_{j < v} pole^(v - 1 - j) u[j - lag], what v samples leave in a mode
        came = _complex(backwards[flow.lag] @ block.powers[:, :n, flow.members].flatten(2))
        modes[..., flow.members] += came if flow.weight is None else flow.weight * came
    return y, ModalState(ring, torch.view_as_real(modes), position + valid)


def _complex(pairs: Tensor) -> Tensor:
    """(D, B, 2 M) to (B, D, M)."""
    return torch.view_as_complex(pairs.transpose(0, 1).unflatten(2, (-1, 2)).contiguous())


def _after(block: Block, valid: Tensor) -> Tensor:
    """pole^valid of each row, complex.                                       (B, D, M)."""
    return torch.view_as_complex(block.powers).index_select(1, valid).transpose(0, 1)


def _reversed(u: Tensor, valid: Tensor) -> Tensor:
    """Each row's valid samples backwards in time, zeros behind them.             (B, D, n)."""
    n = u.shape[-1]
    back = valid[:, None] - 1 - torch.arange(n, device=u.device)
    return u.gather(2, back.clamp_min(0)[:, None].expand_as(u)) * (back >= 0)[:, None]


def _written(ring: Tensor, position: Tensor, u: Tensor) -> Tensor:
    """The ring with new samples in it; those behind a row's end stand where none is read yet."""
    slots = position[:, None] + torch.arange(u.shape[-1], device=u.device)
    index = (slots % ring.shape[-1])[:, None].expand_as(u)
    return ring.scatter_(2, index, u.to(ring.dtype))


def _read(ring: Tensor, start: Tensor, count: int) -> Tensor:
    """Neighbouring samples of every row, from number ``start`` (B,) on, float64.   (B, D, n)."""
    slots = (start[:, None] + torch.arange(count, device=ring.device)) % ring.shape[-1]
    return ring.gather(2, slots[:, None].expand(-1, ring.shape[1], -1)).double()
