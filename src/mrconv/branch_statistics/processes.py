"""Sums over the processes of a distributed training, forward and backward."""

import torch.distributed as dist
from torch import Tensor
from torch.distributed.nn.functional import all_reduce

__all__ = ["added", "added_in_place", "world_size"]


def world_size() -> int:
    """Number of processes that train together; 1 without torch.distributed."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def added(x: Tensor) -> Tensor:
    """Sum of a tensor over all processes; its gradient is summed over all processes too."""
    return all_reduce(x) if world_size() > 1 else x


def added_in_place(x: Tensor) -> Tensor:
    """Sum of a tensor over all processes, without a gradient; the tensor itself is changed."""
    if world_size() > 1:
        dist.all_reduce(x)
    return x
