"""How the branches of a layer are treated: few taps by Gram matrices, many by FFT tails."""

from dataclasses import dataclass

from torch import Tensor

from ..convolution import fast_length

__all__ = ["FEW", "Plan"]

#: Branches of at most this many taps go through Gram matrices: n^2 products a sample and piece
#: cost less than FFTs, and short dense branches share one matrix.
FEW = 32


@dataclass(frozen=True)
class Plan:
    """Sizes of the branches of one layer; their taps are packed side by side.

    Args:
        counts: Taps n_i of each branch.
        spacings: Samples p_i from tap to tap; a branch spans n_i p_i samples.
        length: L of the input.
    """

    counts: tuple[int, ...]
    spacings: tuple[int, ...]
    length: int

    @property
    def few(self) -> list[int]:
        """Branches treated as combs."""
        return [i for i, count in enumerate(self.counts) if count <= FEW]

    @property
    def many(self) -> list[int]:
        """Branches treated by their tails."""
        return [i for i, count in enumerate(self.counts) if count > FEW]

    @property
    def widest(self) -> int:
        """Taps that every comb is padded to with zeros."""
        return max((self.counts[i] for i in self.few), default=0)

    @property
    def reach(self) -> int:
        """Columns of the merged taps, and of all that is known by lag."""
        combs = [self.widest * self.spacings[i] for i in self.few]
        return max([*combs, *(self.counts[i] for i in self.many)])

    @property
    def size(self) -> int:
        """Of the FFTs over whole rows, free of wrap-around."""
        return fast_length(self.length + min(self.reach, self.length))

    @property
    def tail_columns(self) -> int:
        """Taps of all branches treated by their tails."""
        return sum(self.counts[i] for i in self.many)

    def split(self, packed: Tensor) -> list[Tensor]:
        """Packed values (..., V) as one tensor (..., n_i) a branch."""
        return list(packed.split(list(self.counts), -1))

    def split_tails(self, packed: Tensor) -> list[Tensor]:
        """What is packed for the branches of many taps, as one tensor a branch."""
        return list(packed.split([self.counts[i] for i in self.many], -1)) if self.many else []
