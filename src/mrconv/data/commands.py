"""Speech Commands v0.02: one second of sound, one spoken word, by path."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import ArgumentError, FileError
from .archives import Reader, check_digest, data_files
from .cache import cached
from .contract import InputContract
from .splits import Examples, SplitName, Splits
from .wave import WaveReader

__all__ = ["SpeechCommands"]

RATE, SAMPLES = 16000, 16000
#: Of speech_commands_v0.02.tar.gz.
MD5 = ("6b74f3901214cb2c2934e98196829835",)
GET = "Get it: http://download.tensorflow.org/data/speech_commands_v0.02.tar.gz."
LISTS: dict[str, SplitName] = {"validation_list.txt": "validation", "testing_list.txt": "test"}
#: In the order of the published trainings.
WORDS = {
    10: ("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"),
    35: tuple(
        "bed cat down five forward go house left marvin no on right sheila tree up visual yes "
        "backward bird dog eight follow four happy learn nine off one seven six stop three two wow "
        "zero".split()
    ),
}
#: Added to the deviation before it divides, as in the published trainings.
EPSILON = 1e-5

Clips = dict[SplitName, list[tuple[int, str]]]  # number of the word, name of the file


@dataclass(frozen=True)
class SpeechCommands:
    """105,829 recordings of 35 spoken words, a second each at 16 kHz, one channel.

    The set's own lists name the clips that validate and those of the test; the others train. A clip
    that is shorter than a second gets zeros on the right, and no ``lengths``: the padding counts,
    as in the published trainings. All are scaled by mean and standard deviation of the training
    clips at 16 kHz, padding included, so that a model of 16 kHz may be given those of 8 kHz.

    Of ten words the published numbers are of a random split of the full-length clips, 70 to 15 to
    15, that depends on the order in which a disk lists its files; here the set's own lists hold.

    Args:
        path: The archive ``speech_commands_v0.02.tar.gz``, read in memory; or a folder of its
            files.
        words: 35, all; or 10, the commands.
        rate: In Hz: 16000, or 8000 by every second sample, as published for models that are tried
            at another rate.
        deviation: Standard deviation of the training samples once they are scaled; 0.2 in the paper
            on MRConv.
        verify: Whether an archive must have the published MD5 sum.
        cache: Folder that keeps what was prepared, for the next time; None: nothing is kept.

    Raises:
        ArgumentError: If words, rate or deviation cannot be had.

    Cost: 64 kB of memory a clip at 16 kHz, 6.8 GB for all 35 words; on the disk with a cache.

    Source: Warden 2018, arXiv:1804.03209, CC BY 4.0. Preparation as in S4 (Gu et al. 2022).

    Example:
        >>> from mrconv.data import SpeechCommands
        >>> SpeechCommands("speech_commands_v0.02.tar.gz", words=10).rate
        16000
    """

    path: str
    words: Literal[35, 10] = 35
    rate: Literal[16000, 8000] = 16000
    deviation: float = 1.0
    verify: bool = True
    cache: str | None = None

    def __post_init__(self) -> None:
        for name, known in (("words", (35, 10)), ("rate", (16000, 8000))):
            value = getattr(self, name)
            if value not in known:
                raise ArgumentError(
                    f"SpeechCommands: {name} must be {known[0]} or {known[1]}; got {value}. "
                    f"Use {known[0]}."
                )
        if not self.deviation > 0:
            raise ArgumentError(
                f"SpeechCommands: deviation must be positive; got {self.deviation}. Use 1."
            )

    def load(self) -> Splits:
        """Reads the clips, sorted by word and name.

        Returns:
            For 35 words 84,843, 9,981 and 11,005 examples of x (N, 16000, 1), at 8 kHz
            (N, 8000, 1), and y (N,).

        Raises:
            FileError: If the path, a list or a clip is missing, an archive is damaged or not the
                published one, or a clip is not 16 kHz, one channel and at most a second.
        """
        return cached(self, self._prepare)

    def _prepare(self) -> Splits:
        if self.verify:
            check_digest("SpeechCommands", self.path, MD5, GET)
        words = WORDS[self.words]
        pattern = rf"({'|'.join(words)})/\w+[.]wav|({'|'.join(LISTS)})"
        files = data_files("SpeechCommands", self.path, pattern, GET)
        clips = _clips(files, words, self.path)
        sounds, sums = {}, np.zeros(2)
        for split, rows in clips.items():
            sounds[split], of_split = _sounds(files, rows, RATE // self.rate)
            sums = of_split if split == "train" else sums
        contract = self._contract(*sums / (len(clips["train"]) * SAMPLES))
        for x in sounds.values():
            for row in x:  # one by one: float64 of all would not fit
                row[:] = contract.scaled(row)
        parts = {
            split: Examples(
                torch.from_numpy(sounds[split]), torch.tensor([word for word, _ in rows])
            )
            for split, rows in clips.items()
        }
        return Splits(**parts, contract=contract, labels=words)

    def _contract(self, mean: float, square: float) -> InputContract:
        """From the means of the training samples and of their squares."""
        std = float(np.sqrt(max(square - mean**2, 0.0))) + EPSILON
        return InputContract(
            "audio",
            SAMPLES * self.rate // RATE,
            sample_rate=float(self.rate),
            mean=float(mean),
            std=std / self.deviation,
        )


def _clips(files: Mapping[str, Reader], words: tuple[str, ...], path: str) -> Clips:
    """Word and file of every clip, sorted, each in its split."""
    split_of: dict[str, SplitName] = {}
    for name, split in LISTS.items():
        if name not in files:
            raise FileError(
                f"SpeechCommands: {path} must hold the list {name}; got no such file. {GET}"
            )
        listed = files[name]().decode("utf-8", "replace").split()
        split_of |= dict.fromkeys(listed, split)
    for name in split_of:
        if name.partition("/")[0] in words and name not in files:
            raise FileError(
                f"SpeechCommands: {path} must hold every clip that its lists name; got no {name}. "
                f"{GET}"
            )
    clips: Clips = {"train": [], "validation": [], "test": []}
    for word, folder in enumerate(words):
        found = [name for name in files if name.startswith(f"{folder}/")]
        for name in found:
            clips[split_of.get(name, "train")].append((word, name))
    for split, rows in clips.items():
        if len({word for word, _ in rows}) < len(words):
            missing = next(one for i, one in enumerate(words) if i not in {w for w, _ in rows})
            raise FileError(
                f"SpeechCommands: {path} must hold clips of every word for the split {split}; got "
                f"none of {missing!r}. {GET}"
            )
    return clips


def _sounds(
    files: Mapping[str, Reader], rows: list[tuple[int, str]], step: int
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Every ``step``-th sample (N, L, 1), zeros behind each end; sums of all and of squares."""
    x, sums = np.zeros((len(rows), SAMPLES // step, 1), np.float32), np.zeros(2)
    for row, (_, name) in zip(x, rows, strict=True):
        samples = _samples(name, files[name]())
        kept = samples[::step]
        row[: len(kept), 0] = kept
        wide = samples.astype(np.float64)
        sums += wide.sum(), np.square(wide).sum()
    return x, sums


def _samples(name: str, content: bytes) -> NDArray[np.float32]:
    """Values of one clip in [-1, 1), (L,)."""
    reader = WaveReader(io.BytesIO(content), f"SpeechCommands: {name}")
    samples = np.concatenate(list(reader.blocks()))
    if reader.rate != RATE or samples.shape[1] != 1 or len(samples) > SAMPLES:
        raise FileError(
            f"SpeechCommands: {name} must have {RATE} Hz, 1 channel and at most {SAMPLES} samples; "
            f"got {reader.rate} Hz, {samples.shape[1]} and {len(samples)}. {GET}"
        )
    return samples[:, 0]
