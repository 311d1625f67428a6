"""Batches fetched by threads before they are asked for."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

__all__ = ["fetched"]

Task = TypeVar("Task")
Result = TypeVar("Result")


def fetched(
    fetch: Callable[[Task], Result], tasks: Iterable[Task], workers: int
) -> Iterator[Result]:
    """What a function gives for every task, in their order, a few of them made ahead.

    Threads, not processes: picking rows of a tensor, from memory or from a mapped file, leaves the
    interpreter to others meanwhile, and nothing has to be copied from one process to the next.

    Args:
        fetch: Draws no random numbers.
        tasks: What it is called with.
        workers: Threads, each of which may be two tasks ahead; 0: none, a task at a time.

    Yields:
        One result a task. What a task raises comes where its result would.

    Example:
        >>> list(fetched(abs, [-2, 3, -1], workers=2))
        [2, 3, 1]
    """
    if not workers:
        yield from map(fetch, tasks)
        return
    waiting: deque[Future[Result]] = deque()
    left = iter(tasks)
    pool = ThreadPoolExecutor(workers, "mrconv-batches")
    try:
        while True:
            for task in islice(left, 2 * workers - len(waiting)):
                waiting.append(pool.submit(fetch, task))
            if not waiting:
                return
            yield waiting.popleft().result()
    finally:  # also where the pass is left early
        pool.shutdown(cancel_futures=True)
