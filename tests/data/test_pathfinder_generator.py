"""Pathfinder's folders: the published layout, runs that were stopped, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from mrconv.data import generate_pathfinder
from mrconv.data import pathfinder_generator as module
from mrconv.data.pathfinder_images import random_pictures
from mrconv.data.pathfinder_settings import SETTINGS
from mrconv.data.png import unfiltered, unpacked
from mrconv.data.random_streams import example_keys
from mrconv.errors import ArgumentError, DtypeError, FileError

MADE = Path(__file__).parents[3] / "shared" / "data" / "lra_format" / "pathfinder32"
HARD, EASY = "curv_contour_length_14", "curv_baseline"


@pytest.fixture(autouse=True)
def small_folders(monkeypatch):
    """Folders of 10 images, drawn 4 at a time."""
    monkeypatch.setattr(module, "BATCH", 10)
    monkeypatch.setattr(module, "AT_ONCE", {32: 4})


def contents(folder: Path) -> dict[str, bytes]:
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_layout(tmp_path):
    assert generate_pathfinder(tmp_path, 32, count=23, seed=5) == tmp_path
    expected = random_pictures(SETTINGS[32], example_keys(5, 0, 23), 14)
    level, place = tmp_path / HARD, 0
    for batch, count in enumerate((10, 10, 3)):
        lines = (level / "metadata" / f"{batch}.npy").read_text().splitlines()
        assert len(lines) == count
        for number, line in enumerate(lines):
            label = expected.labels[place]
            assert line == f"imgs/{batch} sample_{number}.png {number} {label} 1.0 14 4 2 0.5 1 1"
            data = (level / "imgs" / str(batch) / f"sample_{number}.png").read_bytes()
            found = unfiltered([unpacked("a", data, 32, 32)])[0]
            assert found.tolist() == expected.pixels[place].tolist()
            place += 1
    assert len(contents(tmp_path)) == 23 + 3 + 1


@pytest.mark.skipif(not MADE.is_dir(), reason="needs ../shared/data/lra_format")
@pytest.mark.parametrize(("level", "name"), [("easy", EASY), ("hard", HARD)])
def test_metadata_have_the_form_of_the_made_files(tmp_path, level, name):
    generate_pathfinder(tmp_path, 32, count=2, level=level)
    ours = (tmp_path / name / "metadata" / "0.npy").read_text().splitlines()
    made = (MADE / name / "metadata" / "0.npy").read_text().splitlines()
    for one, other in zip(ours, made, strict=False):
        found, wanted = one.split(" "), other.split(" ")
        del found[3], wanted[3]  # the label
        assert found == wanted


def test_levels_lie_side_by_side(tmp_path):
    generate_pathfinder(tmp_path, 32, count=4, level="easy")
    generate_pathfinder(tmp_path, 32, count=4)
    line = (tmp_path / EASY / "metadata" / "0.npy").read_text().splitlines()[0].split()
    assert line[5:7] == ["6", "2"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [EASY, HARD]


def test_margins_of_path_x_stand_in_the_metadata(tmp_path):
    generate_pathfinder(tmp_path, 128, count=3)
    line = (tmp_path / HARD / "metadata" / "0.npy").read_text().splitlines()[0].split()
    assert line[4:9] == ["1.8", "14", "4", "5", "1.5"]
    assert line[9] in ("2", "3") and line[10] == "1"


def test_more_images_are_added_behind_the_others(tmp_path):
    for count in (1, 7, 7, 10, 25):
        generate_pathfinder(tmp_path / "grown", count=count)
    generate_pathfinder(tmp_path / "whole", count=25)
    assert contents(tmp_path / "grown") == contents(tmp_path / "whole")


class Stop(Exception):
    pass


@pytest.mark.parametrize("at", [1, 2, 4])
def test_a_stopped_run_goes_on(tmp_path, at):
    whole = contents(generate_pathfinder(tmp_path / "whole", count=25))
    folder, calls = tmp_path / "stopped", []

    def stop(done: int, total: int) -> None:
        calls.append((done, total))
        if len(calls) == at + 1:
            raise Stop

    with pytest.raises(Stop):
        generate_pathfinder(folder, count=25, progress=stop)
    # an image that was being written
    ahead = folder / HARD / "imgs" / "2"
    ahead.mkdir(exist_ok=True)
    (ahead / "sample_4.png").write_bytes(b"half")
    calls.clear()
    generate_pathfinder(folder, count=25, progress=lambda *numbers: calls.append(numbers))
    assert contents(folder) == whole
    assert calls[0] == ((0, 4, 8, 10, 14)[at], 25) and calls[-1] == (25, 25)
    assert [done for done, _ in calls] == sorted({done for done, _ in calls})


@pytest.mark.slow
def test_processes_change_nothing(tmp_path):
    one, two = (
        generate_pathfinder(tmp_path / str(workers), count=25, workers=workers)
        for workers in (1, 2)
    )
    assert contents(one) == contents(two)


# what is refused


def test_other_settings(tmp_path, says):
    generate_pathfinder(tmp_path, count=2)
    sentence = (
        f"Pathfinder: {tmp_path / HARD} must hold examples of the same settings, size=64; got "
        "size=32. Choose another folder, or those settings."
    )
    with says(FileError, sentence):
        generate_pathfinder(tmp_path, 64, count=2)
    with pytest.raises(FileError, match=r"seed=1; got seed=0\. "):
        generate_pathfinder(tmp_path, count=2, seed=1)


def test_fewer_images(tmp_path, says):
    generate_pathfinder(tmp_path, count=12)
    sentence = (
        f"Pathfinder: {tmp_path / HARD} must hold no more than count=9 images; got 12. "
        "Choose another folder, or a larger count."
    )
    with says(FileError, sentence):
        generate_pathfinder(tmp_path, count=9)


@pytest.mark.parametrize("size", [0, 33, 512, "32", None])
def test_sizes_that_are_not_published(tmp_path, says, size):
    sentence = (
        f"Pathfinder: size must be one of 32, 64, 128, 256; got {size!r}. "
        "Choose one of them, such as 128 for Path-X."
    )
    with says(ArgumentError, sentence):
        generate_pathfinder(tmp_path, size, count=1)


@pytest.mark.parametrize(
    ("error", "settings", "sentence"),
    [
        (
            ArgumentError,
            {"count": 0},
            "count must be at least 1; got count=0. Pass a larger count.",
        ),
        (ArgumentError, {"seed": -1}, "seed must be at least 0; got seed=-1. Pass a larger seed."),
        (
            DtypeError,
            {"workers": 1.5},
            "workers must be a whole number; got 1.5. Pass an int of at least 1.",
        ),
        (
            ArgumentError,
            {"level": "herd"},
            "level must be one of 'easy', 'intermediate', 'hard'; got 'herd'. Did you mean 'hard'?",
        ),
    ],
    ids=str,
)
def test_wrong_settings(tmp_path, says, error, settings, sentence):
    with says(error, f"Pathfinder: {sentence}"):
        generate_pathfinder(tmp_path / "new", **{"count": 1, **settings})
    assert not (tmp_path / "new").exists()


def test_labels_and_images_belong_together_at_every_size():
    assert set(SETTINGS) == {32, 64, 128, 256}
    for size, settings in SETTINGS.items():
        assert settings.size == size
        assert np.isclose(settings.paddle_thickness * settings.antialias % 1, 0)
        assert settings.size > 4 * settings.seed_distance
