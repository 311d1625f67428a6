"""Work on an input in blocks of channels that stay in the cache, each in its own thread."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import torch
from torch import Tensor

__all__ = ["channel_blocks", "run_blocks"]


def channel_blocks(u: Tensor, size: int, elements: int) -> list[slice]:
    """Slices of the channels of u (B, D, L): all rows of a block together fill ``elements``.

    Args:
        u: Input.                                                    (B, D, L)
        size: Of one padded row.
        elements: Real numbers of one block of padded rows.

    Returns:
        Slices that cover the channels.
    """
    if u.device.type == "cpu":
        _keep_freed_memory()
    else:
        return [slice(0, u.shape[1])]  # one call over all rows keeps an accelerator busy
    step = max(1, elements // max(1, u.shape[0] * size))
    return [slice(start, start + step) for start in range(0, u.shape[1], step)]


def run_blocks(work: Callable[[slice], None], blocks: Sequence[slice]) -> None:
    """Runs ``work`` on every block, each in a worker thread whose operations use one thread.

    A team of threads for every FFT waits at its end for the slowest, which costs much on a busy
    machine; one block a thread does not wait for others.

    Args:
        work: Called with a block; writes its results itself. Must not record gradients.
        blocks: As ``channel_blocks`` gives them.
    """
    threads = torch.get_num_threads()
    if threads == 1 or len(blocks) == 1:
        for block in blocks:
            work(block)
        return
    for _ in _workers(threads, os.getpid()).map(torch.no_grad()(work), blocks):
        pass  # raises what a block raised


@lru_cache(maxsize=1)
def _workers(threads: int, process: int) -> ThreadPoolExecutor:
    """Threads for the blocks; made anew in a forked process, which inherits none."""
    workers = ThreadPoolExecutor(
        threads, "mrconv", initializer=torch.set_num_threads, initargs=(1,)
    )
    for _ in workers.map(lambda _: None, range(threads)):
        pass
    torch.set_num_threads(threads)  # the workers' 1 must not become that of other new threads
    return workers


@lru_cache(maxsize=1)
def _keep_freed_memory() -> None:
    """Lets glibc keep what a block frees for the next one; elsewhere it does nothing.

    By default the top of the heap goes back to the system after every block and is faulted in
    again by the next, up to a third of the time. The thresholds follow the largest chunk that was
    mapped and freed, up to 32 MB (mallopt(3)); this one is never touched, so it costs nothing.
    """
    torch.empty(32_000_000, dtype=torch.uint8)
