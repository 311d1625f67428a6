"""The Free Spoken Digit Dataset: short recordings of ten digits, by path."""

import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from .._checks import check_count
from ..errors import ArgumentError, FileError
from .contract import InputContract
from .splits import Examples, SplitName, Splits
from .wave import read_wave

__all__ = ["SpokenDigits"]

RATE, PER_SPEAKER = 8000, 50
#: Recordings of each speaker and digit, by their index. The test is the official one.
INDICES: dict[SplitName, range] = {
    "test": range(0, 5),
    "validation": range(5, 10),
    "train": range(10, PER_SPEAKER),
}
#: Two of the speakers are 20 dB quieter than the others; companded it is 8 dB.
MU = 255.0
#: Standard deviation of the companded training recordings, their first 4,096 samples; their mean
#: is -0.005.
STD = 0.332
_NAME = re.compile(r"(\d)_([A-Za-z]+)_(\d+)")
_GET = "Get it: git clone https://github.com/Jakobovski/free-spoken-digit-dataset"


@dataclass(frozen=True)
class SpokenDigits:
    """3,000 recordings of spoken digits: 10 digits, 6 speakers, 50 times each, 8 kHz, one channel.

    The set's own split: recordings 0 to 4 of every speaker and digit are the test. Of the others,
    5 to 9 are for validation and 10 to 49 for training. Every speaker is in all three.

    Samples are companded with mu = 255, because the speakers' loudness differs tenfold.

    Rows are padded with zeros on the right, and ``lengths`` tells where each ends. A recording
    that is longer than ``length`` is cut there: at 4,096 samples, 0.51 s, one in four is, most of
    them behind the word.

    Training can be enlarged by speed: at each of ``speeds`` every training recording comes once,
    resampled, so that at 1.1 it is shorter and higher by a tenth. Validation and test stay as they
    are.

    Args:
        path: The set's folder, which holds ``recordings`` with files DIGIT_SPEAKER_INDEX.wav.
        length: Samples kept of each recording, at most.
        speeds: Of the copies of the training recordings, in steps of a hundredth; 1 is as spoken.
        frame: n, samples that stand side by side as one step of the model, which then has n
            features and sequences n times shorter.

    Raises:
        ArgumentError: If length or frame is below 1, there is no speed, or one is not from 0.5 to
            2.

    Source: Jakobovski et al., github.com/Jakobovski/free-spoken-digit-dataset, CC BY-SA 4.0.

    Example:
        >>> from mrconv.data import SpokenDigits
        >>> SpokenDigits("free-spoken-digit-dataset").length
        4096
    """

    path: str
    length: int = 4096
    speeds: tuple[float, ...] = (1.0,)
    frame: int = 1

    def __post_init__(self) -> None:
        check_count("SpokenDigits", "length", self.length)
        check_count("SpokenDigits", "frame", self.frame)
        if not self.speeds or not all(0.5 <= speed <= 2 for speed in self.speeds):
            raise ArgumentError(
                f"SpokenDigits: speeds must be numbers from 0.5 to 2; got {self.speeds}. "
                "Use (1.0,) for the recordings as they are."
            )

    def load(self) -> Splits:
        """Reads the recordings, sorted by digit, speaker and index.

        Returns:
            2,400 (for each speed), 300 and 300 examples of x (N, ceil(length / n), n), y (N,) and
            lengths (N,) in steps, where the set is complete.

        Raises:
            FileError: If the folder, a whole split or the order of names is missing, or a
                recording cannot be read or is not 8 kHz and one channel.
        """
        contract = InputContract(
            "audio",
            self.length,
            sample_rate=float(RATE),
            std=STD,
            companding=MU,
            frame=self.frame,
        )
        found = _recordings(Path(self.path))
        parts = {
            name: self._examples(found[name], contract, self.speeds if name == "train" else (1.0,))
            for name in INDICES
        }
        return Splits(**parts, contract=contract, labels=tuple("0123456789"))

    def files(self, split: SplitName) -> list[Path]:
        """The recordings of one split, in the order of its examples (of one speed).

        Args:
            split: "train", "validation" or "test".

        Raises:
            FileError: As ``load``.
        """
        return _recordings(Path(self.path))[split]

    def _examples(
        self, files: list[Path], contract: InputContract, speeds: tuple[float, ...]
    ) -> Examples:
        steps = -(-self.length // self.frame)
        x = torch.zeros(len(speeds) * len(files), steps, contract.features)
        lengths = torch.zeros(len(x), dtype=torch.int64)
        recordings = [_samples(file) for file in files]
        for row, (speed, recording) in enumerate(product(speeds, recordings)):
            kept = contract.prepare(_faster(recording, speed)[: self.length])
            x[row, : len(kept)], lengths[row] = torch.from_numpy(kept), len(kept)
        y = torch.tensor([int(file.name[0]) for file in files])
        return Examples(x, y.repeat(len(speeds)), lengths)


def _recordings(folder: Path) -> dict[SplitName, list[Path]]:
    """The files of each split, sorted."""
    files = sorted((folder / "recordings").glob("*.wav"))
    if not files:
        raise FileError(
            f"SpokenDigits: path must be a folder with recordings/*.wav; got {folder}, which has "
            f"none. {_GET}"
        )
    keys = {file: _key(file) for file in files}
    files.sort(key=keys.__getitem__)
    parts = {
        name: [file for file in files if keys[file][2] in rows] for name, rows in INDICES.items()
    }
    for name, rows in INDICES.items():
        if not parts[name]:
            raise FileError(
                f"SpokenDigits: {folder} must hold recordings {rows[0]} to {rows[-1]} for the "
                f"split {name}; got none of them. {_GET}"
            )
    return parts


def _key(file: Path) -> tuple[int, str, int]:
    """Digit, speaker and index of a recording."""
    name = _NAME.fullmatch(file.stem)
    if not name or int(name[3]) >= PER_SPEAKER:
        raise FileError(
            "SpokenDigits: recordings must be named DIGIT_SPEAKER_INDEX.wav with an index below "
            f"{PER_SPEAKER}; got {file.name}. Move other files elsewhere."
        )
    return int(name[1]), name[2], int(name[3])


def _faster(samples: NDArray[np.float32], speed: float) -> NDArray[np.float32]:
    """The recording played at another speed, at the same rate: 1 / speed as many samples."""
    hundredths = round(100 * speed)
    if hundredths == 100:
        return samples
    from scipy.signal import resample_poly

    return resample_poly(samples, 100, hundredths)


def _samples(file: Path) -> NDArray[np.float32]:
    samples, rate = read_wave(file)
    if rate != RATE or samples.shape[1] != 1:
        raise FileError(
            f"{file}: recordings must have {RATE} Hz and 1 channel; "
            f"got {rate} Hz and {samples.shape[1]}. {_GET}"
        )
    return samples
