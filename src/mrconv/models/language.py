"""LanguageModel: scores of the next token, and text from them."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._checks import check_count, mask_invalid
from ..data.contract import InputContract
from ..errors import ArgumentError
from .backbone import SequenceBackbone
from .base import ScoringModel
from .generation import Callback, Form, Prompt, generate
from .sampling import Sampling

__all__ = ["LanguageModel"]


class LanguageModel(ScoringModel):
    """Tokens to scores of the token that comes next, by the embedding itself.

    logits[t] = E h[t] + b,  h = backbone(x),  E (V, D) the embedding of the vocabulary

    Row t scores the token behind x[t], given x[0..t]. A text begins with the token ``start``,
    number V, whose embedding is a learned vector of its own: the text y is learned by scoring
    x = (start, y[0], ..., y[L-2]) against y, generation feeds start and prompt and goes on from the
    last row, and an empty prompt is start alone. So training, streaming and generation are one
    computation.

    Args:
        backbone: Causal, of V + 1 tokens: ``SequenceBackbone(vocabulary + 1, ..., tokens=True)``.
            Its embedding is drawn anew, normal with variance 1 / D, so that first scores are near 1
            in size.
        vocabulary: V, number of tokens that can be predicted; 256 for bytes.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If the backbone takes values, other tokens, or looks into the future.

    Source: tied embeddings as Press and Wolf 2017.

    Example:
        >>> import torch, mrconv
        >>> backbone = mrconv.SequenceBackbone(257, length=64, channels=8, depth=1, tokens=True)
        >>> model = mrconv.LanguageModel(backbone, 256).eval()
        >>> model(torch.tensor([[model.start, *b"To be"]])).shape
        torch.Size([1, 6, 256])
        >>> len(model.generate(b"To be", 5)[0])
        5
    """

    def __init__(
        self,
        backbone: SequenceBackbone,
        vocabulary: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(backbone)
        check_count("LanguageModel", "vocabulary", vocabulary)
        _check_backbone(backbone, vocabulary)
        self.vocabulary = vocabulary
        self.bias = nn.Parameter(torch.zeros(vocabulary, device=device, dtype=dtype))
        nn.init.normal_(backbone.encoder.weight, std=backbone.channels**-0.5)

    @property
    def arguments(self) -> dict[str, Any]:
        """What the constructor was given, as plain values for JSON."""
        return {"vocabulary": self.vocabulary}

    @property
    def start(self) -> int:
        """The token before the first one of a text, V."""
        return self.vocabulary

    @property
    def expects(self) -> InputContract:
        """The contract; where none is known, texts of V tokens."""
        length = self.backbone.length
        return self.contract or InputContract("tokens", length, vocabulary=self.vocabulary)

    @property
    def output_weight(self) -> Tensor:
        """What features are multiplied by: the embedding without its start.  (V, D)."""
        embedding: Tensor = self.backbone.encoder.weight
        return embedding[: self.vocabulary]

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Scores of the token behind every position.

        Args:
            x: Tokens, ``start`` before the first one of a text.        (B, L)
            lengths: Valid tokens of each row; None: all.                 (B,)

        Returns:
            Logits, exactly 0 behind each row's length.              (B, L, V)

        Raises:
            ShapeError: If x is not (B, L).
            DtypeError: If x holds no whole numbers.
            ArgumentError: If a token is outside 0..V.
        """
        h = self.backbone(x, lengths)
        logits = functional.linear(h, self.output_weight, self.bias)
        return mask_invalid(logits.transpose(1, 2), lengths).transpose(1, 2)

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        count: int,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        seed: int = 0,
        stop: Sequence[Prompt] = (),
        form: Form = "exact",
        callback: Callback | None = None,
    ) -> list[Tensor]:
        """Goes on from prompts, token by token, in constant memory.

        Each token is drawn from softmax(logits / temperature), of which ``top_k`` keeps the
        likeliest tokens, and ``top_p`` of these the fewest likeliest that hold that share of the
        probability. Row b draws from random numbers of its own, so that its text depends on its
        prompt, its place and the seed, not on the other rows.

        A prompt may have any length. Nothing of it is cut: what lies beyond the reach of the layers
        has left their memory, as in ``forward``.

        Args:
            prompts: One, or one a row, of any lengths: tokens (n,), or bytes or text (as UTF-8)
                where the vocabulary is that of bytes; empty ones are allowed.
            count: Tokens to add to each, at most.
            temperature: 0 takes the likeliest token; larger is wilder.
            top_k: Tokens to choose from, at most; None: all.
            top_p: Share of the probability to choose from; 1: all of it.
            seed: Of the random numbers.
            stop: A row ends behind the first of these that it has written.
            form: "exact", the exact stream of the model as it is; "recurrence", the stream of its
                recurrences: exact for modal kernels, distilled to 1 % for others.
            callback: Told row and token, as soon as each is drawn.

        Returns:
            The new tokens of each row, a stop included, int64 on the CPU.   (n,)

        Raises:
            ArgumentError: In training mode, for tokens outside the vocabulary, settings out of
                range, or a model whose scores are not finite.
            DtypeError: If a prompt is of another type.
            MergeError: If a layer cannot be streamed, or not distilled as well as that.

        Cost: one chunk a prompt, then one step a token; "recurrence" first distils, about 0.1 s a
        channel: keep ``mrconv.distill(model, tolerance=0.01)`` to do that once.

        Example:
            >>> import mrconv
            >>> backbone = mrconv.SequenceBackbone(257, length=64, channels=8, depth=1, tokens=True)
            >>> model = mrconv.LanguageModel(backbone, 256).eval()
            >>> rows = model.generate([b"", b"To be"], 9, temperature=0.8, top_k=40, seed=1)
            >>> [len(bytes(row.tolist())) for row in rows]
            [9, 9]
        """
        sampling = Sampling(temperature, top_k, top_p, seed)
        return generate(self, prompts, count, sampling, stop=stop, form=form, callback=callback)


def _check_backbone(backbone: SequenceBackbone, vocabulary: int) -> None:
    if not backbone.tokens or backbone.features != vocabulary + 1:
        kind = "tokens" if backbone.tokens else "values"
        raise ArgumentError(
            f"LanguageModel: backbone must take vocabulary + 1 = {vocabulary + 1} tokens, the last "
            f"of them the start; got {backbone.features} {kind}. "
            f"Build SequenceBackbone({vocabulary + 1}, ..., tokens=True)."
        )
    for number, block in enumerate(backbone.blocks):
        if not getattr(block.mixer, "causal", True):
            raise ArgumentError(
                "LanguageModel: every mixer must be causal, or it would see what it predicts; got "
                f"causal=False in block {number}. Leave causal out of its settings."
            )
