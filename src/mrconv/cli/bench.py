"""``mrconv bench``: speed side by side with other ways, each number beside its bar."""

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..bench import BenchName, Case, Options, Row

HELP = "measure speed, memory and errors side by side with other ways, each beside its bar"

NAMES: "tuple[BenchName, ...]" = ("conv", "branches", "layers", "stream", "distill", "generate")
APART: "tuple[BenchName, ...]" = ("vision",)  # needs an environment of its own; not of all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("bench", choices=(*NAMES, *APART, "all"), help="what is measured")
    parser.add_argument(
        "--json", metavar="FILE", help="write the numbers as JSON; all: a folder, one file a bench"
    )
    parser.add_argument(
        "--picture",
        metavar="FILE",
        help="draw times (layers, stream), errors (distill), speed and memory (generate), .svg or "
        ".png; all: a folder",
    )
    parser.add_argument(
        "--model",
        metavar="DIR",
        action="append",
        default=[],
        help="saved model whose kernels are measured as well (distill); may be given again",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="of torch (default: torch's own)")
    parser.add_argument(
        "--repeats", type=int, metavar="N", help="rounds of each measurement (default: by time)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of inputs and random shapes")
    parser.add_argument(
        "--shapes", type=int, default=40, metavar="N", help="random shapes (conv, default 40)"
    )
    parser.add_argument("--only", metavar="TEXT", help="only cases whose name holds this text")
    parser.add_argument("--quick", action="store_true", help="try it out on tiny shapes")
    parser.add_argument(
        "--busy", action="store_true", help="beside a busy process only (conv; default: both)"
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")


def run(args: argparse.Namespace) -> int:
    """Prints each row as it is measured; a missed bar is told and is no failure."""
    import torch

    from .._checks import check_count
    from ..bench import BENCHES, Options, selected

    if args.threads is not None:
        check_count("bench", "threads", args.threads)
        torch.set_num_threads(args.threads)
    options = Options(
        args.repeats,
        args.seed,
        args.shapes,
        quick=args.quick,
        busy=args.busy,
        device=args.device,
        models=tuple(args.model),
    )
    names = NAMES if args.bench == "all" else (args.bench,)
    # the words of a mistake come before anything is measured
    cases = {
        name: selected(BENCHES[name](replace(options, picture=_picture(name, args))), args.only)
        for name in names
    }
    for name, chosen in cases.items():
        rows = _measure(chosen)
        if args.json:
            path = Path(args.json, f"{name}.json") if args.bench == "all" else Path(args.json)
            _write(path, name, rows, args, options)
    return 0


def _picture(name: "BenchName", args: argparse.Namespace) -> str | None:
    """The file that a bench draws; of all benches, one each in a folder."""
    if args.picture is None or args.bench != "all":
        return args.picture
    return str(Path(args.picture, f"{name}.svg"))


def _measure(cases: "list[Case]") -> "list[Row]":
    from ..bench.explained import with_explanation
    from ..bench.table import heading, line, total

    print(heading())
    rows = []
    for case in cases:
        for found in case.measure():
            if isinstance(found, str):
                print(found, flush=True)
                continue
            rows.append(with_explanation(found))
            print(line(rows[-1]), flush=True)
    if summary := total(rows):
        print(summary)
    return rows


def _write(
    path: Path,
    name: "BenchName",
    rows: "list[Row]",
    args: argparse.Namespace,
    options: "Options",
) -> None:
    import torch

    from ..bench import Record, write_record
    from ..bench.machine import machine, versions

    threads = torch.get_num_threads()
    found = machine(options.device)
    write_record(path, Record(name, _command(name, args), found, versions(), threads, rows))
    print(f"numbers: {path}")


def _command(name: "BenchName", args: argparse.Namespace) -> str:
    """What repeats the numbers; files are left out, whose folders are this machine's."""
    words = ["mrconv", "bench", name]
    for option, default in (("threads", None), ("repeats", None), ("seed", 0), ("only", None)):
        value = getattr(args, option)
        words += [] if value == default else [f"--{option}", str(value)]
    words += ["--shapes", str(args.shapes)] if args.shapes != 40 and name == "conv" else []
    words += [f"--{flag}" for flag in ("quick", "busy") if getattr(args, flag)]
    for folder in args.model if name == "distill" else ():
        words += ["--model", str(Path(*Path(folder).parts[-2:]))]
    words += ["--device", args.device] if args.device != "cpu" else []
    return shlex.join(words)
