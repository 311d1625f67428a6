"""``mrconv data``: data sets generated into a folder."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

HELP = "generate a data set: ListOps or Pathfinder, in the published layout"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    sets = parser.add_subparsers(dest="set", metavar="SET", required=True)
    for name, text, add in (
        ("listops", "nested minima, maxima, medians and sums of digits", _add_listops),
    ):
        sub = sets.add_parser(name, help=text, description=text)
        sub.add_argument(
            "--out", metavar="DIR", required=True, help="folder; one begun before is gone on with"
        )
        sub.add_argument("--count", type=int, metavar="N", help="examples of all splits")
        sub.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
        sub.add_argument("--workers", type=int, metavar="N", help="processes (default: all cores)")
        add(sub)


def _add_listops(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(generate=_listops, count=100_000)


def run(args: argparse.Namespace) -> int:
    """Generates, drawing how far it is; a stopped run is gone on with by the same command."""
    print(args.generate(args, None))
    return 0


def _listops(args: argparse.Namespace, progress: Any) -> Any:
    from ..data.listops_generator import generate_listops
    from ..data.generating import available_cores

    return generate_listops(args.out, args.count, seed=args.seed, workers=args.workers or available_cores(), progress=progress)
