"""``mrconv table``: an experiment of many trainings as a grid that can be stopped and resumed."""

import argparse

HELP = "run a grid of experiments, cell by cell, and print its table; finished cells are kept"

NAMES = ("filters",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("experiment", choices=NAMES, help="which grid")
    parser.add_argument("--out", metavar="DIR", help="folder of the cells (default runs/table/NAME)")
    parser.add_argument(
        "--only",
        metavar="TEXT",
        action="append",
        default=[],
        help="only cells whose name holds this text; may be given again",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="of torch (default: torch's own)")
    parser.add_argument("--quick", action="store_true", help="try it out on tiny models")
    parser.add_argument("--list", action="store_true", help="print the names of the cells and stop")


def run(args: argparse.Namespace) -> int:
    """Runs what is not finished; exit code 1 where a cell failed."""
    import torch

    from .._checks import check_count
    from ..experiments.filters import filters_grid
    from ..experiments.grid import chosen_cells

    if args.threads is not None:
        check_count("table", "threads", args.threads)
        torch.set_num_threads(args.threads)
    grid, remark = filters_grid(args.out or f"runs/table/{args.experiment}", quick=args.quick)
    chosen = chosen_cells(grid.cells, args.only)
    if args.list:
        print("\n".join(cell.name for cell in chosen))
        return 0
    if remark:
        print(remark)
    outcome = grid.run(chosen, lambda line: print(line, flush=True))
    return 1 if outcome.failures else 0
