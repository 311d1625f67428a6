"""Streaming of dense taps sample by sample: relaxed tiling, O(log^2 K) operations a sample."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from .._checks import mask_invalid, widened
from ..convolution import long_convolution
from .ring import Samples, add, advance, read, together, write
from .state import State
from .stepper import Cost, Stepper, empty

__all__ = ["TiledStepper", "equal_rows"]

#: Samples whose outputs take their inputs directly, before tiles take over.
BASE = 32


class TiledStepper(Stepper):
    """A causal convolution with any taps, y[t] = sum_j taps[d, j] u[t - j].

    When i samples are in and 2^k is the largest power of two that divides i, the last S = 2^k
    samples are convolved with the first 2 S taps, and the S results that lie ahead are added up in
    a ring ``ahead``. Every pair of an input and a later output falls into exactly one such tile, or
    into one base block of 32 samples, to whose outputs each input adds its share as it comes. Tiles
    are no larger than the kernel; the largest, P, starts the ring anew, so nothing is cleared.

    A step computes for all rows at once, then for the rows that are due for a tile of each size.
    A chunk takes the largest aligned pieces; rows at different positions are taken one by one.

    Args:
        taps: Impulse response.                                         (D, K)

    Cost: a step in which a tile of S is due takes an FFT of 2 S, once in 2 S samples; mean
    5 sum_k log2(2 S_k) operations a sample and channel. State 2 P numbers a channel, P the power of
    two at or above K.
    Source: van der Hoeven 2002, relaxed multiplication; Oncescu et al. 2024, "Flash inference".
    Positions a row, pieces in chunks and the cap at P are ours.

    Example:
        >>> import torch
        >>> from mrconv.streaming import TiledStepper
        >>> stepper = TiledStepper(torch.tensor([[1.0, 2.0]]))
        >>> stepper.step(torch.tensor([[3.0]]), stepper.init_state(1))[0]
        tensor([[3.]])
    """

    time_axis = 2
    taps: Tensor
    shifted: Tensor

    def __init__(self, taps: Tensor) -> None:
        super().__init__()
        taps = widened(taps.detach())
        self.size = max(BASE, 1 << (taps.shape[1] - 1).bit_length())  # P
        padded = functional.pad(taps, (0, 2 * self.size - taps.shape[1]))
        self.num_taps = taps.shape[1]
        self.register_buffer("taps", padded)
        # rows BASE - p.. are the taps of an input at place p for the outputs of its whole block
        self.register_buffer(
            "shifted", functional.pad(padded[:, :BASE], (BASE, 0)).t().contiguous()
        )
        self.levels = [BASE << k for k in range((self.size // BASE).bit_length())]
        for level in self.levels:
            spectrum = torch.fft.rfft(padded[:, : 2 * level]).t().contiguous()
            self.register_buffer(f"spectrum_{level}", torch.view_as_real(spectrum))

    def init_state(self, batch_size: int) -> State:
        """Silence before, nothing ahead."""
        ring = empty(batch_size, self.size, self.taps.shape[0], like=self.taps)
        position = empty(batch_size, like=self.taps, dtype=torch.int64)
        return State({"ring": ring, "ahead": ring.clone(), "position": position})

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample: its share of the base block, what lies ahead, then the tiles that are due."""
        ring, ahead, position = (state.tensors[name] for name in ("ring", "ahead", "position"))
        places = position.tolist()
        now = self._samples(position, places, 0, 1)
        write(ring, now, x[:, None])
        add(ahead, *self._share(x, position, places))
        y = read(ahead, now)[:, 0].clone()
        position += 1
        self._tiles(state)
        return y, state

    def _samples(self, position: Tensor, places: list[int], start: int, count: int) -> Samples:
        """Samples ``start`` .. of each row, as slots where all rows stand at one position.

        Args:
            position: Samples seen by each row.                            (B,)
            places: The same numbers.
            start: First sample, from the position on.
            count: Samples, which do not pass the end of the ring if they are slots.
        """
        place = together(places)
        if place is None:
            return advance(position + start, count)
        first = (place + start) % self.size
        return slice(first, first + count)

    def _share(self, x: Tensor, position: Tensor, places: list[int]) -> tuple[Samples, Tensor]:
        """The samples of each row's base block, and what the newest input adds to them."""
        place = together(places)
        if place is None:
            start = position % BASE
            near = self.shifted[advance(BASE - start, BASE)]  # (B, b, D)
            return advance(position - start, BASE), x[:, None] * near
        within = place % BASE
        near = self.shifted[BASE - within : 2 * BASE - within]  # (b, D)
        return self._samples(position, places, -within, BASE), x[:, None] * near

    def _tiles(self, state: State) -> None:
        """Runs the tile that is due for each row, all rows of one size at once."""
        lowest = [min(i & -i, self.size) for i in state.tensors["position"].tolist()]
        for level in set(lowest):
            if level >= BASE:
                due = [row for row, bit in enumerate(lowest) if bit == level]
                everyone = len(due) == len(lowest)
                rows = None if everyone else torch.tensor(due, device=self.taps.device)
                self._tile(state, rows, level)

    def _tile(self, state: State, rows: Tensor | None, size: int) -> None:
        ring, ahead, position = (state.tensors[name] for name in ("ring", "ahead", "position"))
        now = position if rows is None else position[rows]
        places = now.tolist()
        block = read(ring, self._samples(now, places, -size, size), rows)  # (B', S, D)
        spectrum = torch.fft.rfft(block, 2 * size, dim=1)
        spectrum *= torch.view_as_complex(self.get_buffer(f"spectrum_{size}"))
        results = torch.fft.irfft(spectrum, 2 * size, dim=1)[:, size:]
        # all slots lie ahead of the largest tile: what they hold is spent
        put = write if size == self.size else add
        put(ahead, self._samples(now, places, 0, size), results, rows)

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Aligned pieces of up to P samples, rows of equal position and length together."""
        u = mask_invalid(x, lengths)
        y = torch.zeros_like(u)
        for rows, count in equal_rows(state.tensors["position"], self.size, u.shape[-1], lengths):
            part = state if rows is None else state.rows(rows)
            own = u[..., :count] if rows is None else u[rows, :, :count]
            outputs = self._pieces(own, part)
            if rows is None:
                y[..., :count] = outputs
            else:
                y[rows, :, :count] = outputs
                state.write_rows(rows, part)
        return y, state

    def _pieces(self, u: Tensor, state: State) -> Tensor:
        """A chunk of rows at one position modulo P."""
        ring, ahead, position = (state.tensors[name] for name in ("ring", "ahead", "position"))
        place, start, outputs = int(position[0]), 0, [u[..., :0]]
        while start < u.shape[-1]:
            count = self._aligned(place % self.size, u.shape[-1] - start)
            rest = max(count, BASE - place % BASE)  # outputs up to the end of the base block
            samples = self._samples(position, [place], 0, rest)
            piece = u[..., start : start + count]
            write(ring, self._samples(position, [place], 0, count), piece.transpose(1, 2))
            padded = functional.pad(piece, (0, rest - count))
            add(ahead, samples, long_convolution(padded, self.taps[:, :rest]).transpose(1, 2))
            outputs.append(read(ahead, samples)[:, :count].transpose(1, 2).clone())
            position += count
            start, place = start + count, place + count
            self._tiles(state)
        return torch.cat(outputs, -1)

    def _aligned(self, phase: int, left: int) -> int:
        """Samples of the next piece: up to the end of a base block, or the largest aligned one."""
        rest = BASE - phase % BASE
        if rest < BASE or left < BASE:
            return min(rest, left)
        aligned = min(phase & -phase, self.size) if phase else self.size
        return min(aligned, 1 << (left.bit_length() - 1))

    def costs(self, place: str = "") -> Iterator[Cost]:
        """The base block and the tiles, amortised."""
        operations = tiled_operations(len(self.taps), self.num_taps)
        yield Cost(
            place, f"relaxed tiling, {self.num_taps} taps", operations, self.init_state(1).nbytes
        )


def tiled_operations(channels: int, num_taps: int) -> float:
    """Operations a sample of relaxed tiling, amortised.

    A tile of S costs two FFTs of 2 S, together about 10 S log2(2 S) a channel, and comes once in
    2 S samples; the largest, P, once in P.
    """
    size = max(BASE, 1 << (num_taps - 1).bit_length())
    levels = range(BASE.bit_length() - 1, size.bit_length())
    fft = sum(5 * (level + 1) for level in levels) + 5 * math.log2(2 * size)
    return channels * (BASE + fft)


def equal_rows(
    position: Tensor, modulus: int, count: int, lengths: Tensor | None
) -> Iterator[tuple[Tensor | None, int]]:
    """Rows that stand at one position and take as many samples, for computing them together.

    Args:
        position: Samples seen by each row, int64.                         (B,)
        modulus: Positions that differ by a multiple of it count as one.
        count: Samples of the chunk.
        lengths: Valid samples of each row; None: all.                     (B,)

    Yields:
        Row numbers, None for all rows, and the samples that they take, at least 1.
    """
    places = (position % modulus).tolist()
    counts = [count] * len(places) if lengths is None else lengths.tolist()
    groups: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(zip(places, counts, strict=True)):
        groups.setdefault(key, []).append(row)
    for (_, valid), rows in groups.items():
        if valid:
            everyone = len(rows) == len(places)
            yield None if everyone else torch.tensor(rows, device=position.device), valid
