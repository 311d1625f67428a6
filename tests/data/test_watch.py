"""Smartwatch: windows, people and scaling on a made file, and counts on the real one."""

import importlib.util
import os

import numpy as np
import pytest
import torch

from mrconv.data import Smartwatch
from mrconv.errors import ArgumentError, FileError

REAL = importlib.util.find_spec("seglearn")
GET = "pip install --no-deps seglearn==1.2.5"
AGAIN = "Install it again: pip install --no-deps --force-reinstall seglearn==1.2.5"
LABELS = ["PEN", "ABD", "FEL"]
PEOPLE = [11, 2, 3, 5, 7, 1, 13, 17, 19, 23]  # not from 0, not in order


def content() -> dict:
    """Three exercises by ten people, recordings of 10 to 39 samples."""
    noise = np.random.default_rng(0)
    scale = np.array([1, 10, 0.1, 2, 5, 100])
    y, subject = (part.ravel() for part in np.meshgrid([1, 2, 3], PEOPLE))
    return {
        "X": [noise.normal(size=(10 + i, 6)) * scale + i for i in range(30)],
        "y": y,
        "side": np.ones(30),
        "subject": subject,
        "X_labels": list("abcdef"),
        "y_labels": LABELS,
    }


def write(path, held):
    np.save(path, np.array(held, dtype=object), allow_pickle=True)
    return str(path)


@pytest.fixture
def made(tmp_path):
    return write(tmp_path / "watch.npy", content())


@pytest.mark.parametrize(("length", "hop"), [(8, 4), (8, 8), (10, 1), (7, 9)])
def test_windows_of_every_person(made, length, hop):
    splits = Smartwatch(made, length, hop, validation=(0, 9), test=(4,)).load()
    held, known = content(), sorted(PEOPLE)
    whole = {
        "train": [known[i] for i in (1, 2, 3, 5, 6, 7, 8)],
        "validation": [known[0], known[9]],
        "test": [known[4]],
    }
    expected = {
        part: [
            (recording[start : start + length], y - 1)
            for recording, y, person in zip(held["X"], held["y"], held["subject"], strict=True)
            if person in people
            for start in range(0, len(recording), hop)
            if start + length <= len(recording)
        ]
        for part, people in whole.items()
    }
    samples = np.concatenate([window for window, _ in expected["train"]])
    mean, std = samples.mean(0), samples.std(0)
    assert splits.contract.mean == pytest.approx(mean)
    assert splits.contract.std == pytest.approx(std)
    for part, rows in expected.items():
        examples = splits[part]
        windows = torch.from_numpy(np.stack([(window - mean) / std for window, _ in rows]))
        assert examples.x.dtype == torch.float32
        torch.testing.assert_close(examples.x.double(), windows, rtol=1e-6, atol=1e-6)
        assert examples.y.tolist() == [y for _, y in rows]
    assert splits.labels == tuple(LABELS)
    contract = splits.contract
    assert (contract.kind, contract.length, contract.sample_rate) == ("series", length, 50.0)


def test_copies_come_behind_the_windows_of_training(made):
    plain = Smartwatch(made, 8, 4).load()
    splits = Smartwatch(made, 8, 4, copies=2).load()
    count = len(plain.train)
    assert len(splits.train) == 3 * count
    assert torch.equal(splits.train.x[:count], plain.train.x)
    assert torch.equal(splits.train.y[count:], plain.train.y.repeat_interleave(2))
    assert not torch.equal(splits.train.x[count::2], splits.train.x[count + 1 :: 2])
    assert splits.contract == plain.contract
    for part in ("validation", "test"):
        assert torch.equal(splits[part].x, plain[part].x)
    again = Smartwatch(made, 8, 4, copies=2).load()
    assert torch.equal(splits.train.x, again.train.x)


def test_no_recording_is_long_enough(made, says):
    sentence = (
        "Smartwatch: recordings for the split validation must be at least as long as a window of "
        "35; got none, the longest of all has 39. Lower length."
    )
    with says(FileError, sentence):
        Smartwatch(made, 35, validation=(0,), test=(9,)).load()


# settings


