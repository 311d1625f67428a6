"""One-purpose checks of arguments, and the two helpers for padded batches."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor

from .errors import ArgumentError, DtypeError, MissingExtraError, ShapeError

__all__ = [
    "check_choice",
    "check_count",
    "check_layer_input",
    "check_lengths",
    "checked_input",
    "full_precision",
    "layer_operand",
    "length_mask",
    "lengths_from_mask",
    "mask_invalid",
    "nearest",
    "needs_extra",
    "pad",
    "widened",
]

HALF = (torch.bfloat16, torch.float16)
MIXED = (*HALF, torch.float32)  # what autocast may hand on
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence that proposes the known word closest to ``word``, or lists them all."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known)}."


@contextmanager
def needs_extra(owner: str, extra: str) -> Iterator[None]:
    """Turns a missing package into the pip line that installs it.

    Args:
        owner: First word of the message.
        extra: Extra of mrconv that holds the package.

    Raises:
        MissingExtraError: If an import inside finds no such package.

    Example:
        >>> with needs_extra("train", "train"):
        ...     import json
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "mrconv":
            raise
        raise MissingExtraError(
            f"{owner}: the package {package} must be installed; got none. "
            f'Run: pip install "mrconv[{extra}]"'
        ) from None


def check_choice(owner: str, name: str, value: object, choices: Iterable[str]) -> None:
    """Raises unless ``value`` is one of the strings in ``choices``."""
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        allowed = ", ".join(repr(choice) for choice in choices)
        raise ArgumentError(
            f"{owner}: {name} must be one of {allowed}; got {value!r}. "
            f"{nearest(str(value), choices)}"
        )


def check_count(owner: str, name: str, value: object, least: int = 1) -> None:
    """Raises unless ``value`` is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise DtypeError(
            f"{owner}: {name} must be a whole number; got {value!r}. "
            f"Pass an int of at least {least}."
        )
    if value < least:
        raise ArgumentError(
            f"{owner}: {name} must be at least {least}; got {name}={value}. Pass a larger {name}."
        )


def check_layer_input(owner: str, x: Tensor, channels: int, parameters: torch.dtype) -> None:
    """Raises unless ``x`` is (B, channels, L) in a dtype that fits the parameters.

    Args:
        owner: Name of the layer, the first word of the message.
        x: Input.                                                     (B, D, L)
        channels: D of the layer.
        parameters: dtype of the layer's parameters. Under autocast half precision and float32 fit.

    Raises:
        ShapeError: For another number of dimensions or of channels; guesses a transpose.
        DtypeError: For integers, complex numbers or another floating dtype.
    """
    if x.ndim != 3 or x.shape[1] != channels:
        swapped = x.ndim == 3 and x.shape[2] == channels
        remedy = (
            "Did you mean x.transpose(1, 2)?"
            if swapped
            else "Pass a tensor of (batch, channels, length)."
        )
        raise ShapeError(
            f"{owner}: input must be (batch, {channels}, length); got {tuple(x.shape)}. {remedy}"
        )
    mixed = x.dtype in MIXED and not x.is_meta and torch.is_autocast_enabled(x.device.type)
    if x.dtype != parameters and not mixed:
        raise DtypeError(
            f"{owner}: input must have the dtype of the parameters, {parameters}; got {x.dtype}. "
            f"Convert the input with x.to({parameters}) or the layer with layer.to({x.dtype})."
        )


def check_lengths(owner: str, lengths: Tensor, batch: int, length: int) -> None:
    """Raises unless ``lengths`` is (batch,) whole numbers between 0 and ``length``."""
    if not isinstance(lengths, Tensor) or lengths.dtype not in INTEGERS:
        got = lengths.dtype if isinstance(lengths, Tensor) else type(lengths).__name__
        raise DtypeError(
            f"{owner}: lengths must be a tensor of whole numbers; got {got}. "
            "Pass the number of valid samples of each row, or mrconv.lengths_from_mask(mask)."
        )
    if tuple(lengths.shape) != (batch,):
        raise ShapeError(
            f"{owner}: lengths must be ({batch},), one per row; got {tuple(lengths.shape)}. "
            "Pass the number of valid samples of each row, or mrconv.lengths_from_mask(mask)."
        )
    # Reads the tensor, which a compiler cannot.
    if not torch.compiler.is_compiling() and batch and not lengths.is_meta:
        low, high = int(lengths.min()), int(lengths.max())
        if low < 0 or high > length:
            raise ArgumentError(
                f"{owner}: lengths must lie between 0 and the input's length {length}; "
                f"got {low} to {high}. Pad the input on the right with mrconv.pad."
            )


def checked_input(
    owner: str, x: Tensor, lengths: Tensor | None, channels: int, parameters: torch.dtype
) -> Tensor:
    """A layer's input, checked, 0 behind every length, in its own dtype.

    Args:
        owner: Name of the layer, the first word of a message.
        x: Input.                                                     (B, D, L)
        lengths: Valid samples of each row; None: all.                     (B,)
        channels: D of the layer.
        parameters: dtype of the layer's parameters.

    Raises:
        ShapeError: As ``check_layer_input`` and ``check_lengths``.
        DtypeError: As ``check_layer_input`` and ``check_lengths``.
        ArgumentError: As ``check_lengths``.
    """
    check_layer_input(owner, x, channels, parameters)
    if lengths is not None:
        check_lengths(owner, lengths, x.shape[0], x.shape[-1])
    return mask_invalid(x, lengths)


def layer_operand(
    owner: str, x: Tensor, lengths: Tensor | None, channels: int, parameters: torch.dtype
) -> Tensor:
    """What a layer computes with: ``checked_input`` in at least float32."""
    return widened(checked_input(owner, x, lengths, channels, parameters))


def length_mask(lengths: Tensor, length: int) -> Tensor:
    """True where a position is valid: mask[b, t] = t < lengths[b].

    Args:
        lengths: Valid samples of each row.                               (B,)
        length: L, in samples.

    Returns:
        Boolean mask.                                                   (B, L)
    """
    return torch.arange(length, device=lengths.device) < lengths[:, None]


def mask_invalid(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Sets x (B, D, L) to exactly 0 behind each row's length, whatever stood there."""
    if lengths is None:
        return x
    mask = length_mask(lengths.to(x.device), x.shape[-1])[:, None]
    if torch.compiler.is_compiling():
        return torch.where(mask, x, x.new_zeros(()))
    kept: Tensor = _Kept.apply(x, mask)
    return kept


