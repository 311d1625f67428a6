"""An MRConv with fewer resolutions: the kernels that are left, and their rows of every tensor."""

import copy
from collections.abc import Sequence

from torch import Tensor, nn

from ..errors import ArgumentError
from .mr_conv import MRConv

__all__ = ["keep_resolutions"]


def keep_resolutions(layer: MRConv, resolutions: Sequence[int]) -> MRConv:
    """A copy of a summed layer that has some of its resolutions only.

    y = sum_{i in kept} ( gain_i (z_i - mean_i) / sqrt(var_i + eps) + shift_i ) + skip u

    Kernels are numbered anew from 0, those left keep their span, so that the memory ends with the
    longest of them. The copy trains, merges and streams like any other.

    Args:
        layer: With ``combine="sum"``.
        resolutions: Positions among ``layer.kernels``, ascending; at least one.

    Returns:
        A new layer in the same mode; the old one stays as it is.

    Raises:
        ArgumentError: If the layer is concatenated, or the positions are not ascending or not
            there.

    Example:
        >>> import mrconv
        >>> from mrconv.nn import keep_resolutions
        >>> layer = mrconv.MRConv(4, 64, kernel_size=8)
        >>> layer.spans, keep_resolutions(layer, [0, 2]).spans
        ([8, 16, 32, 64], [8, 32])
    """
    if layer.combine != "sum":
        raise ArgumentError(
            f"keep_resolutions: combine must be 'sum', because pieces laid end to end share one "
            f"norm; got {layer.combine!r}. Merge the layer instead."
        )
    numbers, count = [int(i) for i in resolutions], len(layer.kernels)
    if not numbers or numbers != sorted({*numbers} & {*range(count)}):
        raise ArgumentError(
            "keep_resolutions: resolutions must be ascending numbers from 0 to "
            f"{count - 1}, at least one; got {list(resolutions)}. Leave out those to be dropped."
        )
    new = copy.deepcopy(layer)
    new.resolutions = len(numbers)
    new.kernels = nn.ModuleList(new.kernels[i] for i in numbers)
    if not new.causal:
        new.future_kernels = nn.ModuleList(new.future_kernels[i] for i in numbers)
    for name in ("gain", "shift", "running_mean", "running_var"):
        whole = getattr(new, name, None)
        if isinstance(whole, Tensor):  # norms by constants have no running statistics
            rows = whole.detach()[numbers]
            trains = isinstance(whole, nn.Parameter)
            setattr(new, name, nn.Parameter(rows, whole.requires_grad) if trains else rows)
    return new.train(layer.training)
