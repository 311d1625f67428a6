"""Whether two language models write the same text, and how narrow the first change was."""

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .language import LanguageModel

__all__ = ["SameText", "same_text"]


class SameText(NamedTuple):
    """How far two greedy texts agree."""

    written: int
    """Tokens of each text."""
    equal: int
    """Tokens before the first that differs; all of them where none does."""
    tokens: tuple[int, int] | None = None
    """The first that differ: the first model's and the second's."""
    shares: tuple[float, float] | None = None
    """Probability of either, by the first model. Nearly equal ones are a tie."""

    def __str__(self) -> str:
        if self.tokens is None or self.shares is None:
            return f"greedy text: equal for all {self.written} tokens"
        (ours, likely), (theirs, less) = zip(self.tokens, self.shares, strict=True)
        return (
            f"greedy text: equal for {self.equal} of {self.written} tokens, then token {theirs} in "
            f"place of {ours}; the original gives them {less:.4f} and {likely:.4f}"
        )


@torch.no_grad()
def same_text(
    first: "LanguageModel", second: "LanguageModel", prompt: Tensor, count: int
) -> SameText:
    """Lets two models go on from one prompt, the likeliest token each time, by exact streaming.

    Args:
        first: In eval mode.
        second: In eval mode, of the same vocabulary.
        prompt: Tokens.                                                   (n,)
        count: Tokens to write.

    Returns:
        Where the texts part, and how likely the first model found both tokens there.

    Example:
        >>> import torch, mrconv
        >>> from mrconv.models.greedy import same_text
        >>> backbone = mrconv.SequenceBackbone(257, length=16, channels=4, depth=1, tokens=True)
        >>> model = mrconv.LanguageModel(backbone, 256).eval()
        >>> print(same_text(model, model, torch.tensor([84, 111]), 5))
        greedy text: equal for all 5 tokens
    """
    ours, theirs = (
        model.generate([prompt], count, temperature=0)[0].tolist() for model in (first, second)
    )
    differ = (k for k, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
    place = next(differ, None)
    if place is None:
        return SameText(count, count)
    tokens = ours[place], theirs[place]
    # the whole text once more, by another route than the stream
    read = torch.tensor([[first.start, *prompt.tolist(), *ours[:place]]])
    shares = first(read.to(first.bias.device))[0, -1].double().softmax(-1)
    return SameText(count, place, tokens, (float(shares[tokens[0]]), float(shares[tokens[1]])))
