"""How the next token is chosen from scores."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .._checks import check_count
from ..errors import ArgumentError

__all__ = ["Sampling"]

#: Rows draw from generators seeded this far apart.
STRIDE = 1_000_003


@dataclass(frozen=True)
class Sampling:
    """Temperature, the two ways to leave unlikely tokens out, and the seed.

    Args:
        temperature: Scores are divided by it; 0 takes the likeliest token.
        top_k: Tokens kept, at most; None: all.
        top_p: Share of the probability that the kept tokens hold, as few of them as that takes.
        seed: Of the random numbers.

    Raises:
        ArgumentError: If a number is out of range.
        DtypeError: If ``top_k`` or ``seed`` is not a whole number.

    Source: top-p as the nucleus of Holtzman et al. 2020.

    Example:
        >>> import torch
        >>> from mrconv.models.sampling import Sampling
        >>> greedy = Sampling(temperature=0)
        >>> greedy.choose(torch.tensor([[0.0, 2.0, 1.0]]), torch.tensor([0.5])).tolist()
        [1]
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise ArgumentError(
                f"generate: temperature must be at least 0 and finite; got {self.temperature}. "
                "Use 1 for the model's own probabilities, 0 for the likeliest token."
            )
        if self.top_k is not None:
            check_count("generate", "top_k", self.top_k)
        if not 0 < self.top_p <= 1:
            raise ArgumentError(
                f"generate: top_p must be above 0 and at most 1; got {self.top_p}. "
                "Use 1 to keep all tokens."
            )
        check_count("generate", "seed", self.seed, least=0)

    def numbers(self, rows: int, count: int) -> Tensor:
        """Uniform numbers in [0, 1) for ``count`` tokens, of row b the same whatever ``rows`` is.

        Args:
            rows: B.
            count: Tokens a row.

        Returns:
            float32 on the CPU.                                        (B, count)
        """
        drawn = torch.empty(rows, count)
        for row in range(rows):
            own = torch.Generator().manual_seed(self.seed + STRIDE * row)
            drawn[row] = torch.rand(count, generator=own)
        return drawn

    def choose(self, logits: Tensor, numbers: Tensor) -> Tensor:
        """One token a row: the first, likeliest ones first, whose cumulated probability passes u.

        Args:
            logits: Finite scores.                                       (B, V)
            numbers: u, uniform in [0, 1), float32.                        (B,)

        Returns:
            Tokens, int64.                                                 (B,)
        """
        if self.temperature == 0:
            return logits.argmax(-1)
        # u is a multiple of 2^-24, so that in float64 u * total stays below the total
        scores, tokens = logits.double().sort(dim=-1, descending=True, stable=True)
        scores = (scores - scores[:, :1]) / self.temperature
        if self.top_k is not None:
            scores[:, self.top_k :] = -torch.inf
        shares = scores.softmax(-1)
        before = shares.cumsum(-1) - shares
        cumulated = torch.where(before < self.top_p, shares, 0).cumsum(-1)
        passed = numbers.to(cumulated)[:, None] * cumulated[:, -1:]
        place = (cumulated <= passed).sum(-1, keepdim=True)
        return tokens.gather(-1, place)[:, 0]