class _Kept(torch.autograd.Function):
    """Values where a mask is true, 0 elsewhere, and the same of the gradient.

    A choice, not a product: 0 * NaN is NaN. A zero of another dtype, as in torch's own gradient of
    ``where``, would be four times as slow.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, mask: Tensor) -> Tensor:
        return torch.where(mask, x, x.new_zeros(()))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _Kept.apply(gradient, *ctx.saved_tensors), None


def widened(x: Tensor) -> Tensor:
    """The tensor in a precision that FFTs and states are computed in: at least float32."""
    return x.float() if x.dtype in HALF else x


def full_precision(x: Tensor) -> AbstractContextManager[object]:
    """A context in which autocast leaves operations on the device of ``x`` in their own precision.

    FFTs do not run in half precision, and taps computed in it would be off by 1e-3.
    """
    return nullcontext() if x.is_meta else torch.autocast(x.device.type, enabled=False)


def pad(sequences: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Stacks sequences of unequal length, zeros on the right.

    Args:
        sequences: Each of its own length L_b, with equal further sizes.  (L_b, ...)

    Returns:
        The batch (B, max L_b, ...) and the lengths (B,), ready for ``model(x, lengths=lengths)``.

    Raises:
        ArgumentError: If there is no sequence.

    Example:
        >>> import torch, mrconv
        >>> x, lengths = mrconv.pad([torch.ones(3, 1), torch.ones(5, 1)])
        >>> x.shape, lengths.tolist()
        (torch.Size([2, 5, 1]), [3, 5])
    """
    if not sequences:
        raise ArgumentError("pad: sequences must hold at least one tensor; got none. Pass a list.")
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    return torch.nn.utils.rnn.pad_sequence(list(sequences), batch_first=True), lengths


def lengths_from_mask(mask: Tensor) -> Tensor:
    """Lengths of the rows of a mask that is true on valid positions: lengths[b] = sum_t mask[b, t].

    Args:
        mask: True where a sample is valid; valid samples first.        (B, L)

    Returns:
        Valid samples of each row, int64.                                 (B,)

    Raises:
        ShapeError: If the mask is not (batch, length).
        ArgumentError: If a row has a valid sample behind an invalid one.

    Example:
        >>> import torch, mrconv
        >>> mrconv.lengths_from_mask(torch.tensor([[True, True, False]])).tolist()
        [2]
    """
    if mask.ndim != 2:
        raise ShapeError(
            f"lengths_from_mask: mask must be (batch, length); got {tuple(mask.shape)}. "
            "Pass one row per sequence."
        )
    mask = mask.bool()
    lengths = mask.sum(-1)
    if not torch.equal(mask, length_mask(lengths, mask.shape[-1])):
        raise ArgumentError(
            "lengths_from_mask: valid positions must come first in each row (right padding); "
            "got left padding or a scattered mask. Shift each row's samples to the left with "
            "mrconv.pad([x[b][mask[b]] for b in range(len(x))])."
        )
    return lengths
