"""Streaming of dense taps chunk by chunk: uniformly partitioned FFT convolution."""

import math
from collections.abc import Iterator
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional

from .._checks import mask_invalid, widened
from .ring import advance, read, write
from .state import State
from .stepper import Cost, Stepper, empty
from .tiled import equal_rows

__all__ = ["FlatStepper", "PartitionedStepper"]

#: Spectra that are multiplied at a time.
RUN = 16


class PartitionedStepper(Stepper):
    """A causal convolution with any taps in blocks of C samples, y[t] = sum_j taps[d, j] u[t - j].

    The taps are cut into N = ceil(K / C) parts. When a block of inputs is full, its spectrum X
    joins those of the N - 1 blocks before, and the next block's share of the past is

        ahead = last C of irfft( sum_{p=1..N} G_p X_{m + 1 - p} ),  G_p = rfft of taps (p - 1) C ..

    Blocks stand at multiples of C of each row's own position; inside a block the first taps are
    summed directly, so that nothing waits.

    Args:
        taps: Impulse response.                                         (D, K)
        block: C, a power of two; None takes one near sqrt(2 K).

    Cost: two FFTs of 2 C and N spectral products a block, about 8 K / C + 10 log2(2 C) operations
    a sample and channel, and C / 2 direct products; one spike a block. State about 2 K numbers a
    channel.
    Source: Stockham 1966; Gardner 1995 and Wefers 2015 on uniform partitions.

    Example:
        >>> import torch
        >>> from mrconv.streaming import PartitionedStepper
        >>> stepper = PartitionedStepper(torch.tensor([[1.0, 2.0]]))
        >>> x = torch.tensor([[[3.0, 0.0, 1.0]]])
        >>> stepper.chunk(x, stepper.init_state(1))[0].round().tolist()
        [[[3.0, 6.0, 1.0]]]
    """

    time_axis = 2
    near: Tensor
    first: Tensor
    parts: Tensor
    #: Blocks that are summed directly: the present one.
    direct = 1

    def __init__(self, taps: Tensor, block: int | None = None) -> None:
        super().__init__()
        taps = widened(taps.detach())
        self.num_taps = taps.shape[1]
        self.block = block or self._block_size(self.num_taps)
        size, blocks = self.block, max(1, -(-self.num_taps // self.block))
        padded = functional.pad(taps, (0, (blocks + 1) * size - self.num_taps))
        parts = padded.unfold(1, 2 * size, size)  # (D, N, 2 C)
        spectra = torch.fft.rfft(parts).permute(1, 2, 0)  # (N, C + 1, D)
        near = functional.pad(taps, (0, max(0, self.direct * size - self.num_taps)))
        near = near[:, : self.direct * size].t().contiguous()
        first = torch.fft.rfft(near, 2 * self.direct * size, dim=0)
        self.blocks = blocks
        self.register_buffer("near", near)
        self.register_buffer("first", torch.view_as_real(first))
        # twice and backwards, so that the parts for all slots of a ring are one slice
        self.register_buffer("parts", torch.view_as_real(spectra.flip(0).repeat(2, 1, 1)))

    @staticmethod
    def _block_size(num_taps: int) -> int:
        return min(max(16, 1 << ((2 * num_taps).bit_length() // 2)), 256)

    def init_state(self, batch_size: int) -> State:
        """Silence before, nothing ahead."""
        size, blocks, (bins, channels) = self.block, self.blocks, self.parts.shape[1:3]
        ring = empty(batch_size, (self.direct + 1) * size, channels, like=self.near)
        return State(
            {
                "ring": ring,
                "ahead": empty(batch_size, size, channels, like=self.near),
                "spectra": empty(batch_size, blocks, bins, channels, 2, like=self.near),
                "sum": empty(batch_size, bins, channels, 2, like=self.near),
                "position": empty(batch_size, like=self.near, dtype=torch.int64),
            }
        )

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample; spectral work for the rows that are due."""
        ring, ahead, position = (state.tensors[name] for name in ("ring", "ahead", "position"))
        now = position[:, None]
        write(ring, now, x[:, None])
        lags = torch.arange(len(self.near), device=x.device)
        recent = read(ring, now - lags) * self.near
        inside = lags <= torch.remainder(now, self.block) + (self.direct - 1) * self.block
        y = read(ahead, now)[:, 0] + (recent * inside[..., None]).sum(1)
        position += 1
        self._work(state, 1)
        return y, state

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Pieces up to the ends of blocks, rows of equal place in their block together."""
        u = mask_invalid(x, lengths)
        y = torch.zeros_like(u)
        for rows, count in equal_rows(state.tensors["position"], self.block, u.shape[-1], lengths):
            part = state if rows is None else state.rows(rows)
            chosen = slice(None) if rows is None else rows
            y[chosen, :, :count] = self._pieces(u[chosen, :, :count], part)
            if rows is not None:
                state.write_rows(rows, part)
        return y, state

    def _pieces(self, u: Tensor, state: State) -> Tensor:
        """A chunk of rows that stand at one place in their blocks."""
        ring, ahead, position = (state.tensors[name] for name in ("ring", "ahead", "position"))
        size, within = self.block, int(position[0]) % self.block
        cuts = [0, *range(size - within, u.shape[-1], size), u.shape[-1]]
        outputs = [u[..., :0]]
        for start, end in pairwise(cuts):
            piece, before = u[..., start:end], within + (self.direct - 1) * size
            samples = advance(position - before, before + end - start)
            write(ring, samples[:, before:], piece.transpose(1, 2))
            own = self._directly(read(ring, samples))[:, before:]
            outputs.append((own + read(ahead, samples[:, before:])).transpose(1, 2))
            position += end - start
            self._work(state, end - start)
            within = (within + end - start) % size
        return torch.cat(outputs, -1)

    def _directly(self, u: Tensor) -> Tensor:
        """Samples (B, n, D) of the blocks that are summed directly, with the first taps."""
        size = 2 * self.direct * self.block
        spectrum = torch.fft.rfft(u, size, dim=1) * torch.view_as_complex(self.first)
        return torch.fft.irfft(spectrum, size, dim=1)[:, : u.shape[1]]

    def _work(self, state: State, count: int) -> None:
        """Spectral work behind ``count`` samples, which did not cross the end of a block."""
        full = self._rows(state.tensors["position"], 0).get(0)
        if full is not None:
            self._store(state, full)
            self._add(state, full, range(1, self.blocks + 1))
            self._release(state, full)

    def _rows(self, position: Tensor, before: int) -> dict[int, Tensor]:
        """Rows by their place in the block, ``before`` samples ago."""
        groups: dict[int, list[int]] = {}
        for row, place in enumerate(((position - before) % self.block).tolist()):
            groups.setdefault(place, []).append(row)
        device = position.device
        return {place: torch.tensor(rows, device=device) for place, rows in groups.items()}

    def _present(self, state: State, rows: Tensor) -> Tensor:
        """m, number of the block that the newest sample of each row belongs to."""
        return torch.div(state.tensors["position"][rows] - 1, self.block, rounding_mode="floor")

    def _store(self, state: State, rows: Tensor) -> None:
        """The spectrum of the full block m in place of that of block m - N."""
        first = self._present(state, rows) * self.block
        block = read(state.tensors["ring"], advance(first, self.block), rows)
        spectrum = torch.view_as_real(torch.fft.rfft(block, 2 * self.block, dim=1))
        slots = self._present(state, rows) % self.blocks
        state.tensors["spectra"].index_put_((rows, slots), spectrum)

    def _add(self, state: State, rows: Tensor, parts: range) -> None:
        """Adds G_p X_{m + 1 - p} for some parts p to the sums for the blocks m + 1.

        Slot s holds the block of part p = (m - s) mod N + 1, so parts that follow each other stand
        in one or two runs of slots.
        """
        if not parts:
            return
        spectra = torch.view_as_complex(state.tensors["spectra"])
        sums = torch.view_as_complex(state.tensors["sum"])
        weights = torch.view_as_complex(self.parts)
        numbers = (self._present(state, rows) % self.blocks).tolist()
        for m in sorted(set(numbers)):
            mine = rows[[number == m for number in numbers]]
            first, shift = (m + 2 - parts.stop) % self.blocks, self.blocks - 1 - m
            for run in _runs(first, first + len(parts), self.blocks):
                old = spectra[:, run] if len(mine) == len(sums) else spectra[mine, run]
                some = weights[run.start + shift : run.stop + shift]
                sums.index_add_(0, mine, (old * some).sum(1))

    def _release(self, state: State, rows: Tensor) -> None:
        """Turns the sum into what lies ahead, and starts a new one."""
        sums = torch.view_as_complex(state.tensors["sum"])
        results = torch.fft.irfft(sums[rows], 2 * self.block, dim=1)[:, self.block :]
        state.tensors["ahead"].index_copy_(0, rows, results)
        state.tensors["sum"].index_fill_(0, rows, 0)

    def costs(self, place: str = "") -> Iterator[Cost]:
        """Direct products, spectral products and FFTs, amortised."""
        blocks, (bins, channels) = self.blocks, self.parts.shape[1:3]
        near = (self.direct - 0.5) * self.block
        spectral = 8 * blocks * bins / self.block + 10 * math.log2(2 * self.block)
        name = f"partitioned FFT, {self.num_taps} taps in blocks of {self.block}"
        yield Cost(place, name, channels * (2 * near + spectral), self.init_state(1).nbytes)


class FlatStepper(PartitionedStepper):
    """``PartitionedStepper`` with the spectral products spread evenly over the steps.

    Two blocks are summed directly in place of one, which leaves a whole block's time for the
    products: every step does N / C of them. FFTs stay at the ends of blocks.

    Example:
        >>> import torch
        >>> from mrconv.streaming import FlatStepper
        >>> stepper = FlatStepper(torch.tensor([[1.0, 2.0]]))
        >>> stepper.step(torch.tensor([[3.0]]), stepper.init_state(1))[0]
        tensor([[3.]])
    """

    direct = 2

    @staticmethod
    def _block_size(num_taps: int) -> int:
        return min(max(16, 1 << ((num_taps).bit_length() // 2)), 128)

    def _work(self, state: State, count: int) -> None:
        """The products that belong to these places in the block; at its end the FFTs."""
        parts, position = self.blocks - 1, state.tensors["position"]
        for place, rows in self._rows(position, count).items():
            first, last = place * parts // self.block, (place + count) * parts // self.block
            self._add(state, rows, range(2 + first, 2 + last))
            if place + count == self.block:
                self._release(state, rows)
                self._store(state, rows)


def _runs(first: int, end: int, size: int) -> Iterator[slice]:
    """Slots first..end-1 of a ring as slices, none so long that its products leave the cache."""
    for low, high in ((first, min(end, size)), (0, end - size)):
        for start in range(low, high, RUN):
            yield slice(start, min(start + RUN, high))