@pytest.mark.parametrize(
    ("validation", "test"),
    [
        ((), (1,)),
        ((1,), ()),
        ((1,), (1,)),
        ((1, 1), (2,)),
        ((10,), (1,)),
        ((-1,), (1,)),
        ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)),
    ],
)
def test_people(says, validation, test):
    sentence = (
        "Smartwatch: validation and test must name different people from 0 to 9 and leave some to "
        f"train; got validation={validation}, test={test}. Use (6, 7) and (8, 9), or one each."
    )
    with says(ArgumentError, sentence):
        Smartwatch(validation=validation, test=test)


@pytest.mark.parametrize("name", ["length", "hop"])
def test_sizes(says, name):
    sentence = f"Smartwatch: {name} must be at least 1; got {name}=0. Pass a larger {name}."
    with says(ArgumentError, sentence):
        Smartwatch(**{name: 0})


# files that are refused


def test_missing_package(monkeypatch, says):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    sentence = (
        "seglearn: the data file data/watch_dataset.npy must be installed; got nothing at its "
        f"place. Run: {GET}"
    )
    with says(FileError, sentence):
        Smartwatch().load()


def test_missing_file(tmp_path, says):
    path = tmp_path / "nothing.npy"
    sentence = (
        f"Smartwatch: path must be a file that can be read; got {path}, No such file or directory. "
        f"Run: {GET}"
    )
    with says(FileError, sentence):
        Smartwatch(str(path)).load()


class Bomb:
    """Makes a folder where it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def test_a_program_in_the_file(tmp_path, says):
    marker, path = tmp_path / "marker", tmp_path / "watch.npy"
    write(path, content() | {"side": Bomb(marker)})
    sentence = (
        f"{path}: must hold arrays and plain values only; got {os.mkdir.__module__}.mkdir, which "
        f"is not called. {AGAIN}"
    )
    with says(FileError, sentence):
        Smartwatch(str(path)).load()
    assert not marker.exists()


@pytest.mark.parametrize(
    ("held", "got"),
    [
        ([1, 2], None),
        ({"X": []}, "KeyError('y')"),
        (content() | {"X": [["a"]]}, """ValueError("could not convert string to float: 'a'")"""),
    ],
)
def test_another_content(tmp_path, says, held, got):
    path = tmp_path / "watch.npy"
    write(path, held)
    if got is None:
        got = "ValueError('can only convert an array of size 1 to a Python scalar')"
    sentence = f"{path}: must hold X, y, subject and y_labels; got {got}. {AGAIN}"
    with says(FileError, sentence):
        Smartwatch(str(path)).load()


@pytest.mark.parametrize(
    ("change", "got"),
    [
        ({"X": content()["X"][:-1]}, "29 recordings of [(6,)], 30 exercises, 10 people"),
        ({"X": [np.zeros((9, 5))] * 30}, "30 recordings of [(5,)], 30 exercises, 10 people"),
        ({"X": [np.full((9, 6), np.nan)] * 30}, "30 recordings of [(6,)], 30 exercises, 10 people"),
        ({"subject": np.arange(30)}, "30 recordings of [(6,)], 30 exercises, 30 people"),
        ({"y_labels": ["a"]}, "30 recordings of [(6,)], 30 exercises, 10 people"),
    ],
)
def test_other_sizes(tmp_path, says, change, got):
    path = tmp_path / "watch.npy"
    write(path, content() | change)
    sentence = (
        f"{path}: must hold finite recordings of 6 channels by 10 people, an exercise and a person "
        f"for each; got {got}. {AGAIN}"
    )
    with says(FileError, sentence):
        Smartwatch(str(path)).load()


# the real file


@pytest.mark.skipif(REAL is None, reason=f"needs: {GET}")
def test_real_file():
    splits = Smartwatch().load()
    assert sum(len(splits[part]) for part in ("train", "validation", "test")) == 745
    assert splits.train.x.shape[1:] == (512, 6)
    assert len(splits.labels) == 7
    for part in ("train", "validation", "test"):
        assert set(splits[part].y.tolist()) == set(range(7))
    flat = splits.train.x.double().flatten(0, 1)
    assert flat.mean(0).abs().max() < 1e-5
    assert (flat.std(0) - 1).abs().max() < 1e-4
