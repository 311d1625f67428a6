"""Numbers that Pathfinder images are drawn by: one set for each size, one level for each length."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import FileError

__all__ = ["LEVELS", "SETTINGS", "Level", "PathfinderSettings", "folder_name", "metadata"]

Level = Literal["easy", "intermediate", "hard"]
#: Paddles of a contour.
LEVELS: Mapping[Level, int] = {"easy": 6, "intermediate": 9, "hard": 14}


@dataclass(frozen=True)
class PathfinderSettings:
    """Measures of an image, in pixels where they are lengths."""

    size: int
    """Height and width."""
    padding: int
    """Outermost pixels that stay free of contours."""
    paddle_length: int
    paddle_thickness: float
    margins: tuple[int, ...]
    """Free space round a paddle, of which one is drawn for each image."""
    marker_radius: float
    seed_distance: int
    """Between the beginnings of the two contours."""
    continuity: float
    """A turn by an angle has the weight cos^2 of ``continuity`` times the angle."""
    distractor_paddles: int
    """Of all distractors of an image together."""
    target_contrast: float
    """Of the two contours; in an image the brightest pixel becomes 255."""
    distractor_contrast: float
    antialias: int = 2
    """Finer pixels a pixel and axis, in which lines and discs are drawn."""


#: The order of the numbers is that of the fields above.
SETTINGS: Mapping[int, PathfinderSettings] = {
    32: PathfinderSettings(32, 1, 2, 0.5, (1,), 1.5, 7, 1.0, 20, 1.5, 2.0),
    64: PathfinderSettings(64, 1, 5, 1.0, (1,), 2.5, 12, 1.0, 22, 0.8, 0.8),
    128: PathfinderSettings(128, 1, 5, 1.5, (2, 3), 3.0, 20, 1.8, 35, 0.9, 0.9),
    256: PathfinderSettings(256, 22, 5, 2.0, (3,), 5.0, 27, 1.8, 30, 1.0, 1.0),
}


def folder_name(level: Level) -> str:
    """Folder of a level's images, as published."""
    return "curv_baseline" if level == "easy" else f"curv_contour_length_{LEVELS[level]}"


def metadata(file: Path) -> list[tuple[str, int]]:
    """What a folder's metadata say: each image's path below the level's folder, and its label.

    Args:
        file: metadata/NUMBER.npy, which is text despite its name.

    Raises:
        FileError: If a line is of another form.
    """
    found = []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        words = line.split()
        if len(words) < 4 or words[3] not in (b"0", b"1") or not line.isascii():
            raise FileError(
                f"{file}, line {number}: must be folder, file, number, a label 0 or 1, and further "
                f"numbers; got {line[:60]!r}. Copy or generate the set again."
            )
        found.append((f"{words[0].decode()}/{words[1].decode()}", int(words[3])))
    return found
