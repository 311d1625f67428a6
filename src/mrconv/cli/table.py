"""``mrconv table``: an experiment of many trainings as a grid that can be stopped and resumed."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ..experiments.tables import TABLES

if TYPE_CHECKING:
    from ..bench import Row
    from ..experiments.grid import Numbers
    from ..experiments.table import Table

HELP = "run a grid of experiments, cell by cell, and print its table; finished cells are kept"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("table", choices=TABLES, help="which grid")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder of table.md, cells and models (default runs/table/NAME; with --quick, "
        "runs/table/NAME-quick)",
    )
    parser.add_argument(
        "--cells",
        metavar="DIR",
        help="another folder for cells and models; tables that share it run equal cells once",
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
    parser.add_argument("--seeds", type=int, metavar="N", help="trainings of each kind")
    parser.add_argument(
        "--set",
        metavar="TASK.KEY=VALUE",
        action="append",
        default=[],
        dest="changes",
        help="change the trainings of a task, such as listops.epochs=10; may be given again",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="of torch (default: torch's own)")
    parser.add_argument("--quick", action="store_true", help="try it out on tiny models")


def run(args: argparse.Namespace) -> int:
    """Runs the cells that are not finished, then prints the table of all; 1 where a cell failed."""
    import torch

    from .._checks import check_count
    from ..bench.picture import check_picture
    from ..experiments.grid import chosen_cells
    from ..experiments.table import TableOptions
    from ..experiments.tables import table_named

    for name in ("threads", "seeds"):
        if getattr(args, name) is not None:
            check_count("table", name, getattr(args, name))
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    if args.picture is not None:
        check_picture(args.picture)
    out = Path(args.out or f"runs/table/{args.table}{'-quick' if args.quick else ''}")
    table, options = table_named(args.table), TableOptions(args.quick, args.seeds, args.changes)
    grid, remark = table.grid(Path(args.cells or out), options)
    chosen = chosen_cells(grid.cells, args.only)
    if args.list:
        print("\n".join(cell.name for cell in chosen))
        return 0
    if remark:
        print(remark)
    outcome = grid.run(chosen, lambda line: print(line, flush=True))
    _tell(args, out, table, outcome.numbers)
    print(f"{len(outcome.numbers)} of {len(grid.cells)} cells are finished.")
    for name, sentence in outcome.failures.items():
        print(f"failed: {name}: {sentence}")
    return 1 if outcome.failures else 0


def _tell(
    args: argparse.Namespace, out: Path, table: "Table", numbers: "dict[str, Numbers]"
) -> None:
    """Prints and writes what all finished cells say."""
    from ..bench.picture import write_picture
    from ..bench.table import heading, line, total
    from ..data.writing import write_text

    rows = table.rows(numbers)
    if not rows:
        return
    print("\n".join([heading(), *map(line, rows)]))
    if summary := total(rows):
        print(summary)
    text = table.markdown(rows)
    print(f"\n{text}")
    write_text(out / "table.md", text)
    print(f"table: {out / 'table.md'}")
    if args.json:
        _write(args, table.record, rows)
    if args.picture is not None:
        write_picture(args.picture, table.picture(numbers))
        print(f"picture: {args.picture}")


def _write(args: argparse.Namespace, name: str, rows: "list[Row]") -> None:
    import torch

    from ..bench import Record, write_record
    from ..bench.machine import machine, versions

    words = ["mrconv", "table", args.table, *(["--quick"] if args.quick else [])]
    words += [] if args.seeds is None else ["--seeds", str(args.seeds)]
    for change in args.changes:
        words += ["--set", change]
    threads = torch.get_num_threads()
    record = Record(name, shlex.join(words), machine(), versions(), threads, rows)
    write_record(args.json, record)
    print(f"numbers: {args.json}")
