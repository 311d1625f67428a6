"""Ring buffers (B, P, D): the last P samples of every row, each row at a position of its own.

Sample s of a row stands in slot s mod P. A buffer that serves lags 0..reach and takes n samples at
a time needs P >= reach + n slots: then what is written never falls on what is still read, also
where a row ends inside the chunk and zeros are written behind its end.

Samples are numbers of each row (B, n), or one slice of slots for all rows where these stand at one
position and the samples do not pass the end of the buffer: a view costs a tenth of a gather.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from .._checks import mask_invalid

__all__ = ["Samples", "add", "advance", "blocks", "read", "stretch", "together", "write"]

Samples = Tensor | slice


def together(places: list[int]) -> int | None:
    """The place that all rows stand at; None where they differ, or where there is no row."""
    return places[0] if len(set(places)) == 1 else None


def read(ring: Tensor, samples: Samples, rows: Tensor | None = None) -> Tensor:
    """The samples of the given numbers.

    Args:
        ring: Buffer.                                                (B, P, D)
        samples: Sample numbers of each row, from -P; int64; or slots.  (B, n)
        rows: Which rows they belong to; None: all.                       (B,)

    Returns:
        Values, a view where samples are slots of all rows.          (B, n, D)
    """
    if isinstance(samples, slice):
        return ring[:, samples] if rows is None else ring[rows, samples]
    flat = _slots(ring, samples, rows)
    return ring.flatten(0, 1).index_select(0, flat.flatten()).unflatten(0, flat.shape)


def stretch(ring: Tensor, start: Tensor, count: int) -> Tensor:
    """Neighbouring samples of every row, as a copy.

    Args:
        ring: Buffer.                                                (B, P, D)
        start: Number of the first sample of each row, from -P.           (B,)
        count: How many, no more than P.

    Returns:
        Values.                                                  (B, count, D)
    """
    place = together(torch.remainder(start, ring.shape[1]).tolist())
    if place is None:
        return read(ring, advance(start, count))
    ahead = ring[:, place : place + count]
    return torch.cat([ahead, ring[:, : count - ahead.shape[1]]], 1)


def write(ring: Tensor, samples: Samples, values: Tensor, rows: Tensor | None = None) -> None:
    """Puts samples into the slots of the given numbers, in place.

    Args:
        ring: Buffer, contiguous.                                    (B, P, D)
        samples: Sample numbers of each row, no more than P; int64; or slots.  (B, n)
        values: What they are.                                       (B, n, D)
        rows: Which rows they belong to; None: all.                       (B,)
    """
    if isinstance(samples, slice):
        ring[slice(None) if rows is None else rows, samples] = values
        return
    flat = _slots(ring, samples, rows)
    ring.view(-1, ring.shape[2]).index_copy_(0, flat.flatten(), values.flatten(0, 1))


def add(ring: Tensor, samples: Samples, values: Tensor, rows: Tensor | None = None) -> None:
    """Adds to the slots of the given numbers, in place; arguments as in ``write``."""
    if isinstance(samples, slice):
        ring[slice(None) if rows is None else rows, samples] += values
        return
    flat = _slots(ring, samples, rows)
    ring.view(-1, ring.shape[2]).index_add_(0, flat.flatten(), values.flatten(0, 1))


def _slots(ring: Tensor, samples: Tensor, rows: Tensor | None) -> Tensor:
    """Where sample numbers stand in the buffer with its rows end to end."""
    size = ring.shape[1]
    slots = torch.remainder(samples, size)
    if rows is None:
        if ring.shape[0] == 1:
            return slots
        rows = torch.arange(ring.shape[0], device=ring.device)
    return slots + size * rows[:, None]


def advance(position: Tensor, count: int) -> Tensor:
    """Numbers of the next ``count`` samples of every row.                (B, count)."""
    return position[:, None] + torch.arange(count, device=position.device)


def blocks(x: Tensor, lengths: Tensor | None, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """A chunk in pieces of at most ``size`` samples, time before channels, padding set to 0.

    Args:
        x: Input; what stands behind a row's length is not read.     (B, D, n)
        lengths: Valid samples of each row; None: all.                    (B,)
        size: Largest piece.

    Yields:
        A piece (B, m, D), contiguous, and the number of valid samples of each row in it (B,).
    """
    rows, total = x.shape[0], x.shape[-1]
    across = mask_invalid(x, lengths).transpose(1, 2).contiguous()
    for start in range(0, total, size):
        piece = across[:, start : start + size]
        count = piece.shape[1]
        if lengths is None:
            valid = torch.full((rows,), count, dtype=torch.int64, device=x.device)
        else:
            valid = (lengths.to(x.device, torch.int64) - start).clamp(0, count)
        yield piece, valid
