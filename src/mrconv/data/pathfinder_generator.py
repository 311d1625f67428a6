"""Pathfinder as Long Range Arena publishes it, generated: folders of images and of their labels."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

from .._checks import check_choice, check_count
from ..errors import ArgumentError, FileError
from .generating import GenerationProgress, claim_folder, in_order
from .pathfinder_images import Pictures, random_pictures
from .pathfinder_settings import LEVELS, SETTINGS, Level, PathfinderSettings, folder_name, metadata
from .png import encoded
from .random_streams import example_keys
from .writing import write_text

__all__ = ["generate_pathfinder"]

#: Images of a folder, as published.
BATCH = 1000
#: Images that a worker draws at a time: more is quicker, less leaves other cores something to do.
AT_ONCE = {32: 1000}
FEWER = 250


def generate_pathfinder(
    path: str | Path,
    size: int = 32,
    *,
    count: int = 200_000,
    level: Level = "hard",
    seed: int = 0,
    workers: int = 1,
    progress: GenerationProgress | None = None,
) -> Path:
    """Writes Pathfinder: are the two marks of an image the ends of one dashed contour?

    Every image holds two long contours of ``LEVELS`` paddles and several short distractors, none
    of which touch. With label 1 the marks are both ends of one long contour, with label 0 an end
    of each. The layout is the published one: curv_contour_length_14/imgs/0/sample_0.png and lines
    of curv_contour_length_14/metadata/0.npy, which is text, a thousand images a folder.

    Image i is the same whatever ``count`` and ``workers`` are: a larger count adds images, and a
    run that was stopped goes on behind the last whole folder. An image counts once its line is in
    the metadata.

    Args:
        path: Folder of all levels, such as pathfinder32; made where it is missing.
        size: Height and width in pixels: 32, 64, 128 (Path-X) or 256.
        count: Images.
        level: "easy", "intermediate" or "hard": 6, 9 or 14 paddles a contour.
        seed: Of the random numbers, at least 0.
        workers: Processes. Several are started afresh, so a script that asks for them needs
            ``if __name__ == "__main__":``.
        progress: Called with the images done and asked for.

    Returns:
        The folder, for ``Pathfinder``.

    Raises:
        ArgumentError: For another size or level, or a number that is too small.
        FileError: If the level's folder holds other files, other settings or more images.

    Cost: about 1, 1, 20 or 6 ms of one core an image at these sizes; at 128 few contours of the
        published smoothness fit, and many are tried.
    Source: Linsley et al. 2018, and the settings of Tay et al. 2021 (Long Range Arena), written
        from a description. Differs: the newest paddle of the other contour is taken too; places of
        distractors are 64 random ones; sharper turns than the settings allow never happen.

    Example:
        >>> folder = generate_pathfinder("pathfinder32", count=10)
        >>> sorted(entry.name for entry in folder.glob("*/imgs/0/*"))[:2]
        ['sample_0.png', 'sample_1.png']
    """
    if size not in SETTINGS:
        raise ArgumentError(
            f"Pathfinder: size must be one of {', '.join(map(str, SETTINGS))}; got {size!r}. "
            "Choose one of them, such as 128 for Path-X."
        )
    check_choice("Pathfinder", "level", level, get_args(Level))
    for name, value, least in (("count", count, 1), ("seed", seed, 0), ("workers", workers, 1)):
        check_count("Pathfinder", name, value, least)
    folder, measures = Path(path) / folder_name(level), SETTINGS[size]
    settings = {"generator": "pathfinder", "version": 1, "seed": seed, "level": level}
    claim_folder("Pathfinder", folder, settings | asdict(measures))
    left = list(_tasks(folder, count, AT_ONCE.get(size, FEWER)))
    done = count - sum(len(task.images) for task in left)
    if progress:
        progress(done, count)
    draw = partial(_draw, folder, measures, LEVELS[level], seed)
    with closing(in_order(draw, left, workers)) as results:
        for task, lines in zip(left, results, strict=True):
            _add(folder, task, lines)
            done += len(lines)
            if progress:
                progress(done, count)
    return Path(path)


class _Task(NamedTuple):
    """Some images of one folder."""

    batch: int
    images: range
    """Their numbers in the folder."""
    first: int
    """Number of the first one in the whole set."""


def _tasks(folder: Path, count: int, at_once: int) -> Iterator[_Task]:
    """What is missing of ``count`` images."""
    there = sum(len(metadata(file)) for file in (folder / "metadata").glob("*.npy"))
    if there > count:
        raise FileError(
            f"Pathfinder: {folder} must hold no more than count={count} images; got {there}. "
            "Choose another folder, or a larger count."
        )
    for batch in range(-(-count // BATCH)):
        wanted = min(BATCH, count - batch * BATCH)
        file = _file(folder, batch)
        for start in range(len(metadata(file)) if file.exists() else 0, wanted, at_once):
            images = range(start, min(start + at_once, wanted))
            yield _Task(batch, images, batch * BATCH + start)


def _draw(
    folder: Path, measures: PathfinderSettings, contour_length: int, seed: int, task: _Task
) -> list[str]:
    """Writes the images of a task, and gives their lines of the metadata."""
    keys = example_keys(seed, task.first, task.first + len(task.images))
    pictures = random_pictures(measures, keys, contour_length)
    target = folder / "imgs" / str(task.batch)
    target.mkdir(parents=True, exist_ok=True)
    for number, pixels in zip(task.images, pictures.pixels, strict=True):
        (target / f"sample_{number}.png").write_bytes(encoded(pixels))
    return _lines(measures, contour_length, task, pictures)


def _lines(
    measures: PathfinderSettings, contour_length: int, task: _Task, pictures: Pictures
) -> list[str]:
    """Folder, file, number, label and measures of each image; one contrast is the last number."""
    numbers = [measures.continuity, contour_length, contour_length // 3]
    numbers += [measures.paddle_length, measures.paddle_thickness]
    columns = zip(task.images, pictures.labels, pictures.contours.margin, strict=True)
    return [
        f"imgs/{task.batch} sample_{number}.png {number} {label} {' '.join(map(str, numbers))} "
        f"{measures.margins[margin]} 1\n"
        for number, label, margin in columns
    ]


def _add(folder: Path, task: _Task, lines: list[str]) -> None:
    """Puts lines behind those that a folder's metadata have."""
    file = _file(folder, task.batch)
    before = file.read_text(encoding="ascii") if task.images.start else ""
    write_text(file, before + "".join(lines))


def _file(folder: Path, batch: int) -> Path:
    return folder / "metadata" / f"{batch}.npy"
