"""How the kernels of all resolutions become one layer: as a sum of branches, or end to end."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from ..kernels import Branch

__all__ = ["COMBINATIONS", "Combination", "CombinationName", "Concatenated", "Summed"]

CombinationName = Literal["sum", "concat"]


class Combination(Protocol):
    """Where each kernel lies in the merged kernel, and where its gain acts."""

    def exponents(self, resolutions: int) -> list[int]:
        """The resolution handed to each kernel; its span is kernel_size 2^exponent."""
        ...

    def norms(self, resolutions: int) -> int:
        """How many outputs are normalised on their own."""
        ...

    def starts(self, sizes: Sequence[int]) -> list[int]:
        """The lag at which each kernel of these sizes begins, on either side."""
        ...

    def laid(self, pieces: Sequence[Tensor], causal: bool) -> list[Tensor]:
        """Each piece padded with zeros to its place in the merged kernel."""
        ...

    def branches(self, pieces: Sequence[Branch], gain: Tensor, causal: bool) -> list[Branch]:
        """What is convolved and normalised on its own."""
        ...

    def outer_gain(self, gain: Tensor, normalised: bool) -> Tensor:
        """The factor behind each norm.                                      (norms, D)."""
        ...

    def weights(self, scale: Tensor, gain: Tensor) -> Tensor:
        """Factor of every laid piece, given the affine scale behind each norm.  (R, D)."""
        ...


class Summed:
    """y = sum_i gain_i norm(k_i * u): every kernel starts at lag 0, each with its own norm."""

    def exponents(self, resolutions: int) -> list[int]:
        """0, 1, 2, ..., R - 1."""
        return list(range(resolutions))

    def norms(self, resolutions: int) -> int:
        """One norm a resolution."""
        return resolutions

    def starts(self, sizes: Sequence[int]) -> list[int]:
        """Lag 0 for all."""
        return [0] * len(sizes)

    def laid(self, pieces: Sequence[Tensor], causal: bool) -> list[Tensor]:
        """Zeros at the far lags: behind a causal kernel, on both sides of a two-sided one."""
        columns = pieces[-1].shape[-1]
        missing = [columns - piece.shape[-1] for piece in pieces]
        ends = [(0, n) if causal else (n // 2, n // 2) for n in missing]
        return [functional.pad(piece, end) for piece, end in zip(pieces, ends, strict=True)]

    def branches(self, pieces: Sequence[Branch], gain: Tensor, causal: bool) -> list[Branch]:
        """The pieces as they are."""
        return list(pieces)

    def outer_gain(self, gain: Tensor, normalised: bool) -> Tensor:
        """The gains themselves."""
        return gain

    def weights(self, scale: Tensor, gain: Tensor) -> Tensor:
        """The affine scales, which hold the gains."""
        return scale


class Concatenated:
    """y = |gain| norm((gain_0 k_0 | gain_1 k_1 | ...) * u): one kernel of pieces, one norm.

    Source: the paper's Path-X variant (appendix D.3.3) after SGConv, whose pieces have the lengths
    l_0, l_0, 2 l_0, 4 l_0, ... . A norm cancels the gains' common factor |gain| =
    sqrt(sum_i gain_i^2); ours applies it behind the norm, so that no second factor is needed.
    """

    def exponents(self, resolutions: int) -> list[int]:
        """0, 0, 1, 2, ..., R - 2: the pieces tile kernel_size 2^(R - 1) samples."""
        return [0, *range(resolutions - 1)]

    def norms(self, resolutions: int) -> int:
        """One norm for the one kernel."""
        return 1

    def starts(self, sizes: Sequence[int]) -> list[int]:
        """Where the piece before ends."""
        return [0, *accumulate(sizes[:-1])]

    def laid(self, pieces: Sequence[Tensor], causal: bool) -> list[Tensor]:
        """Each piece behind the one before, on either side."""
        sides = 1 if causal else 2
        sizes = [piece.shape[-1] // sides for piece in pieces]
        total, laid = sum(sizes), []
        for piece, size, start in zip(pieces, sizes, self.starts(sizes), strict=True):
            after = total - start - size
            taps = functional.pad(piece[:, -size:], (start, after))
            if not causal:
                taps = torch.cat([functional.pad(piece[:, :size], (after, start)), taps], -1)
            laid.append(taps)
        return laid

    def branches(self, pieces: Sequence[Branch], gain: Tensor, causal: bool) -> list[Branch]:
        """The one weighted kernel."""
        laid = self.laid([piece.taps for piece in pieces], causal)
        return [Branch((gain[..., None] * torch.stack(laid)).sum(0))]

    def outer_gain(self, gain: Tensor, normalised: bool) -> Tensor:
        """|gain| behind a norm; 1 where nothing cancels it."""
        return gain.norm(dim=0, keepdim=True) if normalised else torch.ones_like(gain[:1])

    def weights(self, scale: Tensor, gain: Tensor) -> Tensor:
        """The affine scale times each gain."""
        return scale * gain


COMBINATIONS: dict[CombinationName, Combination] = {"sum": Summed(), "concat": Concatenated()}
