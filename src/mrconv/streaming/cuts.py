"""A whole sequence streamed in random cuts, to compare with the parallel form."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from ..errors import MergeError
from .streamer import Streamer

__all__ = ["random_cuts", "streamed_in_cuts"]

#: Cuts at random places, and single samples at the first of them.
CUTS, SINGLE = 16, 3


def random_cuts(length: int, seed: int = 0) -> list[int]:
    """Sizes of pieces of random lengths, some single and some empty, that sum to ``length``.

    Args:
        length: In samples.
        seed: Of the random numbers.

    Returns:
        Sizes, each at least 0.

    Example:
        >>> from mrconv.streaming.cuts import random_cuts
        >>> sum(random_cuts(1000)), min(random_cuts(3))
        (1000, 0)
    """
    seeded = torch.Generator().manual_seed(seed)
    places = sorted(torch.randint(0, length + 1, (CUTS,), generator=seeded).tolist())
    single = [min(places[0] + i, length) for i in range(1, SINGLE + 1)]
    return [end - start for start, end in pairwise(sorted([0, *places, *single, length]))]


def streamed_in_cuts(
    module: nn.Module, x: Tensor, lengths: Tensor | None = None
) -> tuple[Tensor, int] | None:
    """What a module's stream gives for whole sequences in random cuts.

    Pieces of one sample run as steps where all rows take them.

    Args:
        module: In eval mode.
        x: As the module takes it.
        lengths: Valid samples of each row; None: all.                     (B,)

    Returns:
        The outputs at every sample, 0 behind each row's length, and the axis of time; None where
        the module has no stream.
    """
    try:
        # no more than the samples of the longest axis stand on the axis of time
        stream = Streamer(module, capacity=max(1, *x.shape[1:]))
    except MergeError:
        return None
    axis = x.ndim - 1 if stream.stepper.time_axis is None else stream.stepper.time_axis
    state, outputs, start = stream.init_state(len(x)), [], 0
    for size in random_cuts(x.shape[axis]):
        piece = x.narrow(axis, start, size)
        if size == 1 and lengths is None:
            y, state = stream.step(piece.squeeze(axis), state)
            y = y.unsqueeze(axis)
        else:
            valid = None if lengths is None else (lengths - start).clamp(0, size)
            y, state = stream.chunk(piece, state, valid)
        outputs.append(y)
        start += size
    return torch.cat(outputs, axis), axis
