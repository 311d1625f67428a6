"""Batches of examples that are in memory, shared out over processes."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from ..data import Examples

__all__ = ["Batch", "Batches", "moved"]

Batch = tuple[Tensor, Tensor, Tensor | None]


class Batches:
    """Iterates (x, y, lengths) over examples.

    Args:
        examples: All examples of a split.
        batch_size: Rows of a batch; the last one may have fewer.
        order: Gives the order anew for every pass; None: as they stand.
        rank: Of this process.
        processes: Every process takes each ``processes``-th example. In a shuffled pass the first
            examples are visited twice where that is needed to give every process as many.

    Example:
        >>> import torch
        >>> from mrconv.data import Examples
        >>> batches = Batches(Examples(torch.ones(5, 3, 1), torch.arange(5)), 2)
        >>> [y.tolist() for x, y, lengths in batches]
        [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        examples: Examples,
        batch_size: int,
        order: Callable[[], Tensor] | None = None,
        *,
        rank: int = 0,
        processes: int = 1,
    ) -> None:
        self.examples, self.batch_size, self.order = examples, batch_size, order
        self.rank, self.processes = rank, processes

    def __len__(self) -> int:
        count = len(self.examples)
        own = -(-count // self.processes)
        if self.order is None:
            own = len(range(self.rank, count, self.processes))
        return -(-own // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        # The order is asked for with the first batch, not before.
        count = len(self.examples)
        if self.order is None:
            rows = torch.arange(count)
        else:
            own = -(-count // self.processes)
            rows = self.order()[torch.arange(own * self.processes) % count]
        rows = rows[self.rank :: self.processes]
        for start in range(0, len(rows), self.batch_size):
            chosen = rows[start : start + self.batch_size]
            lengths = None if self.examples.lengths is None else self.examples.lengths[chosen]
            yield self.examples.x[chosen], self.examples.y[chosen], lengths


def moved(batch: Batch, like: Tensor) -> Batch:
    """A batch where a parameter lives; values in the parameter's dtype.

    Args:
        batch: x, y and lengths.
        like: Gives device and dtype.
    """
    x, y, lengths = batch
    x, y = (
        one.to(like.device, like.dtype if one.is_floating_point() else one.dtype) for one in (x, y)
    )
    return x, y, None if lengths is None else lengths.to(like.device)
