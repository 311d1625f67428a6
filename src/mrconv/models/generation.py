"""Text from a language model: one chunk for the prompts, then one step a token."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from .._checks import INTEGERS, check_choice, check_count
from ..distillation import distill
from ..errors import ArgumentError, DtypeError, MergeError
from ..merging import merge
from ..nn.reparameterize import in_training
from ..streaming import State, Streamer
from .sampling import Sampling

if TYPE_CHECKING:
    from .language import LanguageModel

__all__ = ["Callback", "Form", "Prompt", "generate", "in_form"]

Form = Literal["exact", "recurrence"]
#: Tokens (n,), or bytes or text of a model of bytes.
Prompt = Tensor | bytes | str
#: Told row and token.
Callback = Callable[[int, int], None]

BYTES = 256
#: Prompt tokens a chunk: scores of all tokens are made, and a long prompt's would fill the memory.
PIECE = 4096
#: Relative error of the taps where a recurrence is made for generation.
TOLERANCE = 0.01


def generate(
    model: "LanguageModel",
    prompts: Prompt | Sequence[Prompt],
    count: int,
    sampling: Sampling,
    *,
    stop: Sequence[Prompt] = (),
    form: Form = "exact",
    callback: Callback | None = None,
) -> list[Tensor]:
    """See ``LanguageModel.generate``.

    Args:
        model: In eval mode.
        prompts: One, or one a row.
        count: Tokens to add to each, at most.
        sampling: How tokens are chosen.
        stop: A row ends behind the first of these that it has written.
        form: "exact" or "recurrence".
        callback: Told row and token.

    Returns:
        The new tokens of each row.                                       (n,)
    """
    check_count("generate", "count", count, least=0)
    texts = [_tokens(model, prompt) for prompt in _rows(prompts)]
    endings = [_tokens(model, one).tolist() for one in _rows(stop)]
    if [] in endings:
        raise ArgumentError(
            "generate: every stop must hold a token; got an empty one. Leave it out."
        )
    written: list[list[int]] = [[] for _ in texts]
    for drawn in _drawn(Streamer(in_form(model, form)), model.start, texts, count, sampling):
        ended = True
        for row, token in enumerate(drawn.tolist()):
            if _has_ended(written[row], endings):
                continue
            written[row].append(token)
            if callback is not None:
                callback(row, token)
            ended = ended and _has_ended(written[row], endings)
        if ended:
            break
    return [torch.tensor(row, dtype=torch.int64) for row in written]


def in_form(model: "LanguageModel", form: Form) -> "LanguageModel":
    """The model that is streamed.

    Args:
        model: In eval mode.
        form: "exact": the model itself. "recurrence": every long convolution a recurrence, the
            modal ones exactly, others distilled.

    Raises:
        ArgumentError: In training mode, or for another word.
        MergeError: If a layer cannot be distilled that well.
    """
    check_choice("generate", "form", form, get_args(Form))
    if in_training(model):
        raise ArgumentError(
            "generate: the model must be in eval mode; got training=True. Call model.eval() first."
        )
    if form == "exact":
        return model
    try:
        model = merge(model, form="recurrence")
    except MergeError:
        pass  # not all kernels are modal: distilled all the same
    return distill(model, tolerance=TOLERANCE)[0]


def _drawn(
    stream: Streamer, start: int, texts: list[Tensor], count: int, sampling: Sampling
) -> Iterator[Tensor]:
    """Tokens (B,), one after the other."""
    if not texts or not count:
        return
    numbers = sampling.numbers(len(texts), count)
    logits, state = _prefill(stream, start, texts)
    if not logits.isfinite().all():
        raise ArgumentError(
            "generate: scores must be finite; got NaN or infinity. Train the model again, with a "
            "lower rate."
        )
    for place in range(count):
        tokens = sampling.choose(logits, numbers[:, place])
        yield tokens
        if place + 1 < count:
            logits, state = stream.step(tokens, state)


def _prefill(stream: Streamer, start: int, texts: list[Tensor]) -> tuple[Tensor, State]:
    """Scores (B, V) behind every prompt, and the state there."""
    state = stream.init_state(len(texts))
    device = state.tensors["position"].device
    rows = [torch.cat([text.new_tensor([start]), text]) for text in texts]
    ends = torch.tensor([len(row) for row in rows], device=device)
    x, last = pad_sequence(rows, batch_first=True).to(device), torch.empty(0)
    for begin in range(0, x.shape[1], PIECE):
        piece = x[:, begin : begin + PIECE]
        valid = (ends - begin).clamp(0, piece.shape[1])
        ragged = bool((valid < piece.shape[1]).any())
        y, state = stream.chunk(piece, state, valid if ragged else None)
        newest = y[torch.arange(len(y)), valid.clamp_min(1) - 1]  # (B, V)
        last = torch.where(valid[:, None] > 0, newest, last) if begin else newest
    return last, state


def _has_ended(written: list[int], endings: list[list[int]]) -> bool:
    return any(written[-len(ending) :] == ending for ending in endings)


def _rows(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    if isinstance(prompts, (bytes, str)):
        return [prompts]
    if isinstance(prompts, Tensor):
        return [prompts] if prompts.ndim < 2 else list(prompts)
    return list(prompts)


def _tokens(model: "LanguageModel", prompt: Prompt) -> Tensor:
    """One prompt or stop as tokens of the vocabulary, int64 on the CPU.      (n,)."""
    if isinstance(prompt, (bytes, str)):
        if model.vocabulary != BYTES:
            raise ArgumentError(
                f"generate: prompts must be tokens, because the vocabulary of {model.vocabulary} "
                f"is not that of bytes; got {type(prompt).__name__}. Pass a tensor of tokens."
            )
        data = prompt.encode(errors="surrogateescape") if isinstance(prompt, str) else prompt
        return torch.tensor(list(data), dtype=torch.int64)
    if not isinstance(prompt, Tensor) or prompt.ndim != 1 or prompt.dtype not in INTEGERS:
        got = type(prompt).__name__
        if isinstance(prompt, Tensor):
            got = f"a tensor {tuple(prompt.shape)} of {prompt.dtype}"
        raise DtypeError(
            "generate: every prompt must be bytes, text or a tensor (n,) of whole numbers; "
            f"got {got}. Pass one prompt, or a list of them."
        )
    tokens = prompt.long().cpu()
    if len(tokens) and not (0 <= tokens.min() and tokens.max() < model.vocabulary):
        raise ArgumentError(
            f"generate: tokens must lie between 0 and {model.vocabulary - 1}; "
            f"got {int(tokens.min())} to {int(tokens.max())}. "
            "Use the vocabulary the model was made for."
        )
    return tokens
