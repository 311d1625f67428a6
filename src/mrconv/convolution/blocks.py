"""Work on an input in blocks of channels that stay in the cache, each in its own thread."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import torch
from torch import Tensor

__all__ = ["for_each_block"]


def for_each_block(work: Callable[[slice], None], u: Tensor, size: int, elements: int) -> None:
    """Runs ``work`` on blocks of the channels of u (B, D, L), all rows of the batch together.

    Blocks go to worker threads, whose operations use one thread each. A team of threads for every
    operation would wait at its end for the slowest: beside another busy process each wait may take
    milliseconds, and a step has a thousand of them.

    Args:
        work: Called with a slice of channels; writes its results itself, records no gradients.
        u: Input.                                                    (B, D, L)
        size: Of one padded row.
        elements: Real numbers of padded rows that a thread works on at a time.
    """
    rows, channels = u.shape[0], u.shape[1]
    if u.device.type != "cpu":
        work(slice(0, channels))  # one call over all rows keeps an accelerator busy
        return
    _keep_freed_memory()
    threads = torch.get_num_threads()
    share = -(-channels // threads)  # at least one block a thread
    blocks = _blocks(channels, min(share, elements // max(1, rows * size)))
    if threads == 1:
        for block in blocks:
            work(block)
        return
    # both modes belong to a thread
    mode = torch.inference_mode if torch.is_inference_mode_enabled() else torch.no_grad
    for _ in _workers(threads, os.getpid()).map(mode()(work), blocks):
        pass  # raises what a block raised


def _blocks(channels: int, step: int) -> list[slice]:
    step = max(1, step)
    return [slice(start, start + step) for start in range(0, channels, step)]


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
