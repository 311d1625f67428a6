"""Streaming of attention: keys and values of all samples so far, in a cache of fixed size."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from .._checks import check_layer_input
from ..errors import ArgumentError
from ..nn.attention import Attention
from .layers import refuse_other_rates, refuse_two_sided
from .ring import advance
from .state import State
from .stepper import Cost, Settings, Stepper, empty, make_stepper

__all__ = ["AttentionStepper"]

#: Queries that share one mask: of a long chunk behind a long past the mask would fill the memory.
QUERIES = 1024


class AttentionStepper(Stepper):
    """Causal attention with a cache of rotated keys and values, one position a row.

    The cache is made once. A chunk at the start of all rows attends to itself alone, by the causal
    kernel without a mask; a step of rows at one position attends to a slice of the cache, also
    without one; rows at different positions are masked.

    Args:
        layer: In eval mode, causal.
        capacity: Samples that a row may take.

    Cost: 8 D^2 + 4 D t operations at sample t; state 2 D numbers for each sample of the capacity.

    Example:
        >>> import torch, mrconv
        >>> stream = mrconv.Streamer(mrconv.nn.Attention(4, 100).eval(), capacity=20)
        >>> y, state = stream.chunk(torch.randn(1, 4, 10), stream.init_state(1))
        >>> stream.step(torch.randn(1, 4), state)[0].shape
        torch.Size([1, 4])
    """

    time_axis = 2

    def __init__(self, layer: Attention, capacity: int) -> None:
        super().__init__()
        self.layer, self.capacity = layer, capacity

    def init_state(self, batch_size: int) -> State:
        """Zeros for the whole capacity."""
        like, heads = self.layer.qkv.weight, self.layer.num_heads
        keys = empty(batch_size, heads, self.capacity, self.layer.channels // heads, like=like)
        position = empty(batch_size, like=like, dtype=torch.int64)
        return State({"keys": keys, "values": torch.zeros_like(keys), "position": position})

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample, as a chunk of one."""
        y, state = self.chunk(x[..., None], state)
        return y[..., 0], state

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Any number of samples: written to the cache, then attended to."""
        check_layer_input("Streamer", x, self.layer.channels, self.layer.qkv.weight.dtype)
        if not x.numel():
            return x, state
        position = state.tensors["position"]
        taken = torch.full_like(position, x.shape[-1]) if lengths is None else lengths.to(position)
        first, last, end = (int(one) for one in (*position.aminmax(), (position + taken).max()))
        self._check_room(end)
        query, key, value = self.layer.heads(x, position)
        self._write(state, key, value, lengths, first if first == last else None)
        if last == 0:
            mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            mixed = self._attended(query, state, first == last, last)
        position += taken
        return self.layer.joined(mixed), state

    def _check_room(self, end: int) -> None:
        if end > self.capacity:
            raise ArgumentError(
                f"Streamer: rows must stay within the capacity of {self.capacity} samples, whose "
                f"keys and values attention keeps; got {end}. Make the Streamer with "
                f"capacity={2 * end}, or reset the rows."
            )

    def _write(
        self, state: State, key: Tensor, value: Tensor, lengths: Tensor | None, at: int | None
    ) -> None:
        """Puts (B, H, n, F) behind what every row has; ``at``: one place for all rows."""
        count = key.shape[2]
        if at is not None and lengths is None:
            state.tensors["keys"][:, :, at : at + count] = key
            state.tensors["values"][:, :, at : at + count] = value
            return
        slots = advance(state.tensors["position"], count)  # (B, n)
        valid = torch.ones_like(slots, dtype=torch.bool)
        if lengths is not None:
            valid = slots < (state.tensors["position"] + lengths.to(slots))[:, None]
        rows, samples = valid.nonzero(as_tuple=True)
        for name, new in (("keys", key), ("values", value)):
            state.tensors[name][rows, :, slots[rows, samples]] = new[rows, :, samples]

    def _attended(self, query: Tensor, state: State, together: bool, last: int) -> Tensor:
        """Values weighed by what each query (B, H, n, F) may see; ``last``: the farthest row's."""
        keys, values, position = (state.tensors[name] for name in ("keys", "values", "position"))
        position = position[:1] if together else position
        outputs = []
        for start in range(0, query.shape[2], QUERIES):
            part = query[:, :, start : start + QUERIES]
            count = part.shape[2]
            end = min(last + start + count, self.capacity)
            mask = None
            if count > 1 or not together:
                seen = advance(position + start, count)[:, None, :, None]  # (B or 1, 1, n, 1)
                mask = torch.arange(end, device=query.device) <= seen
            outputs.append(
                scaled_dot_product_attention(
                    part, keys[:, :, :end], values[:, :, :end], attn_mask=mask
                )
            )
        return torch.cat(outputs, 2)

    def costs(self, place: str = "") -> Iterator[Cost]:
        """A line, at the end of the capacity."""
        channels, capacity = self.layer.channels, self.capacity
        operations = 8.0 * channels**2 + 4.0 * channels * capacity
        method = f"attention to a cache of {capacity} samples, full"
        yield Cost(place, method, operations, self.init_state(1).nbytes, operations)


@make_stepper.register
def _(module: Attention, settings: Settings) -> Stepper:
    refuse_two_sided(module.causal)
    refuse_other_rates("Attention", settings.rate)
    return AttentionStepper(module, settings.capacity or module.length)
