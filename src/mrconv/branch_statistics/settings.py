"""Settings of the norm behind every branch."""

from dataclasses import dataclass
from typing import Literal, get_args

from .._checks import check_choice
from ..errors import ArgumentError, DtypeError

__all__ = ["BranchNorm", "Statistics"]

Statistics = Literal["exact", "textbook"]


@dataclass(frozen=True)
class BranchNorm:
    """BatchNorm of every branch, with statistics over batch and time.

    y = gain (z - mean) / sqrt(var + eps) + shift

    Args:
        momentum: Weight of the newest batch in the running statistics; None averages all batches.
        eps: Added to the variance.
        statistics: "exact" finds mean and variance without computing the branch outputs,
            "textbook" computes every one. Both give the same numbers and gradients; of an input
            of less than 32,768 values "exact" takes the textbook form, which is faster there.

    Raises:
        ArgumentError: For a momentum outside 0..1, an eps that is not positive, or another word.

    Example:
        >>> import mrconv
        >>> layer = mrconv.MRConv(4, 64, norm=mrconv.BranchNorm(momentum=None))
    """

    momentum: float | None = 0.1
    eps: float = 1e-5
    statistics: Statistics = "exact"

    def __post_init__(self) -> None:
        check_choice("BranchNorm", "statistics", self.statistics, get_args(Statistics))
        numbers = [x for x in (self.momentum, self.eps) if x is not None]
        if not all(isinstance(x, (int, float)) for x in numbers):
            raise DtypeError(
                "BranchNorm: momentum and eps must be numbers; "
                f"got momentum={self.momentum!r}, eps={self.eps!r}. Use 0.1 and 1e-5."
            )
        if self.momentum is not None and not 0 <= self.momentum <= 1:
            raise ArgumentError(
                f"BranchNorm: momentum must be None or between 0 and 1; got {self.momentum}. "
                "Use 0.1, or None for the average over all batches."
            )
        if not 0 < self.eps < float("inf"):
            raise ArgumentError(
                f"BranchNorm: eps must be positive and finite; got {self.eps}. Use 1e-5."
            )
