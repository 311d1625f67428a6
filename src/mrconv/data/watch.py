"""Shoulder exercises as a smartwatch feels them, from a package."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .._checks import check_count
from ..errors import ArgumentError, FileError
from .contract import InputContract
from .motion import varied_window
from .packages import install_again, package_file
from .splits import Examples, SplitName, Splits
from .unpickling import load_object_array

__all__ = ["Smartwatch"]

REQUIREMENT = "seglearn==1.2.5"
SUBJECTS, CHANNELS, RATE = 10, 6, 50.0
AGAIN = install_again(REQUIREMENT)


@dataclass(frozen=True)
class Smartwatch:
    """Seven shoulder exercises by ten people: acceleration and rotation of the wrist at 50 Hz.

    140 recordings of 19 to 52 seconds, each cut into windows; what is left at a recording's end is
    dropped. People are held out whole. Every channel is scaled by its mean and standard deviation
    over the training windows. The publication has 20 people and gives 88.9 % on people that the
    model has not seen.

    The array is a pickle; it is read through an allow list of numpy's constructors.

    Args:
        path: The file ``watch_dataset.npy``; None finds it in the installed package seglearn, which
            is not imported.
        length: Samples a window.
        hop: Samples from one window's start to the next one's.
        validation: People for validation, 0 to 9 in the order of their numbers.
        test: People for the test; the others train.
        copies: Further windows for each training window, as the same person would have moved with
            the watch at another angle and speed; see ``motion.varied_window``. They follow from
            the settings and never change.

    Raises:
        ArgumentError: If length or hop is below 1, copies below 0, or people are unknown, named
            twice or all.

    Source: Burns et al. 2018, arXiv:1802.01489, by way of seglearn 1.2.5 (BSD-3).

    Example:
        >>> from mrconv.data import Smartwatch
        >>> Smartwatch(validation=(0,), test=(1,)).length
        512
    """

    path: str | None = None
    length: int = 512
    hop: int = 256
    validation: tuple[int, ...] = (6, 7)
    test: tuple[int, ...] = (8, 9)
    copies: int = 0

    def __post_init__(self) -> None:
        check_count("Smartwatch", "length", self.length)
        check_count("Smartwatch", "hop", self.hop)
        check_count("Smartwatch", "copies", self.copies, 0)
        held = [*self.validation, *self.test]
        known = {*held} < {*range(SUBJECTS)} and len({*held}) == len(held)
        if not (known and self.validation and self.test):
            raise ArgumentError(
                f"Smartwatch: validation and test must name different people from 0 to "
                f"{SUBJECTS - 1} and leave some to train; got validation={self.validation}, "
                f"test={self.test}. Use (6, 7) and (8, 9), or one each."
            )

    def load(self) -> Splits:
        """Reads the file and cuts the windows.

        Returns:
            Windows x (N, length, 6) and y (N,), 745 in all at the default length and hop.

        Raises:
            FileError: If the file is missing, damaged or holds something else, or no recording of
                a split is as long as a window.
        """
        default = ("seglearn", "data/watch_dataset.npy", REQUIREMENT)
        recordings, exercises, people, labels = _read(
            Path(self.path) if self.path else package_file(*default)
        )
        windows: dict[SplitName, list[tuple[NDArray[np.float64], int]]] = {
            "train": [],
            "validation": [],
            "test": [],
        }
        copied: list[tuple[NDArray[np.float64], int]] = []
        random = np.random.default_rng(0)
        for recording, exercise, person in zip(recordings, exercises, people, strict=True):
            starts = range(0, len(recording) - self.length + 1, self.hop)
            part = self._split_of(person)
            cut = [recording[start : start + self.length] for start in starts]
            windows[part] += [(window, exercise) for window in cut]
            if part == "train":
                copied += [
                    (varied_window(recording, start, self.length, random), exercise)
                    for start in starts
                    for _ in range(self.copies)
                ]
        self._refuse_empty(windows, max(map(len, recordings)))
        train = np.concatenate([window for window, _ in windows["train"]])
        contract = InputContract(
            "series",
            self.length,
            CHANNELS,
            sample_rate=RATE,
            mean=tuple(map(float, train.mean(0))),
            std=tuple(map(float, train.std(0))),
        )
        windows["train"] += copied  # behind the mean and standard deviation, which are the people's
        parts = {name: _examples(rows, contract) for name, rows in windows.items()}
        return Splits(**parts, contract=contract, labels=labels)

    def _split_of(self, person: int) -> SplitName:
        if person in self.test:
            return "test"
        return "validation" if person in self.validation else "train"

    def _refuse_empty(self, windows: Mapping[SplitName, list[Any]], longest: int) -> None:
        for name, rows in windows.items():
            if not rows:
                raise FileError(
                    f"Smartwatch: recordings for the split {name} must be at least as long as a "
                    f"window of {self.length}; got none, the longest of all has {longest}. "
                    "Lower length."
                )


def _examples(rows: list[tuple[NDArray[np.float64], int]], contract: InputContract) -> Examples:
    x = np.stack([contract.prepare(window) for window, _ in rows])
    return Examples(torch.from_numpy(x), torch.tensor([exercise for _, exercise in rows]))


def _read(
    path: Path,
) -> tuple[list[NDArray[np.float64]], list[int], list[int], tuple[str, ...]]:
    """Recordings (L, 6), exercise and person of each, both counted from 0, and exercises' names."""
    try:
        with path.open("rb") as file:
            array = load_object_array(str(path), file, AGAIN)
    except OSError as error:
        raise FileError(
            f"Smartwatch: path must be a file that can be read; got {path}, {error.strerror}. "
            f"Run: pip install --no-deps {REQUIREMENT}"
        ) from None
    try:
        held: dict[str, Any] = array.item()
        recordings = [np.asarray(one, np.float64) for one in held["X"]]
        exercises, people = (
            np.unique(np.asarray(held[key]).ravel(), return_inverse=True)
            for key in ("y", "subject")
        )
        labels = tuple(map(str, held["y_labels"]))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise FileError(
            f"{path}: must hold X, y, subject and y_labels; got {error!r}. {AGAIN}"
        ) from None
    shapes = {one.shape[1:] for one in recordings}
    counts = (len(recordings), len(exercises[1]), len(people[1]))
    sizes = (len(labels), len(people[0]))
    finite = all(np.isfinite(one).all() for one in recordings)
    if (
        shapes != {(CHANNELS,)}
        or len({*counts}) != 1
        or sizes != (len(exercises[0]), SUBJECTS)
        or not finite
    ):
        raise FileError(
            f"{path}: must hold finite recordings of {CHANNELS} channels by {SUBJECTS} people, an "
            f"exercise and a person for each; got {counts[0]} recordings of {sorted(shapes)}, "
            f"{counts[1]} exercises, {sizes[1]} people. {AGAIN}"
        )
    return recordings, exercises[1].tolist(), people[1].tolist(), labels
