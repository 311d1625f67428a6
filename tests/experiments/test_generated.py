"""Data that tables draw: once, whole, and into a folder named by its settings."""

import pytest

from mrconv.data import ListOps, Pathfinder
from mrconv.experiments import generated
from mrconv.experiments.generated import DrawnListOps, DrawnPathfinder

SETS = {
    "listops-8-32-60-0": (DrawnListOps(60, 32, 8), "basic_test.tsv"),
    "pathfinder-32-easy-10-3": (
        DrawnPathfinder(10, "easy", seed=3),
        "curv_baseline/metadata/0.npy",
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_what_is_drawn_once_is_kept(tmp_path, name):
    drawn, file = SETS[name]
    drawn.prepare(tmp_path)
    assert [one.name for one in (tmp_path / "data").iterdir()] == [name]
    kept = drawn.folder(tmp_path) / file
    text = kept.read_bytes()
    kept.write_bytes(b"changed")
    drawn.prepare(tmp_path)
    assert kept.read_bytes() == b"changed" != text


def test_loaders_read_what_is_drawn(tmp_path):
    listops, images = (drawn for drawn, _ in SETS.values())
    listops.prepare(tmp_path)
    images.prepare(tmp_path)
    splits = ListOps(str(listops.folder(tmp_path)), 32).load()
    assert 9 <= int(splits.train.lengths.min()) and int(splits.train.lengths.max()) <= 32
    loaded = Pathfinder(str(images.folder(tmp_path)), 32, level="easy").load()
    assert loaded.train.x.shape == (8, 1024, 1)


def test_a_faster_process_wins(tmp_path, monkeypatch):
    drawn, file = SETS["listops-8-32-60-0"]
    real = generated.generate_listops

    def slow(part, *args, **settings):
        real(part, *args, **settings)
        drawn.folder(tmp_path).mkdir()
        (drawn.folder(tmp_path) / file).write_text("of the other process")

    monkeypatch.setattr(generated, "generate_listops", slow)
    drawn.prepare(tmp_path)
    assert (drawn.folder(tmp_path) / file).read_text() == "of the other process"
    assert len(list((tmp_path / "data").iterdir())) == 1
