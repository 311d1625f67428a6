"""``mrconv table``: an experiment of many trainings as a grid that can be stopped and resumed."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..bench import Row

HELP = "run a grid of experiments, cell by cell, and print its table; finished cells are kept"

NAMES = ("filters",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("table", choices=NAMES, help="which grid")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder of cells, models and table.md (default runs/table/NAME)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--picture", metavar="FILE", help="draw them, .svg or .png")
    parser.add_argument(
        "--only",
        metavar="TEXT",
        action="append",
        default=[],
        help="run only cells whose name holds this text; may be given again",
    )
    parser.add_argument("--list", action="store_true", help="name the cells, and run none")
    parser.add_argument("--threads", type=int, metavar="N", help="of torch (default: torch's own)")
    parser.add_argument("--quick", action="store_true", help="try it out on tiny models")


def run(args: argparse.Namespace) -> int:
    """Runs the cells that are not finished, then prints the table of all; 1 where a cell failed."""
    import torch

    from .._checks import check_count
    from ..bench.picture import check_picture
    from ..experiments.filters import filters_grid
    from ..experiments.grid import chosen_cells

    if args.threads is not None:
        check_count("table", "threads", args.threads)
        torch.set_num_threads(args.threads)
    if args.picture is not None:
        check_picture(args.picture)
    out = Path(args.out or f"runs/table/{args.table}")
    grid, remark = filters_grid(out, quick=args.quick)
    chosen = chosen_cells(grid.cells, args.only)
    if args.list:
        print("\n".join(cell.name for cell in chosen))
        return 0
    if remark:
        print(remark)
    outcome = grid.run(chosen, lambda line: print(line, flush=True))
    _tell(args, out, outcome.numbers)
    print(f"{len(outcome.numbers)} of {len(grid.cells)} cells are finished.")
    for name, sentence in outcome.failures.items():
        print(f"failed: {name}: {sentence}")
    return 1 if outcome.failures else 0


def _tell(args: argparse.Namespace, out: Path, cells: "dict[str, dict[str, object]]") -> None:
    """Prints and writes what all finished cells say."""
    from ..bench.picture import write_picture
    from ..bench.table import heading, line, total
    from ..data.writing import write_text
    from ..experiments.filter_rows import filter_rows
    from ..experiments.filter_table import (
        differences_table,
        filters_picture,
        filters_table,
        recall_table,
    )

    rows = filter_rows(cells)
    if not rows:
        return
    print("\n".join([heading(), *map(line, rows)]))
    if summary := total(rows):
        print(summary)
    tables = "\n".join(make(rows) for make in (filters_table, differences_table, recall_table))
    print(f"\n{tables}")
    write_text(out / "table.md", tables)
    print(f"table: {out / 'table.md'}")
    if args.json:
        _write(args, rows)
    if args.picture is not None:
        write_picture(args.picture, filters_picture(rows))
        print(f"picture: {args.picture}")


def _write(args: argparse.Namespace, rows: "list[Row]") -> None:
    import torch

    from ..bench import Record, write_record
    from ..bench.machine import machine, versions

    words = ["mrconv", "table", args.table, *(["--quick"] if args.quick else [])]
    threads = torch.get_num_threads()
    record = Record("language", shlex.join(words), machine(), versions(), threads, rows)
    write_record(args.json, record)
    print(f"numbers: {args.json}")
