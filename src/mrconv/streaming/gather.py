"""Streaming of few taps at any lags: a ring buffer and a gather."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .._checks import widened
from .ring import advance, blocks, read, stretch, write
from .state import State
from .stepper import Cost, Stepper, empty

__all__ = ["GatherStepper"]

#: Slots behind the farthest lag, which is the longest block that is written at once: at least so
#: many, and at least this part of the farthest lag.
SLACK, PART = 64, 8
#: Elements gathered at a time: they should stay in the cache.
GATHERED = 1 << 19


class Run(NamedTuple):
    """Taps at equally spaced lags."""

    taps: slice
    """Their places among all taps."""
    spacing: int
    """Samples from one lag to the next."""
    farthest: int
    """The first and largest lag."""


def runs(lags: Sequence[int]) -> list[Run]:
    """Descending lags as few runs, each as long as the spacing of its first two lags holds.

    Example:
        >>> [(run.taps.stop - run.taps.start, run.spacing) for run in runs([20, 8, 6, 4, 2, 1, 0])]
        [(2, 12), (3, 2), (2, 1)]
    """
    found, start = [], 0
    while start < len(lags):
        spacing = lags[start] - lags[start + 1] if start + 1 < len(lags) else 1
        stop = start + 1
        while stop < len(lags) and lags[stop - 1] - lags[stop] == spacing:
            stop += 1
        found.append(Run(slice(start, stop), spacing, lags[start]))
        start = stop
    return found


class GatherStepper(Stepper):
    """A causal convolution with few taps, y[t] = sum_q values[d, q] u[t - lags[q]].

    Args:
        lags: Samples back, int64, from 0.                                 (Q,)
        values: The taps there.                                         (D, Q)

    Cost: Q products a sample and channel, whatever the lags; state one ring buffer as long as the
    farthest lag. Equal to the direct sum but for the order of summation.

    Example:
        >>> import torch
        >>> from mrconv.streaming import GatherStepper
        >>> stepper = GatherStepper(torch.tensor([0, 2]), torch.tensor([[1.0, 5.0]]))
        >>> y, state = stepper.chunk(torch.tensor([[[1.0, 2.0, 3.0]]]), stepper.init_state(1))
        >>> y.tolist()
        [[[1.0, 2.0, 8.0]]]
    """

    time_axis = 2
    lags: Tensor
    weights: Tensor

    def __init__(self, lags: Tensor, values: Tensor) -> None:
        super().__init__()
        descending, order = lags.detach().sort(descending=True)
        self.register_buffer("lags", descending)
        self.register_buffer("weights", widened(values.detach()).t()[order].contiguous())  # (Q, D)
        self.runs = runs(descending.tolist())
        self.longest = max((run.taps.stop - run.taps.start for run in self.runs), default=1)
        self.reach = int(lags.max()) if lags.numel() else 0
        self.slack = max(SLACK, self.reach // PART)

    def init_state(self, batch_size: int) -> State:
        """A silent ring buffer."""
        size = self.reach + 1 + self.slack
        ring = empty(batch_size, size, self.weights.shape[1], like=self.weights)
        position = empty(batch_size, like=self.weights, dtype=torch.int64)
        return State({"ring": ring, "position": position})

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample; torch operations on tensors only."""
        ring, position = state.tensors["ring"], state.tensors["position"]
        write(ring, position[:, None], x[:, None])
        past = read(ring, position[:, None] - self.lags)  # a copy (B, Q, D)
        position += 1
        return past.mul_(self.weights).sum(1), state

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Blocks of samples: written first, then gathered or, where less, summed run by run."""
        ring, position = state.tensors["ring"], state.tensors["position"]
        outputs = [x.new_zeros(x.shape[0], 0, x.shape[1])]
        for piece, valid in blocks(x, lengths, self._block(x.shape[0])):
            count = piece.shape[1]
            write(ring, advance(position, count), piece)
            few = count * len(self.lags) < self.reach
            outputs.append((self._gathered if few else self._by_runs)(ring, position, count))
            position += valid
        return torch.cat(outputs, 1).transpose(1, 2), state

    def _block(self, rows: int) -> int:
        """Samples summed at a time."""
        one = max(1, rows * self.longest * self.weights.shape[1])
        return max(1, min(self.slack, GATHERED // one))

    def _gathered(self, ring: Tensor, position: Tensor, count: int) -> Tensor:
        """The outputs of the next samples, each tap of each one read from the ring. (B, n, D)."""
        samples = advance(position, count)
        past = read(ring, (samples[..., None] - self.lags).flatten(1))  # a copy (B, n Q, D)
        return past.unflatten(1, (count, -1)).mul_(self.weights).sum(2)

    def _by_runs(self, ring: Tensor, position: Tensor, count: int) -> Tensor:
        """The same, the past read once.                                             (B, n, D).

        Sample t - lag stands at place reach + t - lag, so a run is a view of strides 1 and spacing.
        """
        past = stretch(ring, position - self.reach, self.reach + count)
        rows, places, channel = past.stride()
        y = past.new_zeros(len(past), count, past.shape[2])
        products = y.new_empty(y.numel() * self.longest)  # written again by every run
        for run in self.runs:
            weights = self.weights[run.taps]
            shape = (len(past), count, *weights.shape)
            strides = (rows, places, run.spacing * places, channel)
            view = past[:, self.reach - run.farthest :].as_strided(shape, strides)
            out = products[: y.numel() * len(weights)].view(shape)
            y += torch.mul(view, weights, out=out).sum(2)
        return y

    def costs(self, place: str = "") -> Iterator[Cost]:
        """Two operations a tap."""
        yield Cost(
            place,
            f"gather, {self.lags.numel()} taps",
            2.0 * self.weights.numel(),
            self.init_state(1).nbytes,
        )
