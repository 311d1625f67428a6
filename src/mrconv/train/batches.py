"""Batches of examples, shared out over processes: as they come, or of rows of near length."""

from collections.abc import Callable, Iterator
from typing import Literal

import torch
from torch import Tensor

from ..data import Examples
from .ahead import fetched

__all__ = ["BATCHES", "Batch", "Batches", "Batching", "BucketedBatches", "moved"]

Batch = tuple[Tensor, Tensor, Tensor | None]
#: How rows are put together.
Batching = Literal["plain", "bucketed"]


class Batches:
    """Iterates (x, y, lengths) over examples.

    Args:
        examples: All examples of a split.
        batch_size: Rows of a batch; the last one may have fewer.
        order: Gives the order anew for every pass; None: as they stand.
        rank: Of this process.
        processes: Every process takes each ``processes``-th example, so that their batches together
            are those of one process with ``processes`` times the batch size. In a shuffled pass the
            first examples are visited twice where that is needed to give every process as many.
        workers: Threads that fetch batches ahead of their use; 0: each when it is asked for.

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
        workers: int = 0,
    ) -> None:
        self.examples, self.batch_size, self.order = examples, batch_size, order
        self.rank, self.processes, self.workers = rank, processes, workers

    def __len__(self) -> int:
        count = len(self.examples)
        own = -(-count // self.processes)
        if self.order is None:
            own = len(range(self.rank, count, self.processes))
        return -(-own // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        # The order is asked for with the first batch, not before.
        together = self._arranged(self._order()).split(self.batch_size * self.processes)
        own = [rows for rows in together if len(rows) > self.rank]
        yield from fetched(self._batch, own, self.workers)

    def _order(self) -> Tensor:
        """Rows in the order in which all processes together visit them."""
        count = len(self.examples)
        if self.order is None:
            return torch.arange(count)
        own = -(-count // self.processes)
        return self.order()[torch.arange(own * self.processes) % count]

    def _arranged(self, rows: Tensor) -> Tensor:
        """The order in which rows are cut into batches of all processes."""
        return rows

    def _batch(self, together: Tensor) -> Batch:
        """This process's part of a batch of all processes."""
        chosen, examples = together[self.rank :: self.processes], self.examples
        lengths = None if examples.lengths is None else examples.lengths[chosen]
        return examples.x[chosen], examples.y[chosen], lengths


class BucketedBatches(Batches):
    """As ``Batches``, of rows of near length, and cut to the longest of them.

    The order is taken ``WINDOW`` batches at a time; the rows of a window are sorted by length and
    cut into batches, which come in the order in which their first rows did, so that short and long
    ones are mixed. Without an order all rows are one window. Which rows are together follows from
    the order alone, and is that of one process with the joined batch. Models give the same for a
    batch that is cut, since what stands behind a row's length is never read.

    Without ``lengths`` this is ``Batches``. Of a pair the longer one counts.

    Args:
        examples: As of ``Batches``, and so on.

    Example:
        >>> import torch
        >>> from mrconv.data import Examples
        >>> lengths = torch.tensor([3, 1, 3, 1])
        >>> examples = Examples(torch.ones(4, 3, 1), torch.arange(4), lengths)
        >>> [(y.tolist(), x.shape[1]) for x, y, lengths in BucketedBatches(examples, 2)]
        [([1, 3], 1), ([0, 2], 3)]
    """

    #: Batches that are sorted together: more of them waste less padding, and mix the rows less.
    WINDOW = 50

    def _arranged(self, rows: Tensor) -> Tensor:
        if self.examples.lengths is None:
            return rows
        lengths = _longest(self.examples.lengths)[rows]
        if self.order is None:
            return rows[lengths.argsort(stable=True)]
        size = self.batch_size * self.processes
        windows = zip(
            rows.split(self.WINDOW * size), lengths.split(self.WINDOW * size), strict=True
        )
        return torch.cat([window[_bucketed(known, size)] for window, known in windows])

    def _batch(self, together: Tensor) -> Batch:
        x, y, lengths = super()._batch(together)
        if lengths is None or self.examples.lengths is None:
            return x, y, lengths
        # the longest row of all processes, so that their tensors have one shape
        longest = max(1, int(self.examples.lengths[together].max()))
        axis = lengths.ndim  # of time: x is (B, L, ...), of pairs (B, 2, L, ...)
        if y.ndim == 2 and not y.is_floating_point():  # a class for every sample
            y = y[:, :longest]
        return x.narrow(axis, 0, min(longest, x.shape[axis])), y, lengths


#: The class for every way to put rows together.
BATCHES: dict[Batching, type[Batches]] = {"plain": Batches, "bucketed": BucketedBatches}


def _bucketed(lengths: Tensor, size: int) -> Tensor:
    """Places of a window's rows, batch by batch; one that is not full comes last."""
    batches = lengths.argsort(stable=True).split(size)
    full = [batch for batch in batches if len(batch) == size]
    return torch.cat([*sorted(full, key=lambda batch: int(batch[0])), *batches[len(full) :]])


def _longest(lengths: Tensor) -> Tensor:
    """Samples of each row; of a pair those of the longer one.                  (N,)."""
    return lengths if lengths.ndim == 1 else lengths.amax(1)


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
