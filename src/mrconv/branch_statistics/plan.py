"""How the branches of a layer are treated: which way costs least for each."""

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from ..convolution import fast_length

__all__ = ["FEW", "SCATTERED", "Plan"]

#: Branches of at most this many taps go through Gram matrices: n^2 products a sample and piece
#: cost less than FFTs, and short dense branches share one matrix.
FEW = 32

#: Scattered branches of at most this many taps go by shifted samples, a pass a tap.
SCATTERED = 16


@dataclass(frozen=True)
class Plan:
    """Sizes of the branches of one layer; their taps are packed side by side.

    Four ways: "few" evenly spaced taps by Gram matrices (``combs``), "scattered" ones by shifted
    samples (``spikes``); the outputs behind the end by FFTs of twice the branch's taps
    (``tails``); the outputs themselves (``wholes``), which costs less where a branch is about as
    long as the input.

    Args:
        counts: Values n_i of each branch; two-sided, 2 l_i.
        spacings: Samples p_i from tap to tap; a branch spans n_i p_i samples. 0 where the taps
            stand at lags of their own.
        spans: Samples that each branch spans.
        batch: B of the input.
        length: L of the input.
        causal: Whether the taps are causal; two-sided branches are all computed whole.
    """

    counts: tuple[int, ...]
    spacings: tuple[int, ...]
    spans: tuple[int, ...]
    batch: int
    length: int
    causal: bool = True

    def _is_whole(self, count: int) -> bool:
        # Points of FFT: by tails 5 of 2 l a row and 11 in float64 without a batch, those twice as
        # dear; whole 2 of n a row and 3 without a batch.
        tails = 2 * count * (5 * self.batch + 22)
        return not self.causal or self.size * (2 * self.batch + 3) < tails

    @cached_property
    def few(self) -> list[int]:
        """Branches treated as combs."""
        evenly = [i for i, spacing in enumerate(self.spacings) if self.causal and spacing]
        return [i for i in evenly if self.counts[i] <= FEW]

    @cached_property
    def scattered(self) -> list[int]:
        """Branches treated as spikes."""
        return [i for i, spacing in enumerate(self.spacings) if not spacing]

    @cached_property
    def whole(self) -> list[int]:
        """Branches whose outputs are computed."""
        taken = {*self.few, *self.scattered}
        rest = [i for i in range(len(self.counts)) if i not in taken]
        return [i for i in rest if self._is_whole(self.counts[i])]

    @cached_property
    def many(self) -> list[int]:
        """Branches treated by their tails."""
        taken = {*self.few, *self.scattered, *self.whole}
        return [i for i in range(len(self.counts)) if i not in taken]

    @property
    def kept(self) -> int:
        """Outputs kept for the backward pass; two-sided ones, R of them, are computed again."""
        return len(self.whole) if self.causal else 0

    @cached_property
    def widest(self) -> int:
        """Taps that every comb is padded to with zeros."""
        return max((self.counts[i] for i in self.few), default=0)

    @cached_property
    def reach(self) -> int:
        """Columns of the merged taps, and of all that is known by lag."""
        return max(*self.spans, self._widest_span)

    @property
    def future(self) -> int:
        """Columns of the merged taps before lag 0."""
        return 0 if self.causal else self.reach // 2

    @cached_property
    def lag_reach(self) -> int:
        """Lags that the sums by lag are needed for; 0 where every branch is whole."""
        return max([self._widest_span, *(self.spans[i] for i in self.many + self.scattered)])

    @property
    def _widest_span(self) -> int:
        return self.widest * max((self.spacings[i] for i in self.few), default=0)

    def columns(self, i: int) -> slice:
        """Where the values of branch i, unless scattered, stand in the merged taps."""
        count, spacing = self.counts[i], self.spacings[i]
        start = self.future - (0 if self.causal else count // 2)
        return slice(start, start + count * spacing, spacing)

    @cached_property
    def size(self) -> int:
        """Of the FFTs over whole rows, free of wrap-around."""
        side = self.reach if self.causal else self.future
        return fast_length(self.length + min(side, self.length))

    @property
    def tail_columns(self) -> int:
        """Taps of all branches treated by their tails."""
        return sum(self.counts[i] for i in self.many)

    @property
    def spike_columns(self) -> int:
        """Taps of all branches treated as spikes."""
        return sum(self.counts[i] for i in self.scattered)

    def split(self, packed: Tensor) -> list[Tensor]:
        """Packed values (..., V) as one tensor (..., n_i) a branch."""
        return list(packed.split(list(self.counts), -1))

    def split_of(self, which: list[int], packed: Tensor) -> list[Tensor]:
        """Packed values (..., n) of some branches as one tensor (..., n_i) a branch."""
        return list(packed.split([self.counts[i] for i in which], -1)) if which else []
