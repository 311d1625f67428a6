"""A number of torch's threads for some measurements only."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["on_threads"]


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Within it, torch runs on so many threads.

    Args:
        count: At least 1.

    Example:
        >>> import torch
        >>> before = torch.get_num_threads()
        >>> with on_threads(1):
        ...     torch.get_num_threads()
        1
        >>> torch.get_num_threads() == before
        True
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
