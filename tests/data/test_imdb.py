"""IMDB reviews: tokens, splits and messages on made reviews, and the layout of the set."""

import gzip
from hashlib import md5
from pathlib import Path

import pytest
import torch

from mrconv.data import IMDB, imdb
from mrconv.errors import ArgumentError, FileError

LAYOUT = Path(__file__).parents[3] / "shared" / "data" / "lra_format" / "aclImdb"
GET = "Get it: https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz."
KEYS = [(part, folder) for part in ("train", "test") for folder in ("neg", "pos")]


def reviews() -> dict[str, bytes]:
    """30 reviews of every kind, each of its own length; one begins with a rare character."""
    texts = {
        f"{part}/{folder}/{i}_{i % 10}.txt": "§" * (i == 3) + f"{part} é{folder}<br />{i}{'x' * i}"
        for part, folder in KEYS
        for i in range(30)
    }
    return {name: text.encode() for name, text in texts.items()}


def files() -> dict[str, bytes]:
    others = {"train/unsup/0_0.txt": b"?", "train/urls_pos.txt": b"?", "README": b"?"}
    return {f"aclImdb/{name}": one for name, one in (reviews() | others).items()}


@pytest.fixture(params=["folder", "archive"])
def made(tmp_path, request, tar_of):
    if request.param == "archive":
        path = tmp_path / "aclImdb_v1.tar.gz"
        path.write_bytes(gzip.compress(tar_of(files())))
        return str(path)
    for name, one in files().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(one)
    return str(tmp_path / "aclImdb")


def rows_of(part: str) -> list[tuple[bytes, int]]:
    """Reviews in the order of their names, blame first."""
    names = sorted(name for name in reviews() if name.startswith(part))
    return [(reviews()[name], int("/pos/" in name)) for name in names]


def assert_rows(examples, rows, length, encode):
    assert examples.x.dtype == torch.uint8
    assert examples.x.shape == (len(rows), length)
    assert examples.y.tolist() == [label for _, label in rows]
    for x, end, (text, _) in zip(examples.x, examples.lengths, rows, strict=True):
        assert x[:end].tolist() == encode(text)
        assert not x[end:].any()


@pytest.mark.parametrize("length", [64, 12, 1])
def test_bytes(made, length):
    splits = IMDB(made, length, "bytes", verify=False).load()
    for part, source in (("train", "train"), ("validation", "test"), ("test", "test")):
        assert_rows(splits[part], rows_of(source), length, lambda text: [*text[:length]])
    assert splits.contract.vocabulary == 256
    assert splits.labels == ("negative", "positive")


@pytest.mark.parametrize("length", [64, 12])
def test_characters(made, length):
    splits = IMDB(made, length, verify=False).load()
    joined = "".join(text.decode()[: length - 1] for text, _ in rows_of("train"))
    often = {one for one in set(joined) if joined.count(one) >= 15}
    known = sorted(often, key=lambda one: (-joined.count(one), one))
    assert set(joined) > often

    def encode(text):
        tokens = [3 + known.index(c) if c in often else 1 for c in text.decode()[: length - 1]]
        return [*tokens, 2]

    for part, source in (("train", "train"), ("validation", "test"), ("test", "test")):
        assert_rows(splits[part], rows_of(source), length, encode)
    assert splits.contract.vocabulary == 3 + len(known)


def test_a_tenth_of_training_is_held_out(made):
    splits = IMDB(made, 64, "bytes", validation="train", verify=False).load()
    last = [int(md5(text).hexdigest(), 16) % 10 == 9 for text, _ in rows_of("train")]
    for part, wanted in (("train", False), ("validation", True)):
        rows = [row for row, one in zip(rows_of("train"), last, strict=True) if one is wanted]
        assert rows
        assert_rows(splits[part], rows, 64, lambda text: [*text])
    assert_rows(splits.test, rows_of("test"), 64, lambda text: [*text])


# what is refused


def test_settings(says):
    sentence = "IMDB: length must be at least 1; got length=0. Pass a larger length."
    with says(ArgumentError, sentence):
        IMDB("anywhere", 0)
    sentence = (
        "IMDB: symbols must be one of 'characters', 'bytes'; got 'words'. Known: bytes, characters."
    )
    with says(ArgumentError, sentence):
        IMDB("anywhere", symbols="words")
    sentence = "IMDB: validation must be one of 'test', 'train'; got 'tests'. Did you mean 'test'?"
    with says(ArgumentError, sentence):
        IMDB("anywhere", validation="tests")


@pytest.mark.parametrize("key", KEYS)
def test_a_missing_folder(tmp_path, says, tar_of, key):
    path, gone = tmp_path / "a.tar", "/".join(key)
    path.write_bytes(tar_of({name: one for name, one in files().items() if gone not in name}))
    sentence = f"IMDB: {path} must hold reviews {gone}/ID_RATING.txt; got none. {GET}"
    with says(FileError, sentence):
        IMDB(str(path), verify=False).load()


def test_no_utf_8(tmp_path, says, tar_of):
    path = tmp_path / "a.tar"
    path.write_bytes(tar_of(files() | {"aclImdb/test/pos/3_3.txt": b"caf\xe9"}))
    sentence = (
        "IMDB: test/pos/3_3.txt must be UTF-8; got 'utf-8' codec can't decode byte 0xe9 in "
        f"position 3: unexpected end of data. {GET} Or pass symbols='bytes'."
    )
    with says(FileError, sentence):
        IMDB(str(path), verify=False).load()
    test = IMDB(str(path), 64, "bytes", verify=False).load().test
    assert b"caf\xe9" in [bytes(x[:n].tolist()) for x, n in zip(test.x, test.lengths, strict=True)]


def test_the_wrong_checksum(tmp_path, says, tar_of):
    path = tmp_path / "a.tar"
    path.write_bytes(tar_of(files()))
    digest = md5(path.read_bytes()).hexdigest()
    sentence = (
        f"IMDB: {path} must have the published MD5 sum {imdb.MD5[0]}; got {digest}. {GET} "
        "Or pass verify=False for an archive of your own."
    )
    with says(FileError, sentence):
        IMDB(str(path)).load()


# the layout of the set


@pytest.mark.skipif(not LAYOUT.is_dir(), reason="needs the files in ../shared/data/lra_format")
def test_the_layout_of_the_set():
    splits = IMDB(str(LAYOUT), symbols="bytes").load()
    assert splits.train.y.tolist() == splits.test.y.tolist() == [0, 0, 0, 1, 1, 1]
    last = bytes(splits.test.x[5, : splits.test.lengths[5]].tolist())
    assert last == (LAYOUT / "test" / "pos" / "2_9.txt").read_bytes()
    assert b"<br /><br />" in last
