"""Streaming of few taps at any lags: a ring buffer and a gather."""

from collections.abc import Iterator

import torch
from torch import Tensor

from .._checks import widened
from .ring import advance, blocks, read, write
from .state import State
from .stepper import Cost, Stepper, empty

__all__ = ["GatherStepper"]

#: Slots behind the farthest lag, which is the longest block that is written at once.
SLACK = 64
#: Elements gathered at a time: they should stay in the cache.
GATHERED = 1 << 19


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
        self.register_buffer("lags", lags.detach().clone())
        self.register_buffer("weights", widened(values.detach()).t().contiguous())  # (Q, D)
        self.size = int(lags.max()) + 1 + SLACK if lags.numel() else 1 + SLACK

    def init_state(self, batch_size: int) -> State:
        """A silent ring buffer."""
        ring = empty(batch_size, self.size, self.weights.shape[1], like=self.weights)
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
        """Blocks of samples: written first, then gathered."""
        ring, position = state.tensors["ring"], state.tensors["position"]
        one = max(1, x.shape[0] * self.weights.numel())
        outputs = [x.new_zeros(x.shape[0], 0, x.shape[1])]
        for piece, valid in blocks(x, lengths, max(1, min(SLACK, GATHERED // one))):
            samples = advance(position, piece.shape[1])  # (B, m)
            write(ring, samples, piece)
            past = read(ring, (samples[..., None] - self.lags).flatten(1))  # a copy (B, m Q, D)
            past = past.unflatten(1, (piece.shape[1], -1))
            outputs.append(past.mul_(self.weights).sum(2))
            position += valid
        return torch.cat(outputs, 1).transpose(1, 2), state

    def costs(self, place: str = "") -> Iterator[Cost]:
        """Two operations a tap."""
        yield Cost(
            place,
            f"gather, {self.lags.numel()} taps",
            2.0 * self.weights.numel(),
            self.init_state(1).nbytes,
        )
