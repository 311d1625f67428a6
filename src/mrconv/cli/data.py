"""``mrconv data``: data sets generated into a folder."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..data.generating import GenerationProgress

HELP = "generate a data set, ListOps or Pathfinder, in its published layout"
LISTOPS = "nested minima, maxima, medians and sums of digits, and their values"
PATHFINDER = "images of dashed contours: does one of them join the two marks?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    sets = parser.add_subparsers(dest="set", metavar="SET", required=True)
    listops = sets.add_parser("listops", help=LISTOPS, description=LISTOPS)
    _add_common(listops, "listops-1000", 100_000)
    listops.set_defaults(generate=_listops)
    for option, default, text in (
        ("--min-length", 500, "expressions are longer"),
        ("--max-length", 2000, "expressions are shorter"),
        ("--max-depth", 10, "levels of an expression"),
        ("--max-args", 10, "arguments of an operator, at most"),
    ):
        listops.add_argument(
            option, type=int, default=default, metavar="N", help=f"{text} (default {default})"
        )
    pathfinder = sets.add_parser("pathfinder", help=PATHFINDER, description=PATHFINDER)
    _add_common(pathfinder, "pathfinder32", 200_000)
    pathfinder.set_defaults(generate=_pathfinder)
    pathfinder.add_argument(
        "--size", type=int, default=32, metavar="N", help="32 (default), 64, 128 (Path-X) or 256"
    )
    pathfinder.add_argument(
        "--level",
        choices=("easy", "intermediate", "hard"),
        default="hard",
        help="6, 9 or 14 dashes a contour (default hard)",
    )


def _add_common(parser: argparse.ArgumentParser, folder: str, count: int) -> None:
    parser.add_argument(
        "--out",
        metavar="DIR",
        required=True,
        help=f"folder, such as {folder}; one that was begun is gone on with",
    )
    parser.add_argument(
        "--count", type=int, default=count, metavar="N", help=f"examples (default {count:,})"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="of the random numbers (default 0)"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: all cores)")


def run(args: argparse.Namespace) -> int:
    """Generates, drawing how far it is; the same command goes on with what was stopped."""
    from ..data.generating import available_cores
    from ..train.progress import CountProgress

    workers = available_cores() if args.workers is None else args.workers
    progress = CountProgress(sys.stdout, args.set)
    try:
        folder = args.generate(args, workers, progress)
    except KeyboardInterrupt:
        progress.close()
        print("interrupted: what is done is kept. Go on with the same command.", file=sys.stderr)
        return 130
    finally:
        progress.close()
    print(f"{args.set}: {args.count} examples in {folder}")
    return 0


def _listops(args: argparse.Namespace, workers: int, progress: "GenerationProgress") -> Path:
    from ..data import Grammar, generate_listops

    grammar = Grammar(args.max_depth, args.max_args, args.min_length, args.max_length)
    return generate_listops(
        args.out, args.count, seed=args.seed, grammar=grammar, workers=workers, progress=progress
    )


def _pathfinder(args: argparse.Namespace, workers: int, progress: "GenerationProgress") -> Path:
    from ..data import generate_pathfinder

    return generate_pathfinder(
        args.out,
        args.size,
        count=args.count,
        level=args.level,
        seed=args.seed,
        workers=workers,
        progress=progress,
    )
