"""The tables of the pages that are filled from files."""

import importlib.util
from pathlib import Path

import pytest

from mrconv.bench import Row, read_record

HOME = Path(__file__).resolve().parents[2]
ROWS = [
    Row("step, 1024 samples: dilated by gather", 0.0512345, "ms"),
    Row("step, 65536 samples: dilated by gather", 1234.5, "ms"),
    Row("step, 1024 samples: all products", 0.02, "ms"),
    Row("step, 1024 samples: all products / dilated by gather", 0.4, "times"),
    Row("worst step, 1024 samples: dilated by gather", 9.0, "ms"),
    Row("error", 2e-7, "relative", bar=3e-6, better="lower"),
    Row("ratio", 4.0, "times", bar=5.0, better="higher"),
]


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("fill", HOME / "benchmarks" / "fill_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_line_a_form_and_one_column_a_length(tables):
    page = "before\n<!-- stream.json: step -->\nold\n<!-- end -->\nbehind"
    new = tables.filled(page, ROWS)
    assert new == (
        "before\n<!-- stream.json: step -->\n\n"
        "| step, ms | 1,024 | 65,536 |\n"
        "|---|---|---|\n"
        "| dilated by gather | 0.0512 | 1234 |\n"
        "| all products | 0.02 | - |\n"
        "\n<!-- end -->\nbehind"
    )
    assert tables.filled(new, ROWS) == new


def test_one_line_a_contestant_and_one_column_a_context(tables):
    rows = [
        Row("tokens per second, batch 1, 512 tokens: attention", 700.0, "tokens/s"),
        Row("tokens per second, batch 16, 512 tokens: attention", 1.0, "tokens/s"),
        Row("tokens per second, batch 1, 16384 tokens: Hyena, distilled", 1600.0, "tokens/s"),
    ]
    page = "<!-- generate.json: speed of 1 -->\nold\n<!-- end -->"
    assert tables.filled(page, rows, "generate.json").splitlines()[2:6] == [
        "| tokens per second, batch 1, tokens/s | 512 | 16,384 |",
        "|---|---|---|",
        "| attention | 700 | - |",
        "| Hyena, distilled | - | 1600 |",
    ]
    assert tables.filled(page, ROWS) == page  # of another file


def test_all_bars_misses_included(tables):
    assert tables.bars(ROWS).splitlines()[2:] == [
        "| error | 2e-07 relative | at most 3e-06 | holds |",
        "| ratio | 4 times | at least 5 | missed |",
    ]


@pytest.mark.parametrize("name", ["stream.json", "generate.json", "language.json"])
def test_the_page_has_the_numbers_of_the_file(tables, name):
    page = tables.PAGES[name].read_text(encoding="utf-8")
    for table in tables.TABLES[name]:
        assert f"<!-- {name}: {table} -->\n" in page
    if not tables.results(name).exists():
        pytest.skip(f"{name} is not measured yet: mrconv bench NAME (or table filters) --json FILE")
    assert page == tables.filled(page, read_record(tables.results(name)).rows, name)
