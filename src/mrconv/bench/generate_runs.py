"""Generation under the clock: a batch behind its context, token by token."""

import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import linear

from ..models import LanguageModel
from ..models.generation import PIECE
from ..streaming import State, Streamer
from ..streaming.tiled import BASE
from .stream_contestants import advanced
from .timing import Pace, take_turns

__all__ = ["ROOM", "Again", "Generating", "Prompt", "mean_seconds", "tile_places"]

#: Tokens that are generated before a batch starts at its context again.
ROOM = 16
#: Tokens that a model is run over again at once; rows beyond are taken in further pieces.
TOGETHER = 16384


class Prompt:
    """One row that has read a prompt, in pieces as ``LanguageModel.generate`` takes them.

    Args:
        stream: Of a language model.
        context: Tokens of the prompt.
        vocabulary: Of the model.
        seed: Of the tokens.
    """

    def __init__(self, stream: Streamer, context: int, vocabulary: int, seed: int = 0) -> None:
        noise = torch.Generator().manual_seed(seed)
        tokens = torch.randint(vocabulary, (1, context), generator=noise)
        self.stream, self.context = stream, context
        self.state: State = stream.init_state(1)
        start = time.perf_counter()
        for piece in tokens.split(PIECE, 1):
            logits, self.state = stream.chunk(piece, self.state)
        #: What reading the prompt took.
        self.seconds = time.perf_counter() - start
        #: The likeliest token behind the prompt.                               (1,)
        self.token = logits[:, -1].argmax(-1)


class Generating:
    """A batch whose rows all hold the context, and the likeliest token of each step as the next.

    The rows have read the same prompt, but each has a memory of its own. Behind ``ROOM`` tokens
    the position starts at the context again, so that the context stays what was asked for.

    Args:
        prompt: What every row has read.
        batch: B.
    """

    def __init__(self, prompt: Prompt, batch: int) -> None:
        self.stream, self.context = prompt.stream, prompt.context
        self.state = prompt.state.rows([0] * batch)
        self.tokens = prompt.token.expand(batch)
        self.generated = 0

    def step(self) -> Tensor:
        """The next token of every row.                                      (B,)."""
        if self.generated == ROOM:
            self.state, self.generated = advanced(self.state, self.context), 0
        self.generated += 1
        logits, self.state = self.stream.step(self.tokens, self.state)
        self.tokens = logits.argmax(-1)
        return self.tokens

    def step_to(self, place: int) -> Tensor:
        """The step behind which every row holds ``place`` tokens.          (B,)."""
        self.state, self.generated = advanced(self.state, place - 1), 0
        return self.step()


class Again:
    """The whole model over the context again for the newest token, as without any memory.

    Rows are taken in pieces of about ``TOGETHER`` tokens, which is no slower than all at once and
    needs less memory; one piece is timed. Only the last row of scores is made.

    Args:
        model: Merged, so that no taps are made anew.
        context: Tokens.
        batch: B.
        seed: Of the tokens.
    """

    def __init__(self, model: LanguageModel, context: int, batch: int, seed: int = 0) -> None:
        noise = torch.Generator().manual_seed(seed)
        self.rows = min(batch, max(1, TOGETHER // context))
        #: Calls of ``step`` that make a token of every row.
        self.pieces = -(-batch // self.rows)
        self.model = model
        self.tokens = torch.randint(model.vocabulary, (self.rows, context), generator=noise)

    @torch.no_grad()
    def step(self) -> Tensor:
        """The next token of the rows of one piece.                       (rows,)."""
        newest = self.model.backbone(self.tokens)[:, -1]
        return linear(newest, self.model.output_weight, self.model.bias).argmax(-1)


def tile_places(context: int) -> dict[int, float]:
    """Steps of each kind among the ``context`` steps of a tiled stream that lead up to a context.

    Among L steps, L a power of two, every 2 S-th is due for a tile of S < L, one for a tile of L,
    the others for none.

    Args:
        context: L, a power of two, at least 32.

    Returns:
        The share of each kind, by the tokens that a row holds behind such a step.
    """
    sizes = [BASE << k for k in range((context // BASE).bit_length() - 1)]
    shares = {context + size: 1 / (2 * size) for size in sizes} | {context: 1 / context}
    return {context + 1: 1 - sum(shares.values()), **shares}


def mean_seconds(generating: Generating, pace: Pace) -> list[float]:
    """Mean of a step of the exact stream, whose steps differ, over as many as the context.

    Args:
        generating: Of a tiled stream; its context a power of two.
        pace: Of the rounds.

    Returns:
        The mean in each round, from one step of each kind.
    """
    shares = tile_places(generating.context)
    calls: dict[str, Callable[[], object]] = {
        str(place): partial(generating.step_to, place) for place in shares
    }
    rounds = zip(*take_turns(calls, pace).seconds.values(), strict=True)
    return [
        sum(share * one for share, one in zip(shares.values(), seconds, strict=True))
        for seconds in rounds
    ]
