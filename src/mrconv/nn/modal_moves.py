"""What moves a diagonal recurrence on, all modes together: constants, and one sample by them."""

from typing import TYPE_CHECKING, NamedTuple, Self

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .modal_state import ModalState
    from .recurrence import ModalRecurrence

__all__ = ["Moves", "take_one"]

#: Reals of a state that are moved on together.
CACHED = 1 << 18


class Moves(NamedTuple):
    """Constants of a step, in float64; a stream makes them once.

    A mode takes in the sample at its first lag and, where it ends, lets the one at its end go,
    weighted by pole^(end - start). Modes share few lags: W of them are read once for all modes.
    """

    head: Tensor
    """Explicit taps, the oldest sample's first.                   (D, H)"""
    bias: Tensor | None
    """(D,)"""
    decay: Tensor
    """(D, M)"""
    angle: Tensor
    """(D, M)"""
    readout: Tensor
    """What each real of a state adds to the output: Re residue, -Im residue.  (D, 2 M)"""
    pole: Tensor
    """Complex.                                                    (D, M)"""
    lags: Tensor
    """At which modes read samples, int64.                           (W,)"""
    entering: Tensor
    """Which of them each mode takes in, int64.                      (M,)"""
    leaving: Tensor
    """Which of them each mode lets go, int64; that of endless modes has no weight.  (M,)"""
    weight: Tensor | None
    """Of what is let go, complex; None: no mode ends.             (D, M)"""

    @classmethod
    @torch.no_grad()
    def of(cls, layer: "ModalRecurrence") -> Self:
        """The constants of a layer, as its parameters are now."""
        head, groups = layer.head.double().flip(-1), layer.groups()
        decay = head.new_zeros(layer.channels, layer.modes)
        angle, residue = torch.zeros_like(decay), decay.new_zeros(*decay.shape, 2)
        spans = torch.zeros_like(decay[0])
        lags = sorted({lag for one in groups for lag in (one.start, one.end) if lag is not None})
        entering, leaving = (
            torch.zeros(layer.modes, dtype=torch.int64, device=head.device) for _ in range(2)
        )
        for one in groups:
            decay[:, one.members], angle[:, one.members] = one.decay, one.angle
            residue[:, one.members] = one.residue
            entering[one.members] = lags.index(one.start)
            leaving[one.members] = lags.index(one.start if one.end is None else one.end)
            spans[one.members] = torch.inf if one.end is None else float(one.end - one.start)
        ends = any(one.end is not None for one in groups)
        return cls(
            head,
            None if layer.bias is None else layer.bias.double(),
            decay,
            angle,
            (residue * residue.new_tensor([1, -1])).flatten(1),
            torch.polar(torch.exp(-decay), angle),
            torch.tensor(lags, dtype=torch.int64, device=head.device),
            entering,
            leaving,
            _at_the_end(decay, angle, spans) if ends else None,
        )


def _at_the_end(decay: Tensor, angle: Tensor, spans: Tensor) -> Tensor:
    """pole^span, complex; 0 for endless modes.                                   (D, M)."""
    turn = torch.where(spans.isinf(), 0, angle * spans)
    return torch.polar(torch.exp(-decay * spans), turn)


def take_one(moves: Moves, x: Tensor, state: "ModalState") -> tuple[Tensor, "ModalState"]:
    """One sample of every row.

    Args:
        moves: Of the layer.
        x: Input.                                                       (B, D)
        state: Behind the samples before. Written to.

    Returns:
        Output in the input's dtype (B, D), and the state behind it.
    """
    slots, position = state.ring.shape[-1], state.position
    here = (position % slots)[:, None, None].expand(-1, x.shape[1], 1)
    # in place: a copy of a long ring would cost more than the sample
    ring = state.ring.scatter_(2, here, x[..., None].to(state.ring.dtype))
    recent, far = _seen(moves, ring, position)
    y = (recent.double() * moves.head).sum(-1)
    if len(moves.lags):
        y += _moved(moves, torch.view_as_complex(state.modes), far)
    if moves.bias is not None:
        y += moves.bias
    return y.to(x.dtype), state._replace(ring=ring, position=position + 1)


def _moved(moves: Moves, modes: Tensor, far: Tensor) -> Tensor:
    """Moves the modes (B, D, M) on in place, and what they then add to the output.   (B, D).

    By pieces of rows that stay in the cache from one operation to the next.
    """
    came = far if far.shape[-1] == 1 else far.index_select(2, moves.entering)
    if moves.weight is not None:
        came = came - far.index_select(2, moves.leaving) * moves.weight
    rows = max(1, CACHED // max(1, moves.readout.numel()))
    outputs = []
    for piece, new in zip(modes.split(rows), came.split(rows), strict=True):
        piece.mul_(moves.pole).add_(new)
        outputs.append((torch.view_as_real(piece).flatten(2) * moves.readout).sum(-1))
    return torch.cat(outputs)


def _seen(moves: Moves, ring: Tensor, position: Tensor) -> tuple[Tensor, Tensor]:
    """The last H samples of every row (B, D, H), and those at the modes' lags (B, D, W)."""
    slots, heads = ring.shape[-1], moves.head.shape[1]
    places = set((position % slots).tolist())
    near = torch.arange(1 - heads, 1, device=position.device)
    if len(places) != 1:
        index = (position[:, None] + torch.cat([near, -moves.lags])) % slots  # (B, H + W)
        seen = ring.gather(2, index[:, None].expand(-1, ring.shape[1], -1))
        return seen[..., :heads], seen[..., heads:].double()
    # all rows at one place: views cost a tenth of a gather
    place = places.pop()
    far = [ring[..., (place - lag) % slots] for lag in moves.lags.tolist()]
    begin = place + 1 - heads
    recent = ring[..., max(0, begin) : place + 1]
    if begin < 0:
        recent = torch.cat([ring[..., begin:], recent], -1)
    return recent, torch.stack(far, -1).double() if far else ring.new_zeros(0)
