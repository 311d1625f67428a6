"""Pathfinder: are two marks joined by a dashed contour? Images as sequences, by path."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray

from .._checks import check_choice, check_count
from ..errors import FileError
from .cache import cached
from .contract import InputContract
from .generating import in_order
from .pathfinder_settings import Level, folder_name, metadata
from .png import unfiltered, unpacked
from .splits import Examples, Splits

__all__ = ["Pathfinder"]

#: Of the split that the code of S4 and those after it use.
SPLIT_SEED = 42
AT_ONCE = 1024
_GET = "Generate the set: mrconv data pathfinder --out DIR --size"


@dataclass(frozen=True)
class Pathfinder:
    """Grey images read row by row, and whether one contour joins their two marks: two classes.

    Read from LEVEL/metadata/NUMBER.npy and LEVEL/imgs as Long Range Arena publishes them and
    ``mrconv data pathfinder`` writes them. At size 128 this is Path-X. Grey values from 0 to 1 are
    scaled to -1 to 1. Empty files, one of which the release has, are left out.

    Images in the order of their metadata are dealt out by one fixed random permutation, that of the
    code of S4: four fifths for training, then a tenth for validation, a tenth for the test.

    Args:
        path: Folder with curv_baseline, curv_contour_length_9 or curv_contour_length_14.
        size: Height and width of the images.
        level: "easy", "intermediate" or "hard": which of these folders, in their order.
        limit: Examples kept of each split, its first ones; None: all.
        cache: Folder that keeps what was prepared, for the next time; None: nothing is kept.
        workers: Processes that read images.

    Raises:
        ArgumentError: If size, limit or workers is below 1, or the level is unknown.

    Cost: 4 bytes of memory a pixel: 0.8 GB for 200,000 images of 32 x 32 pixels, 13 GB for Path-X;
    on the disk with a cache, from where processes on one machine share them.

    Source: Linsley et al. 2018; Tay et al. 2021 (Long Range Arena); Gu et al. 2022 (S4), the split.

    Example:
        >>> from mrconv.data import Pathfinder
        >>> Pathfinder("pathfinder32").size
        32
    """

    path: str
    size: int = 32
    level: Level = "hard"
    limit: int | None = None
    cache: str | None = None
    workers: int = 1

    def __post_init__(self) -> None:
        check_count("Pathfinder", "size", self.size)
        check_count("Pathfinder", "workers", self.workers)
        check_choice("Pathfinder", "level", self.level, get_args(Level))
        if self.limit is not None:
            check_count("Pathfinder", "limit", self.limit)

    def load(self) -> Splits:
        """Reads the images.

        Returns:
            Examples of x (N, size^2, 1) and y (N,).

        Raises:
            FileError: If the folder or an image is missing, damaged or of another size.
        """
        return cached(self, self._prepare)

    def _prepare(self) -> Splits:
        images = self._images()
        held = max(1, len(images) // 10)
        generator = torch.Generator().manual_seed(SPLIT_SEED)
        order = torch.randperm(len(images), generator=generator).tolist()
        train, validation = len(images) - 2 * held, len(images) - held
        return Splits(
            self._examples([images[i] for i in order[:train]]),
            self._examples([images[i] for i in order[train:validation]]),
            self._examples([images[i] for i in order[validation:]]),
            InputContract("image", self.size**2, mean=0.5, std=0.5),
            labels=("apart", "joined"),
        )

    def _images(self) -> list[tuple[Path, int]]:
        """Every image that is not empty, with its label."""
        folder = Path(self.path) / folder_name(self.level)
        files = sorted(
            (folder / "metadata").glob("[0-9]*.npy"), key=lambda file: (len(file.name), file.name)
        )
        found = [(folder / name, label) for file in files for name, label in metadata(file)]
        try:
            found = [(file, label) for file, label in found if file.stat().st_size]
        except OSError as error:
            raise FileError(
                f"Pathfinder: every image of the metadata must be there; got no {error.filename}. "
                f"{_GET} {self.size}"
            ) from None
        if len(found) < 3:
            raise FileError(
                f"Pathfinder: path must be a folder with {folder.name}/metadata and 3 images or "
                f"more; got {len(found)} in {folder}. {_GET} {self.size}"
            )
        return found

    def _examples(self, images: list[tuple[Path, int]]) -> Examples:
        kept = images[: self.limit]
        files = [file for file, _ in kept]
        x = torch.empty(len(kept), self.size**2, 1)  # at once: a second copy may not fit
        starts = range(0, len(files), AT_ONCE)
        read = partial(_pixels, size=self.size)
        parts = in_order(read, (files[first : first + AT_ONCE] for first in starts), self.workers)
        for first, grey in zip(starts, parts, strict=True):
            part = x[first : first + len(grey)]
            part.copy_(torch.from_numpy(grey).reshape(part.shape)).div_(255).sub_(0.5).div_(0.5)
        return Examples(x, torch.tensor([label for _, label in kept]))


def _pixels(files: list[Path], size: int) -> NDArray[np.uint8]:
    """Grey values of images.                                             (N, size, size)."""
    pictures = [unpacked(str(file), file.read_bytes(), size, size) for file in files]
    return unfiltered(pictures)
