"""Streaming of pooling: what the mean, the last or the largest of the samples so far is."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from .._checks import length_mask, mask_invalid
from .pieces import Window
from .ring import advance, blocks, stretch, write
from .state import State
from .stepper import Stepper, empty
from .windowed import WindowedStepper

__all__ = ["PoolingStepper", "pooling_stepper"]

PoolingName = Literal["mean", "last", "max"]

#: Samples of a chunk taken at once by windowed pooling.
BLOCK = 256


class PoolingStepper(Stepper):
    """Pools at every sample, over the last W samples or over all since the start."""

    time_axis = 2
    like: Tensor

    def __init__(self, like: Tensor, window: int | None = None) -> None:
        super().__init__()
        self.window = window
        self.register_buffer("like", torch.zeros_like(like.detach()))

    def _position(self, batch_size: int) -> Tensor:
        return empty(batch_size, like=self.like, dtype=torch.int64)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample, as a chunk of one."""
        y, state = self.chunk(x[..., None], state)
        return y[..., 0], state


class LastPooling(PoolingStepper):
    """The newest sample itself, whatever the window."""

    def init_state(self, batch_size: int) -> State:
        """Nothing."""
        return State({})

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """The input."""
        return x, state


class MeanPooling(PoolingStepper):
    """y[t] = 1 / (t + 1) sum_{s <= t} u[s], summed in float64."""

    def init_state(self, batch_size: int) -> State:
        """A sum of nothing."""
        sums = empty(batch_size, len(self.like), like=self.like, dtype=torch.float64)
        return State({"sum": sums, "position": self._position(batch_size)})

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Running sums over the sum before."""
        total, position = state.tensors["sum"], state.tensors["position"]
        count = advance(position, x.shape[-1]) + 1  # (B, n)
        u = mask_invalid(x, lengths).double()
        sums = total[..., None] + u.cumsum(-1)
        total += u.sum(-1)
        position += x.shape[-1] if lengths is None else lengths.to(x.device)
        return (sums / count[:, None]).to(x.dtype), state


class WindowedMean(PoolingStepper):
    """y[t] = 1 / n sum of the last n = min(t + 1, W) samples: a Fourier window of one mode."""

    def __init__(self, like: Tensor, window: int) -> None:
        super().__init__(like, window)
        one = torch.ones_like(self.like)
        amplitudes = torch.stack([one, torch.zeros_like(one)], -1)[:, None]  # (D, 1, 2)
        self.width, self.sums = window, WindowedStepper([Window(amplitudes, window)])

    def init_state(self, batch_size: int) -> State:
        """Sums of nothing."""
        return self.sums.init_state(batch_size)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample."""
        count = (state.tensors["position"] + 1).clamp_max(self.width)
        y, state = self.sums.step(x, state)
        return y / count[:, None], state

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Windowed sums over their counts."""
        count = (advance(state.tensors["position"], x.shape[-1]) + 1).clamp_max(self.width)
        y, state = self.sums.chunk(x, state, lengths)
        return y / count[:, None], state


class MaxPooling(PoolingStepper):
    """y[t] = the largest of all samples so far, channel by channel."""

    def init_state(self, batch_size: int) -> State:
        """Nothing seen, which only the position tells from a largest of 0."""
        largest = empty(batch_size, len(self.like), like=self.like)
        return State({"largest": largest, "position": self._position(batch_size)})

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """The largest so far, and of the chunk."""
        largest, position = state.tensors["largest"], state.tensors["position"]
        before = largest.masked_fill((position == 0)[:, None], -torch.inf)
        u = x
        if lengths is not None:
            lengths = lengths.to(x.device)
            u = u.masked_fill(~length_mask(lengths, x.shape[-1])[:, None], -torch.inf)
        seen = torch.cat([before[..., None], u], -1).cummax(-1).values
        position += x.shape[-1] if lengths is None else lengths
        largest.copy_(seen[..., -1].masked_fill((position == 0)[:, None], 0))
        return seen[..., 1:], state


class WindowedMax(PoolingStepper):
    """y[t] = the largest of the last min(t + 1, W) samples, channel by channel."""

    def __init__(self, like: Tensor, window: int) -> None:
        super().__init__(like, window)
        self.width = window

    def init_state(self, batch_size: int) -> State:
        """A silent ring buffer."""
        ring = empty(batch_size, self.width + BLOCK, len(self.like), like=self.like)
        return State({"ring": ring, "position": self._position(batch_size)})

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Blocks of samples and what came before them."""
        ring, position = state.tensors["ring"], state.tensors["position"]
        outputs, before = [x.new_zeros(x.shape[0], 0, x.shape[1])], self.width - 1
        for piece, valid in blocks(x, lengths, BLOCK):
            write(ring, advance(position, piece.shape[1]), piece)
            first, count = position - before, before + piece.shape[1]
            silent = (advance(first, count) < 0)[..., None]
            past = stretch(ring, first, count).masked_fill(silent, -torch.inf)
            outputs.append(_sliding_max(past, self.width))
            position += valid
        return torch.cat(outputs, 1).transpose(1, 2), state


def _sliding_max(x: Tensor, window: int) -> Tensor:
    """Largest of every ``window`` successive samples of (B, W - 1 + n, D).       (B, n, D).

    The largest of 2 w samples is the larger of those of w and w; two that overlap give any window.
    """
    width = 1
    while 2 * width <= window:
        x = torch.maximum(x[:, width:], x[:, : x.shape[1] - width])
        width *= 2
    rest = window - width
    return torch.maximum(x[:, rest:], x[:, : x.shape[1] - rest])


POOLINGS: dict[PoolingName, Callable[[Tensor], PoolingStepper]] = {
    "mean": MeanPooling,
    "last": LastPooling,
    "max": MaxPooling,
}
WINDOWED: dict[PoolingName, Callable[[Tensor, int], PoolingStepper]] = {
    "mean": WindowedMean,
    "last": LastPooling,
    "max": WindowedMax,
}


def pooling_stepper(name: PoolingName, like: Tensor, window: int | None = None) -> PoolingStepper:
    """The stepper of one kind of pooling.

    Args:
        name: "mean", "last" or "max".
        like: A tensor of as many channels, whose dtype and device the memory takes.   (D,)
        window: W, in samples; None: all since the start.

    Returns:
        A stepper of (B, D, n).
    """
    return POOLINGS[name](like) if window is None else WINDOWED[name](like, window)
