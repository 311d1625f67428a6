"""ListOps read from files in the published form."""

from pathlib import Path

import numpy as np
import pytest
import torch

from mrconv.data import Grammar, InputContract, ListOps, generate_listops
from mrconv.errors import ArgumentError, FileError

MADE = Path(__file__).parents[3] / "shared" / "data" / "lra_format" / "listops-1000"
GET = "Generate the set: mrconv data listops --out DIR"
HEAD = "Source\tTarget\r\n"
MAX = "( ( ( [MAX 4 ) 3 ) ] )"
FILES = {"train": "basic_train.tsv", "validation": "basic_val.tsv", "test": "basic_test.tsv"}


@pytest.fixture
def folder(tmp_path) -> Path:
    for name in FILES.values():
        (tmp_path / name).write_text(HEAD + MAX + "\t4\r\n", newline="")
    return tmp_path


def spelled(tokens: list[int], vocabulary: tuple[str, ...]) -> str:
    return " ".join(vocabulary[token] for token in tokens)


def expected(text: str) -> str:
    """What the published loader makes of a source."""
    words = text.replace("]", "X").replace("(", "").replace(")", "").split()
    return " ".join(words)


def test_every_token_of_generated_files(tmp_path):
    grammar = Grammar(max_depth=5, min_length=0, max_length=120)
    task = ListOps(str(generate_listops(tmp_path, 400, grammar=grammar)))
    splits, vocabulary = task.load(), task.vocabulary
    assert len(set(vocabulary)) == 18
    for split, name in FILES.items():
        rows = [line.split("\t") for line in (tmp_path / name).read_text().splitlines()[1:]]
        examples = splits[split]
        assert examples.x.dtype == torch.int64
        assert examples.y.tolist() == [int(value) for _, value in rows]
        assert examples.x.shape == (len(rows), int(examples.lengths.max()))
        for (source, _), tokens, length in zip(
            rows, examples.x.tolist(), examples.lengths.tolist(), strict=True
        ):
            assert spelled(tokens[:length], vocabulary) == expected(source) + " <eos>"
            assert set(tokens[length:]) <= {0}
    assert splits.contract == InputContract("tokens", 2048, vocabulary=18)
    assert splits.labels == tuple("0123456789")


def test_long_rows_are_cut(folder):
    task = ListOps(str(folder), length=3)
    train = task.load().train
    assert spelled(train.x[0].tolist(), task.vocabulary) == "[MAX 4 <eos>"
    assert train.lengths.tolist() == [3]
    assert ListOps(str(folder), length=1).load().train.x.tolist() == [[2]]


def test_only_the_first_examples(tmp_path):
    path = str(generate_listops(tmp_path, 200, grammar=Grammar(5, 10, 4, 60)))
    whole, few = ListOps(path).load(), ListOps(path, limit=3).load()
    assert [len(few[name]) for name in FILES] == [3, 3, 3]
    assert torch.equal(few.train.y, whole.train.y[:3])
    assert torch.equal(few.train.lengths, whole.train.lengths[:3])


def test_plain_line_ends_and_an_expression_of_one_digit(folder):
    (folder / "basic_val.tsv").write_text("Source\tTarget\n7\t7\n")
    task = ListOps(str(folder))
    part = task.load().validation
    assert spelled(part.x[0].tolist(), task.vocabulary) == "7 <eos>"
    assert part.y.tolist() == [7]


@pytest.mark.skipif(not MADE.is_dir(), reason="needs ../shared/data/lra_format")
def test_made_files():
    task = ListOps(str(MADE))
    splits = task.load()
    assert [len(splits[name]) for name in FILES] == [12, 4, 4]
    first = splits.train.x[1][: splits.train.lengths[1]].tolist()
    assert spelled(first, task.vocabulary) == "[SM 0 6 2 5 [MIN 6 0 4 X X <eos>"
    assert np.bincount(splits.train.y).sum() == 12 and splits.train.y[1] == 3


# what is refused


def test_no_folder(tmp_path, says):
    sentence = (
        "ListOps: path must be a folder with basic_test.tsv, basic_train.tsv, basic_val.tsv; got "
        f"no file {tmp_path / 'basic_test.tsv'}. {GET}"
    )
    with says(FileError, sentence):
        ListOps(str(tmp_path)).load()


def test_no_example(folder, says):
    (folder / "basic_val.tsv").write_text(HEAD, newline="")
    sentence = f"{folder / 'basic_val.tsv'}: must hold at least one example; got none. {GET}"
    with says(FileError, sentence):
        ListOps(str(folder)).load()


def test_no_header(folder, says):
    (folder / "basic_train.tsv").write_text(MAX + "\t4\r\n", newline="")
    sentence = (
        f"{folder / 'basic_train.tsv'}: the first line must be Source, a tab and Target; got "
        f"b'( ( ( [MAX 4 ) 3 ) ] )\\t4\\r\\n'. {GET}"
    )
    with says(FileError, sentence):
        ListOps(str(folder)).load()


@pytest.mark.parametrize("line", ["7 7", "7\t", "7\t12", "7\tx", "7\t7\t7", "", "7\t-1"])
def test_a_line_without_a_value(folder, says, line):
    file = folder / "basic_train.tsv"
    file.write_text(f"{HEAD}{MAX}\t4\r\n{line}\r\n", newline="")
    sentence = (
        f"{file}, line 3: must be an expression, a tab and a digit; got {line.encode()!r}. {GET}"
    )
    with says(FileError, sentence):
        ListOps(str(folder)).load()


@pytest.mark.parametrize(
    "source",
    ["12", "[MAX 4 3 ]]", "[AVG 4 ]", "4 x", "[MAX  4 ]", "n 4", "ð 4", "[ 4 ]", "4 3]", "", "( )"],
)
def test_what_is_no_expression(folder, says, source):
    file = folder / "basic_test.tsv"
    file.write_bytes(f"{HEAD}{source}\t4\r\n".encode("latin-1"))
    sentence = (
        f"{file}, line 2: the expression must consist of digits, [MIN, [MAX, [MED, [SM, ] and "
        f"parentheses with a blank between two; got {source.encode('latin-1')!r}. {GET}"
    )
    with says(FileError, sentence):
        ListOps(str(folder)).load()


@pytest.mark.parametrize("name", ["length", "limit"])
def test_wrong_numbers(says, name):
    with says(
        ArgumentError, f"ListOps: {name} must be at least 1; got {name}=0. Pass a larger {name}."
    ):
        ListOps("folder", **{name: 0})
