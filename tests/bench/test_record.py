"""Rows, bars, the file, and the printed table."""

import json
import math

import pytest

from mrconv.bench import Record, Row, read_record, write_record
from mrconv.bench.machine import machine, versions
from mrconv.bench.table import heading, line, total
from mrconv.errors import ArgumentError, FileError

PLAIN = Row("ours", 1.23456789, "ms", (1.0, 1.5))
HIGHER = Row("textbook / ours", 3.0, "times", (2.5, 3.5), 2.5, "higher")
MISS = Row("exact / LongConv", 5.0, "times", None, 4.2, "lower", explained="Call overhead.")


def record(*rows):
    return Record("conv", "mrconv bench conv", {"cpu": "x"}, {"torch": "2"}, 2, list(rows))


@pytest.mark.parametrize(
    ("value", "better", "holds"),
    [
        (2.0, "higher", True),
        (2.1, "higher", True),
        (1.9, "higher", False),
        (2.0, "lower", True),
        (1.9, "lower", True),
        (2.1, "lower", False),
        (math.nan, "higher", False),
        (math.nan, "lower", False),
    ],
)
def test_a_bar_holds_or_does_not(value, better, holds):
    assert Row("a", value, "times", bar=2.0, better=better).holds is holds


def test_without_a_bar_nothing_holds_or_misses():
    assert PLAIN.holds is None


def test_bar_and_side_come_together(says):
    for words in ({"bar": 2.0}, {"better": "lower"}):
        bar, better = words.get("bar"), words.get("better")
        with says(
            ArgumentError,
            f"Row: bar and better must be given together; got bar={bar!r}, better={better!r}. "
            "Give both, or neither.",
        ):
            Row("a", 1.0, "ms", **words)


def test_the_form_of_the_file(tmp_path):
    path = tmp_path / "new" / "conv.json"
    write_record(path, record(PLAIN, HIGHER, MISS))
    assert json.loads(path.read_text()) == {
        "bench": "conv",
        "command": "mrconv bench conv",
        "machine": {"cpu": "x"},
        "versions": {"torch": "2"},
        "threads": 2,
        "rows": [
            {"name": "ours", "value": 1.23457, "unit": "ms", "quartiles": [1.0, 1.5]},
            {
                "name": "textbook / ours",
                "value": 3.0,
                "unit": "times",
                "quartiles": [2.5, 3.5],
                "bar": 2.5,
                "better": "higher",
                "holds": True,
            },
            {
                "name": "exact / LongConv",
                "value": 5.0,
                "unit": "times",
                "quartiles": [5.0, 5.0],
                "bar": 4.2,
                "better": "lower",
                "holds": False,
                "explained": "Call overhead.",
            },
        ],
    }


def test_only_a_miss_is_explained():
    row = Row("a", 1.0, "times", None, 4.2, "lower", explained="It was slow.")
    assert "explained" not in row.as_json()


def test_what_is_read_equals_what_was_written(tmp_path):
    path = tmp_path / "conv.json"
    write_record(path, record(PLAIN, HIGHER, MISS))
    again = read_record(path)
    assert again.as_json() == record(PLAIN, HIGHER, MISS).as_json()
    assert again.rows[1] == HIGHER


def test_a_number_that_is_none_is_null(tmp_path):
    path = tmp_path / "a.json"
    write_record(path, record(Row("a", math.nan, "times", bar=1.0, better="lower")))
    (content,) = json.loads(path.read_text())["rows"]
    assert (content["value"], content["quartiles"], content["holds"]) == (None, [None, None], False)
    assert math.isnan(read_record(path).rows[0].value)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"rows": [{"name": "a"}]}', "3"])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_text(content)
    start = f"read_record: {path} must be a file that mrconv bench --json wrote; got "
    with pytest.raises(FileError) as caught:
        read_record(path)
    assert str(caught.value).startswith(start)
    assert str(caught.value).endswith(". Write it anew.")


def test_the_table_shows_each_number_beside_its_bar():
    columns = [line(row).split("  ") for row in (PLAIN, HIGHER, MISS)]
    cells = [[cell.strip() for cell in found if cell.strip()] for found in columns]
    assert cells == [
        ["ours", "1.23 ms", "1 to 1.5"],
        ["textbook / ours", "3 times", "2.5 to 3.5", ">= 2.5", "holds"],
        ["exact / LongConv", "5 times", "<= 4.2", "misses", "because: Call overhead."],
    ]
    assert line(HIGHER).index(">=") < line(HIGHER).index("holds") == len(heading()) + 2
    assert total([PLAIN, HIGHER, MISS]) == "1 of 2 bars hold."
    assert total([PLAIN]) == ""


def test_machine_and_versions_name_no_place():
    found = machine()
    assert set(found) == {"cpu", "simd", "cores", "memory_gb"}
    assert found["cores"] >= 1
    assert set(versions()) == {"mrconv", "python", "torch", "numpy", "scipy"}
    assert "/" not in json.dumps([found, versions()]).replace("w/", "")
