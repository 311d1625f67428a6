"""BatchNorm over the branches of one layer: statistics and the normalised sum, in training.

``normalized_branches`` serves ``MRConv``. ``exact`` finds mean and variance of every branch from
the input's autocorrelation and the samples at its end, without computing the branch outputs, and
convolves once; ``textbook`` computes every output, and is the definition and the oracle. Where
outputs stay apart, as in ``GatedMRConv``, ``normalized`` treats each one.
"""

from .dispatch import normalized_branches
from .moments import count_valid, joined_moments, masked_moments, total_valid
from .processes import world_size
from .settings import BranchNorm
from .textbook import normalized

__all__ = [
    "BranchNorm",
    "count_valid",
    "joined_moments",
    "masked_moments",
    "normalized",
    "normalized_branches",
    "total_valid",
    "world_size",
]
