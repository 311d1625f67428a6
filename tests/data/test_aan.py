"""Pairs of papers: columns, tokens and messages on made files; a training on the set's layout."""

from pathlib import Path

import pytest
import torch

from mrconv.data import AAN
from mrconv.errors import ArgumentError, FileError

LAYOUT = Path(__file__).parents[3] / "shared" / "data" / "lra_format" / "tsv_data"
GET = "Get it: lra_release.gz of https://github.com/google-research/long-range-arena."
NAMES = {"train": "train", "validation": "eval", "test": "test"}

#: With quotation marks, an empty text, other separators that end no line, and all sorts of letters.
PAIRS = {
    "train": [(0, 'a "quoted text', "second"), (1, "", "x\u2028y\x0bz\rw"), (1, "'b'", 'c"')],
    "validation": [(1, "new letters: ÄÖ", "abc")],
    "test": [(0, "long " * 30, "short"), (1, "a", "b")],
}


def lines(pairs, end: str) -> bytes:
    rows = (f"{float(y)}\tA-{i}\tB-{i}\t{e}\t{f}{end}" for i, (y, e, f) in enumerate(pairs))
    return "".join(rows).encode()


@pytest.fixture(params=["\n", "\r\n"], ids=["LF", "CRLF"])
def made(tmp_path, request):
    for part, name in NAMES.items():
        (tmp_path / f"new_aan_pairs.{name}.tsv").write_bytes(lines(PAIRS[part], request.param))
    return tmp_path


@pytest.mark.parametrize("length", [200, 20, 3])
def test_rows_of_each_split(made, length):
    splits = AAN(str(made), length).load()
    texts = [text[: length - 1] for _, *both in PAIRS["train"] for text in both]
    joined = "".join(texts)
    known = sorted(set(joined), key=lambda one: (-joined.count(one), one))
    for part, pairs in PAIRS.items():
        examples = splits[part]
        assert examples.x.dtype == torch.uint8
        assert examples.x.shape == (len(pairs), 2, length)
        assert examples.y.tolist() == [y for y, *_ in pairs]
        for x, ends, (_, *both) in zip(examples.x, examples.lengths, pairs, strict=True):
            for row, end, text in zip(x, ends, both, strict=True):
                kept = [3 + known.index(c) if c in known else 1 for c in text[: length - 1]]
                assert row[:end].tolist() == [*kept, 2]
                assert not row[end:].any()
    assert splits.contract.vocabulary == 3 + len(known)
    assert splits.contract.length == length
    assert splits.labels == ("unrelated", "cited")


def test_from_an_archive(made, tmp_path, tar_of):
    path = tmp_path / "release.tar"
    held = {f"tsv_data/{file.name}": file.read_bytes() for file in made.glob("*.tsv")}
    path.write_bytes(tar_of(held))
    expected, got = AAN(str(made), 20).load(), AAN(str(path), 20).load()
    assert torch.equal(got.test.x, expected.test.x)


# what is refused


def test_length(says):
    with says(ArgumentError, "AAN: length must be at least 1; got length=0. Pass a larger length."):
        AAN("anywhere", 0)


@pytest.mark.parametrize("name", NAMES.values())
def test_a_missing_file(made, says, name):
    (made / f"new_aan_pairs.{name}.tsv").unlink()
    sentence = f"AAN: {made} must hold new_aan_pairs.{name}.tsv; got no such file. {GET}"
    with says(FileError, sentence):
        AAN(str(made)).load()


@pytest.mark.parametrize("content", [b"", b"\r\n\n"])
def test_an_empty_file(made, says, content):
    (made / "new_aan_pairs.test.tsv").write_bytes(content)
    sentence = f"AAN: new_aan_pairs.test.tsv must hold at least one pair; got none. {GET}"
    with says(FileError, sentence):
        AAN(str(made)).load()


@pytest.mark.parametrize(
    ("line", "got"),
    [
        (b"1.0\tA\tB\ttext", "b'1.0\\tA\\tB\\ttext'"),
        (b"1.0\tA\tB\ttext\ttext\ttext", "b'1.0\\tA\\tB\\ttext\\ttext\\ttext'"),
        (b"2.0\tA\tB\ttext\ttext", "b'2.0\\tA\\tB\\ttext\\ttext'"),
        (b"label\tA\tB\t" + b"long " * 30, "b'label\\tA\\tB\\t" + "long " * 6 + "'"),
        (
            b"1.0\tA\tB\tcaf\xe9 \ttext",
            "'utf-8' codec can't decode byte 0xe9 in position 11: invalid continuation byte",
        ),
    ],
)
def test_other_lines(made, says, line, got):
    file = made / "new_aan_pairs.eval.tsv"
    file.write_bytes(file.read_bytes() + line)
    sentence = (
        "AAN: new_aan_pairs.eval.tsv, line 2, must be a label 0.0 or 1.0, two names and two texts, "
        f"5 columns with tabs between; got {got}. {GET}"
    )
    with says(FileError, sentence):
        AAN(str(made)).load()


# the layout of the set


@pytest.mark.skipif(not LAYOUT.is_dir(), reason="needs the files in ../shared/data/lra_format")
def test_the_layout_of_the_set():
    splits = AAN(str(LAYOUT)).load()
    assert splits.train.y.tolist() == [0, 1, 0, 1]
    assert splits.test.x.shape == (2, 2, 4000)
    assert splits.test.lengths.tolist() == [[46 + 1, 45 + 1], [46 + 1, 44 + 1]]
