"""Cases of a bench, what a user may choose about them, and the choice by name."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from .._checks import check_count
from ..errors import ArgumentError
from .record import Row
from .timing import Pace

__all__ = ["Case", "Device", "Options", "selected"]

Device = Literal["cpu", "cuda"]


@dataclass(frozen=True)
class Options:
    """What a user may choose about a bench.

    Args:
        repeats: Rounds of each measurement; None: as many as fit its time.
        seed: Of inputs, parameters and random shapes.
        shapes: Number of random shapes (conv).
        quick: Whether tiny shapes and few rounds try the bench out; its bars then say little.
        busy: Whether to measure beside a busy process only (conv).
        device: "cpu" or "cuda".
        picture: File for a picture (layers, stream, distill, generate); None: none is drawn.
        models: Folders of trained models whose kernels are measured as well (distill).

    Raises:
        ArgumentError: If a number is too small, or there is no such device.
    """

    repeats: int | None = None
    seed: int = 0
    shapes: int = 40
    quick: bool = False
    busy: bool = False
    device: Device = "cpu"
    picture: str | None = None
    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.repeats is not None:
            check_count("bench", "repeats", self.repeats)
        check_count("bench", "shapes", self.shapes, least=0)
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ArgumentError(
                "bench: device must be one that torch finds here; got 'cuda'. "
                "Use --device cpu, or install torch for this machine's GPU."
            )

    def pace(self, seconds: float, least: int = 5) -> Pace:
        """How long a measurement may take.

        Args:
            seconds: Time for its rounds.
            least: Rounds, however long they take.

        Returns:
            The pace of ``timing.take_turns``.
        """
        if self.repeats is not None:
            return Pace(0.0, self.repeats, self.repeats)
        return Pace(0.02, 3, 5) if self.quick else Pace(seconds, least)

    @property
    def finish(self) -> Callable[[], None]:
        """What waits for the work that a call has started."""
        return torch.cuda.synchronize if self.device == "cuda" else _nothing


def _nothing() -> None:
    """The CPU has finished when a call returns."""


@dataclass(frozen=True)
class Case:
    """Measurements that belong together.

    Args:
        name: What ``--only`` looks at.
        measure: Gives rows, and sentences that are printed between them.
        closing: Whether it sums up other cases, hence runs with any of them.
    """

    name: str
    measure: Callable[[], Iterable[Row | str]]
    closing: bool = False


def selected(cases: Sequence[Case], only: str | None) -> list[Case]:
    """The cases whose name holds a text.

    Args:
        cases: Of a bench.
        only: The text, small and capital letters alike; None: all cases.

    Returns:
        The chosen cases, and those that close the bench.

    Raises:
        ArgumentError: If no name holds it.
    """
    if only is None:
        return list(cases)
    if not any(only.lower() in case.name.lower() for case in cases if not case.closing):
        names = "; ".join(case.name for case in cases if not case.closing)
        raise ArgumentError(
            f"bench: only must be part of a case's name; got {only!r}. Choose from: {names}."
        )
    return [case for case in cases if case.closing or only.lower() in case.name.lower()]
