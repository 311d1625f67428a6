"""Random numbers of an epoch: a function of (seed, epoch), so that any epoch can be run again."""

import random

import numpy as np
import torch
from torch import Tensor

__all__ = ["epoch_order", "seed_epoch"]


def seed_epoch(seed: int, epoch: int, rank: int = 0) -> None:
    """Sets the random numbers of torch, numpy and random for one epoch.

    Args:
        seed: Of the training.
        epoch: From 0; -1 for what comes before the first.
        rank: Of the process, so that processes draw different dropout.
    """
    words = np.random.SeedSequence((seed, epoch + 1, rank)).generate_state(3)
    torch.manual_seed(int(words[0]))
    np.random.seed(int(words[1]))
    random.seed(int(words[2]))


def epoch_order(seed: int, epoch: int, count: int) -> Tensor:
    """Order in which an epoch visits the examples, the same on every process.

    Args:
        seed: Of the training.
        epoch: From 0.
        count: Number of examples.

    Returns:
        A permutation of 0..count-1.                                     (N,)

    Example:
        >>> epoch_order(0, 3, 5).sort().values.tolist()
        [0, 1, 2, 3, 4]
    """
    generator = np.random.default_rng(np.random.SeedSequence((seed, epoch + 1)))
    return torch.from_numpy(generator.permutation(count))
