"""``mrconv predict``: one line a series, and the unreadable files last."""

import csv
import io

import numpy as np
import pytest
import torch

import mrconv

HEADER = "file,series,label,probability"


@pytest.fixture
def rows() -> np.ndarray:
    """Raw series, one a row."""
    return np.random.default_rng(0).normal(0.5, 2.0, size=(4, 32)).round(3)


@pytest.fixture
def expected(model, rows) -> list[str]:
    """Label and probability of each row, by the library."""
    x = torch.from_numpy((rows - 0.5) / 2.0).float()[..., None]
    scores = torch.softmax(model(x), -1).detach()
    return [f"{model.labels[int(s.argmax())]},{float(s.max()):.4f}" for s in scores]


def write(path, rows):
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".npz":
        np.savez(path, a=rows[:2], b=rows[2:])
    else:
        np.savetxt(path, rows, fmt="%.3f", delimiter=",")
    return path


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.csv"])
def test_one_line_a_series(mrconv_command, saved, tmp_path, rows, expected, name):
    path = write(tmp_path / name, rows)
    told = mrconv_command("predict", saved, path)
    assert (told.code, told.err) == (0, "")
    lines = [f"{path},{i},{answer}" for i, answer in enumerate(expected)]
    assert told.out.splitlines() == [HEADER, *lines]
    assert len({line.split(",")[2] for line in lines}) > 1  # the answers are not all alike


def test_series_of_unequal_length(mrconv_command, saved, model, tmp_path, rows):
    np.savez(tmp_path / "a.npz", a=rows[0, :7], b=rows[1])
    told = mrconv_command("predict", saved, tmp_path / "a.npz")
    x = torch.from_numpy((rows[0, :7] - 0.5) / 2.0).float()[None, :, None]
    probability, label = torch.softmax(model(x), -1).detach()[0].max(-1)
    answer = f"{model.labels[int(label)]},{float(probability):.4f}"
    assert told.out.splitlines()[1] == f"{tmp_path / 'a.npz'},0,{answer}"


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions(mrconv_command, model, tmp_path, rows, expected, dtype):
    saved = model.to(dtype).save_pretrained(tmp_path / "model")
    told = mrconv_command("predict", saved, write(tmp_path / "a.csv", rows))
    labels = [line.split(",")[2] for line in told.out.splitlines()[1:]]
    assert labels == [answer.split(",")[0] for answer in expected]


def test_without_labels_numbers_of_classes(mrconv_command, model, tmp_path, rows, expected):
    names, model.labels = model.labels, ()
    saved = model.save_pretrained(tmp_path / "model")
    told = mrconv_command("predict", saved, write(tmp_path / "a.csv", rows))
    found = [names[int(line.split(",")[2])] for line in told.out.splitlines()[1:]]
    assert found == [answer.split(",")[0] for answer in expected]


def test_tokens(mrconv_command, tmp_path):
    backbone = mrconv.SequenceBackbone(5, 32, channels=8, depth=1, tokens=True)
    model = mrconv.SequenceClassifier(backbone, 3).eval()
    (tmp_path / "a.csv").write_text("1,2,3\n4,0,2\n")
    told = mrconv_command("predict", model.save_pretrained(tmp_path / "m"), tmp_path / "a.csv")
    best = model.predict(torch.tensor([[1, 2, 3], [4, 0, 2]])).tolist()
    assert [int(line.split(",")[2]) for line in told.out.splitlines()[1:]] == best


def test_values_of_other_heads(mrconv_command, tmp_path, rows):
    backbone = mrconv.SequenceBackbone(1, 32, channels=8, depth=1)
    model = mrconv.SequenceRegressor(backbone, 2).eval()
    path = write(tmp_path / "a.csv", rows)
    told = mrconv_command("predict", model.save_pretrained(tmp_path / "model"), path)
    values = model.predict(torch.from_numpy(rows).float()[..., None])
    lines = [f"{path},{i},{a:.6g} {b:.6g}" for i, (a, b) in enumerate(values.tolist())]
    head, *found = told.out.splitlines()
    assert head == "file,series,values"
    for line, wanted in zip(found, lines, strict=True):
        got = [float(value) for value in line.split(",")[2].split()]
        assert got == pytest.approx([float(v) for v in wanted.split(",")[2].split()], rel=1e-4)


def test_csv_holds_what_was_printed(mrconv_command, saved, tmp_path, rows):
    out = tmp_path / "new" / "table.csv"
    told = mrconv_command("predict", saved, write(tmp_path / "a.npy", rows), "--csv", out)
    assert told.code == 0
    assert out.read_text() == told.out


def test_names_with_commas_stay_one_cell(mrconv_command, model, tmp_path, rows):
    model.labels = ("low, or none", 'the "middle"', "high, or more")
    saved = model.save_pretrained(tmp_path / "model")
    path = write(tmp_path / "a, b.npy", rows)
    told = mrconv_command("predict", saved, path, "--csv", tmp_path / "out.csv")
    for text in (told.out, (tmp_path / "out.csv").read_text()):
        table = list(csv.DictReader(io.StringIO(text)))
        assert [row["file"] for row in table] == [str(path)] * 4
        assert {row["label"] for row in table} <= set(model.labels)
        assert all(0 <= float(row["probability"]) <= 1 for row in table)


def test_unreadable_files_come_last(mrconv_command, saved, tmp_path, rows):
    good = [write(tmp_path / name, rows) for name in ("a.npy", "z.csv")]
    bad = tmp_path / "bad.csv"
    bad.write_text("1,x\n")
    missing = tmp_path / "missing.npy"
    out = tmp_path / "table.csv"
    told = mrconv_command("predict", saved, bad, good[0], missing, good[1], "--csv", out)
    assert told.code == 1
    assert [line.split(",")[0] for line in told.out.splitlines()[1:]] == [
        *[str(good[0])] * 4,
        *[str(good[1])] * 4,
    ]
    assert told.err.splitlines() == [
        f"unreadable: {bad}: every line must hold as many numbers as the first; got could not "
        "convert string to float: 'x'. Remove text columns and fill missing values.",
        f"unreadable: {missing}: must be a file; got nothing of that name. Check the path.",
    ]
    assert out.read_text() == told.out  # the good ones are written all the same


def test_nothing_readable(mrconv_command, saved, tmp_path):
    told = mrconv_command("predict", saved, tmp_path / "a.npy")
    assert (told.code, told.out) == (1, f"{HEADER}\n")


def test_a_pair_of_sequences_cannot_come_from_files(mrconv_command, tmp_path, rows):
    backbone = mrconv.SequenceBackbone(1, 32, channels=8, depth=1)
    model = mrconv.SequenceClassifier(backbone, 3, pair=True)
    saved = model.save_pretrained(tmp_path / "model")
    told = mrconv_command("predict", saved, write(tmp_path / "a.npy", rows))
    assert told.code == 2
    assert told.err == (
        "error: SequenceClassifier: input must be two sequences, because pair=True; "
        "got pair=None. Call model(x, pair=z).\n"
    )


def test_a_table_that_cannot_be_written(mrconv_command, saved, tmp_path, rows):
    path = write(tmp_path / "a.npy", rows)
    told = mrconv_command("predict", saved, path, "--csv", tmp_path)  # a folder
    assert told.code in (1, 2)
    assert told.err.startswith("error: ")
