"""Pathfinder read from folders in the published layout."""

from pathlib import Path

import numpy as np
import pytest
import torch

from mrconv.data import InputContract, Pathfinder, Splits, pathfinder
from mrconv.data.png import encoded
from mrconv.errors import ArgumentError, FileError

MADE = Path(__file__).parents[3] / "shared" / "data" / "lra_format" / "pathfinder32"
GET = "Generate the set: mrconv data pathfinder --out DIR --size"
HARD = "curv_contour_length_14"


def picture(number: int) -> np.ndarray:
    return np.random.default_rng(number).integers(0, 256, (8, 8), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path) -> Path:
    """36 images of 8 x 8 in 12 folders of 3, labels 0, 1, 1, 0, 1, 1, ..."""
    for batch in range(12):
        target = tmp_path / HARD / "imgs" / str(batch)
        target.mkdir(parents=True)
        lines = []
        for i in range(3):
            (target / f"sample_{i}.png").write_bytes(encoded(picture(3 * batch + i)))
            lines.append(f"imgs/{batch} sample_{i}.png {i} {int(i > 0)} 1.0 14 4 2 0.5 1 1\n")
        file = tmp_path / HARD / "metadata" / f"{batch}.npy"
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(lines))
    return tmp_path


def test_images_are_dealt_out_as_published(folder):
    splits = Pathfinder(str(folder), 8).load()
    order = torch.randperm(36, generator=torch.Generator().manual_seed(42)).tolist()
    parts = {"train": order[:30], "validation": order[30:33], "test": order[33:]}
    for name, numbers in parts.items():
        values = np.stack([picture(number) for number in numbers]).reshape(-1, 64, 1) / 255.0
        assert splits[name].x.dtype == torch.float32
        np.testing.assert_allclose(splits[name].x.numpy(), 2 * values - 1, atol=1e-6)
        assert splits[name].y.tolist() == [int(number % 3 > 0) for number in numbers]
    assert splits.contract == InputContract("image", 64, mean=0.5, std=0.5)
    assert splits.labels == ("apart", "joined")
    prepared = splits.contract.prepare(picture(order[0]).reshape(-1) / 255.0)
    np.testing.assert_allclose(prepared, splits.train.x[0].numpy(), atol=1e-6)


def test_the_split_is_that_of_torch(folder):
    numbers = torch.utils.data.random_split(
        range(36), [30, 3, 3], generator=torch.Generator().manual_seed(42)
    )
    splits = Pathfinder(str(folder), 8).load()
    for part, name in zip(numbers, ("train", "validation", "test"), strict=True):
        assert splits[name].y.tolist() == [int(number % 3 > 0) for number in part]


def assert_equal(first: Splits, second: Splits) -> None:
    for name in ("train", "validation", "test"):
        assert torch.equal(first[name].x, second[name].x)
        assert torch.equal(first[name].y, second[name].y)


def test_what_is_kept_is_the_same(folder, tmp_path_factory, monkeypatch):
    plain, cache = Pathfinder(str(folder), 8).load(), str(tmp_path_factory.mktemp("cache"))
    assert_equal(Pathfinder(str(folder), 8, cache=cache).load(), plain)
    monkeypatch.setattr(pathfinder, "unpacked", None)  # images are not read again
    assert_equal(Pathfinder(str(folder), 8, cache=cache, workers=2).load(), plain)


def test_images_read_some_at_a_time(folder, monkeypatch):
    plain = Pathfinder(str(folder), 8).load()
    monkeypatch.setattr(pathfinder, "AT_ONCE", 7)
    assert_equal(Pathfinder(str(folder), 8).load(), plain)


@pytest.mark.slow
def test_images_read_by_two_processes(folder, monkeypatch):
    plain = Pathfinder(str(folder), 8).load()
    monkeypatch.setattr(pathfinder, "AT_ONCE", 7)
    assert_equal(Pathfinder(str(folder), 8, workers=2).load(), plain)


def test_only_the_first_images(folder):
    whole, few = (Pathfinder(str(folder), 8, limit=limit).load() for limit in (None, 2))
    for name in ("train", "validation", "test"):
        assert torch.equal(few[name].x, whole[name].x[:2])
        assert torch.equal(few[name].y, whole[name].y[:2])


def test_empty_files_are_left_out(folder):
    (folder / HARD / "imgs" / "4" / "sample_1.png").write_bytes(b"")
    splits = Pathfinder(str(folder), 8).load()
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [29, 3, 3]
    everything = torch.cat([splits[name].y for name in ("train", "validation", "test")])
    assert everything.sum() == 23


@pytest.mark.skipif(not MADE.is_dir(), reason="needs ../shared/data/lra_format")
@pytest.mark.parametrize("level", ["easy", "intermediate", "hard"])
def test_made_files(level):
    splits = Pathfinder(str(MADE), level=level).load()
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [6, 1, 1]
    assert splits.train.x.shape == (6, 1024, 1)
    assert splits.train.x.min() >= -1 and splits.train.x.max() <= 1
    assert (splits.train.x > -1).any()


# what is refused


def test_no_folder(tmp_path, says):
    sentence = (
        f"Pathfinder: path must be a folder with {HARD}/metadata and 3 images or more; got 0 in "
        f"{tmp_path / HARD}. {GET} 32"
    )
    with says(FileError, sentence):
        Pathfinder(str(tmp_path)).load()


def test_a_missing_image(folder, says):
    gone = folder / HARD / "imgs" / "3" / "sample_2.png"
    gone.unlink()
    sentence = f"Pathfinder: every image of the metadata must be there; got no {gone}. {GET} 8"
    with says(FileError, sentence):
        Pathfinder(str(folder), 8).load()


def test_another_size(folder):
    with pytest.raises(FileError, match=r"16 x 16 pixels and not interlaced; got 8 x 8, 8 bits"):
        Pathfinder(str(folder), 16).load()


@pytest.mark.parametrize(
    "line", [b"imgs/0 sample_0.png 0", b"imgs/0 sample_0.png 0 2 1.0", b"\x93NUMPY\x01 a b 1", b""]
)
def test_metadata_of_another_form(folder, says, line):
    file = folder / HARD / "metadata" / "7.npy"
    file.write_bytes(b"imgs/7 sample_0.png 0 1\n" + line + b"\n")
    sentence = (
        f"{file}, line 2: must be folder, file, number, a label 0 or 1, and further numbers; got "
        f"{line!r}. Copy or generate the set again."
    )
    with says(FileError, sentence):
        Pathfinder(str(folder), 8).load()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"size": 0}, "Pathfinder: size must be at least 1; got size=0. Pass a larger size."),
        ({"limit": 0}, "Pathfinder: limit must be at least 1; got limit=0. Pass a larger limit."),
        (
            {"level": "baseline"},
            "Pathfinder: level must be one of 'easy', 'intermediate', 'hard'; got 'baseline'. "
            "Known: easy, hard, intermediate.",
        ),
    ],
    ids=str,
)
def test_wrong_settings(says, settings, sentence):
    with says(ArgumentError, sentence):
        Pathfinder("folder", **settings)
