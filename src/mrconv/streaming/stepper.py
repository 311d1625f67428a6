"""What a stepper is, and the table of which stepper streams which module."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from ..errors import MergeError
from .state import State

__all__ = ["Cost", "DenseName", "Settings", "Stepper", "make_stepper"]

DenseName = Literal["tiled", "partitioned", "flat"]


@dataclass(frozen=True)
class Settings:
    """What a Streamer was asked for, handed on to the stepper of every module."""

    window: int | None = None
    """Last positions that a model pools over; None: all since the start."""
    rate: int = 1
    """Samples of the training rate per sample of the stream."""
    dense: DenseName = "tiled"
    """How dense taps are streamed."""
    capacity: int | None = None
    """Samples that a row will take at most, as attention must know; None: its length."""


class Cost(NamedTuple):
    """What one stepper costs for one sequence, a line of ``Streamer.explain``."""

    place: str
    """Path of the module inside the streamed one."""
    method: str
    """What runs."""
    operations: float
    """Multiplications and additions a sample, amortised, of all channels."""
    nbytes: int
    """Of the state of one row."""
    merged: float | None = None
    """Operations of the merged form of the layer; None where there is only one form."""


class Stepper(nn.Module, ABC):
    """Runs one module sample by sample or chunk by chunk.

    The output is a function of the samples, never of how they were cut into calls. A fresh state is
    zero everywhere. Constants are buffers. Subclass it to stream a module of your own, and register
    it with ``make_stepper``.

    Example:
        >>> from mrconv.streaming import State, Stepper
        >>> class Total(Stepper):
        ...     time_axis = 2
        ...     def init_state(self, batch_size):
        ...         return State({"total": torch.zeros(batch_size, 1)})
        ...     def step(self, x, state):
        ...         total = state.tensors["total"].add_(x)
        ...         return total.clone(), state
        ...     def chunk(self, x, state, lengths=None):
        ...         y = state.tensors["total"][..., None] + x.cumsum(-1)
        ...         return y, State({"total": y[..., -1] if x.shape[-1] else y.sum(-1)})
    """

    #: Where time stands in a chunk: 2 for (B, D, n), 1 for (B, n, F); None where either will do.
    time_axis: int | None = None

    @abstractmethod
    def init_state(self, batch_size: int) -> State:
        """The state of rows that have seen nothing yet: zero everywhere."""

    @abstractmethod
    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample of every row.

        Args:
            x: Input.                                                   (B, D)
            state: Written to.

        Returns:
            Output (B, D), and the state behind it.
        """

    @abstractmethod
    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Any number of samples of every row.

        Args:
            x: Input, finite; read up to each row's length.  (B, D, n) or (B, n, F)
            state: Written to.
            lengths: Valid samples of each row; None: all.                 (B,)

        Returns:
            Output, of any value behind each row's length, and the state behind the valid samples.
        """

    def costs(self, place: str = "") -> Iterator[Cost]:
        """A line for every stepper inside that is worth one; subclasses give their own."""
        yield from _inner_costs(self, place)


def _inner_costs(module: nn.Module, place: str) -> Iterator[Cost]:
    for name, part in module.named_children():
        path = f"{place}.{name}".lstrip(".")
        yield from part.costs(path) if isinstance(part, Stepper) else _inner_costs(part, path)


@singledispatch
def make_stepper(module: nn.Module, settings: Settings) -> Stepper:
    """The stepper of a module, chosen by its class; ``make_stepper.register`` adds to the table.

    Args:
        module: In eval mode; the stepper copies what it needs.
        settings: As the Streamer was asked.

    Returns:
        A stepper of its own.

    Raises:
        MergeError: If no stepper is registered for the class.

    Example:
        >>> import torch, mrconv
        >>> from mrconv.streaming import PointwiseStepper, make_stepper
        >>> class Double(torch.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> @make_stepper.register
        ... def _(module: Double, settings: mrconv.streaming.Settings):
        ...     return PointwiseStepper(module)
        >>> model = torch.nn.Sequential(mrconv.LongConv(2, 8), Double()).eval()
        >>> mrconv.Streamer(model)
        Streamer(Sequential, Settings(window=None, rate=1, dense='tiled', capacity=None))
    """
    name = type(module).__name__
    raise MergeError(
        f"Streamer: every module must have a stepper; got {name}. Register one with "
        f"mrconv.streaming.make_stepper.register({name}, lambda module, settings: "
        "YourStepper(module))."
    )


def empty(*sizes: int, like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Zeros on the device of ``like``, in its dtype unless another is given."""
    return torch.zeros(*sizes, dtype=dtype or like.dtype, device=like.device)
