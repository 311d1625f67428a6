"""Streaming of Hyena and MultiHyena: the last two samples, and the memory of the long filters."""

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from .._checks import widened
from ..nn.gated_conv import GatedConv
from .layers import refuse_other_rates
from .state import State
from .stepper import Cost, Settings, Stepper, empty, make_stepper

__all__ = ["GatedStepper"]

#: Numbers that the long filters are handed at a time: a chunk of an outer product is taken in
#: pieces, which are no shorter than LEAST samples.
HANDED, LEAST = 1 << 24, 1024


class GatedStepper(Stepper):
    """A ``Hyena`` or ``MultiHyena`` around the stepper of its long filters.

    The stepper of the filters has one row for every row and entry that shares a filter; its state
    is kept with the entries behind the rows, (B, entries, ...), so that rows stay rows.

    Args:
        layer: In eval mode; a copy without its filters is kept.
        filters: Their stepper.

    Cost: 8 D^2 operations a sample for the projections, and those of the filters on D channels, or
    D N for heads of width N.

    Example:
        >>> import torch, mrconv
        >>> stream = mrconv.Streamer(mrconv.MultiHyena(4, 100, num_filters=2).eval())
        >>> y, state = stream.chunk(torch.randn(1, 4, 10), stream.init_state(1))
        >>> stream.step(torch.randn(1, 4), state)[0].shape
        torch.Size([1, 4])
    """

    time_axis = 2

    def __init__(self, layer: GatedConv, filters: Stepper) -> None:
        super().__init__()
        self.filters, self.entries = filters, layer.rows
        self.layer: GatedConv = copy.deepcopy(layer, {id(layer.filter): nn.Identity()})

    def init_state(self, batch_size: int) -> State:
        """Silence before; the filters' memory of every entry."""
        short = self.layer.short
        like, behind = widened(short.weight), short.num_taps - 1
        before = empty(batch_size, short.channels, behind, like=like)
        filters = self._by_rows(self.filters.init_state(batch_size * self.entries))
        return State({"before": before}, {"filters": filters})

    def _by_rows(self, filters: State) -> State:
        """Entries behind their rows: (B entries, ...) to (B, entries, ...)."""
        n = self.entries
        return filters.map(lambda tensor: tensor.unflatten(0, (len(tensor) // n, n)))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample of every row."""
        q, k, v, before = self._gates_of_one(x, state)
        handed = self.layer.product(k, v)[..., 0].to(x.dtype)
        filtered, filters = self.filters.step(handed, _flat(state.part("filters")))
        mixed = self.layer.read(q, widened(filtered)[..., None])[..., 0]
        y = self.layer.out(mixed.to(x.dtype))
        return y, State({"before": before}, {"filters": self._by_rows(filters)})

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Any number of samples, in pieces where their products would be too large."""
        outputs = [x[..., :0]]
        size = max(LEAST, HANDED // max(1, len(x) * self.entries * self.layer.num_filters))
        for start in range(0, x.shape[-1], size):
            piece = x[..., start : start + size]
            valid = None if lengths is None else (lengths - start).clamp(0, piece.shape[-1])
            y, state = self._piece(piece, state, valid)
            outputs.append(y)
        return torch.cat(outputs, -1), state

    def _piece(self, x: Tensor, state: State, lengths: Tensor | None) -> tuple[Tensor, State]:
        q, k, v, before = self._gates(x, state, lengths)
        each = None if lengths is None else lengths.repeat_interleave(self.entries)
        handed = self.layer.product(k, v).to(x.dtype)
        filtered, filters = self.filters.chunk(handed, _flat(state.part("filters")), each)
        mixed = self.layer.read(q, widened(filtered)).to(x.dtype)
        y = self.layer.out(mixed.transpose(1, 2)).transpose(1, 2)
        return y, State({"before": before}, {"filters": self._by_rows(filters)})

    def _gates_of_one(self, x: Tensor, state: State) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """``_gates`` of one sample, whose short convolution is a sum of products."""
        short, before = self.layer.short, state.tensors["before"]
        run = torch.cat([before, widened(self.layer.qkv(x))[..., None]], -1)  # (B, 3 D, 3)
        gates = (run * widened(short.weight).flip(-1)).sum(-1) + widened(short.bias)
        q, k, v = gates[..., None].chunk(3, 1)
        return q, k, v, run[..., 1:].contiguous()

    def _gates(
        self, x: Tensor, state: State, lengths: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Queries, keys and values (B, D, n), and the projections before the next sample."""
        before = state.tensors["before"]
        new = widened(self.layer.qkv(x.transpose(1, 2)).transpose(1, 2))
        run, behind = torch.cat([before, new], -1), before.shape[-1]
        q, k, v = self.layer.short(run, method="direct")[..., behind:].chunk(3, 1)
        ends = torch.full((len(x),), x.shape[-1], device=x.device)
        ends = ends if lengths is None else lengths.to(ends)
        last = ends[:, None] + torch.arange(behind, device=x.device)  # (B, 2)
        return q, k, v, run.gather(2, last[:, None].expand(-1, run.shape[1], -1))

    def costs(self, place: str = "") -> Iterator[Cost]:
        """One line: the filters of all entries and the projections, beside the merged form."""
        channels, short = self.layer.channels, self.layer.short
        fixed = 8.0 * channels**2 + 2.0 * short.channels * short.num_taps
        fixed += 3.0 * self.entries * self.layer.num_filters
        lines = list(self.filters.costs())
        merged = [line.merged * self.entries + fixed for line in lines if line.merged is not None]
        yield Cost(
            place,
            f"{self.entries} x {self.layer.num_filters} of "
            + " + ".join(line.method for line in lines),
            self.entries * sum(line.operations for line in lines) + fixed,
            self.init_state(1).nbytes,
            sum(merged) if merged else None,
        )


def _flat(filters: State) -> State:
    """Entries as rows, (B, entries, ...) to (B entries, ...); views of the same memory."""
    return filters.map(lambda tensor: tensor.flatten(0, 1))


@make_stepper.register
def _(module: GatedConv, settings: Settings) -> Stepper:
    refuse_other_rates(type(module).__name__, settings.rate)
    return GatedStepper(module, make_stepper(module.filter, settings))
