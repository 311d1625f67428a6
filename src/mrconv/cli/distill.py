"""``mrconv distill``: a trained model as small recurrences, with the error told."""

import argparse
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import SequenceModel

HELP = "distill a trained model: every layer becomes a few taps and a small recurrence"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("model", help="folder of a saved model, or its name on the Hub")
    parser.add_argument(
        "-o",
        "--out",
        required=True,
        metavar="DIR",
        help="folder of the new model and of report.json and report.html",
    )
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--tolerance", type=float, help="largest relative error of a channel's taps")
    size.add_argument("--order", type=int, help="largest number of real states of a channel")
    parser.add_argument("--fir-head", type=int, default=32, help="explicit taps (default 32)")
    parser.add_argument(
        "--max-order", type=int, default=128, help="largest order with --tolerance (default 128)"
    )
    parser.add_argument(
        "--method", choices=("hankel", "gradient"), default="hankel", help="default hankel"
    )
    parser.add_argument(
        "--on-failure",
        choices=("raise", "exact"),
        default="raise",
        help="where the tolerance cannot be met: stop, or leave the layer as it is (default raise)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Writes the distilled model and prints the report."""
    import mrconv

    from ..data.writing import write_text
    from ..experiments.distill_page import write_report

    model = mrconv.load(args.model)
    small, report = mrconv.distill(
        model,
        tolerance=args.tolerance,
        order=args.order,
        fir_head=args.fir_head,
        max_order=args.max_order,
        method=args.method,
        on_failure=args.on_failure,
        inputs=_random_input(model),
    )
    print(report)
    if args.json:
        write_text(args.json, report.to_json() + "\n")
    folder = small.save_pretrained(args.out)
    written = write_report(folder, model, small, report, _command(args))
    print(f"report: {', '.join(map(str, written))}")
    if len(written) == 1:
        print('report.html needs matplotlib: pip install "mrconv[report]"')
    print(f"distilled model: {folder}")
    print(f"next: mrconv predict {args.out} FILE")
    return 0


def _command(args: argparse.Namespace) -> str:
    size = "tolerance" if args.order is None else "order"
    words = ["mrconv", "distill", args.model, "--out", args.out]
    for option in (size, "fir_head", "max_order", "method", "on_failure"):
        words += [f"--{option.replace('_', '-')}", str(getattr(args, option))]
    return shlex.join(words)


def _random_input(model: "SequenceModel") -> "Tensor | dict[str, Tensor | None]":
    """Two random sequences of the model's length, seeded, or two pairs."""
    import torch

    backbone = model.backbone
    like = next(model.parameters())
    seeded = torch.Generator().manual_seed(0)
    shape = (2, backbone.length)
    if backbone.tokens:
        x = torch.randint(backbone.features, shape, generator=seeded)
    else:
        x = torch.randn((*shape, backbone.features), generator=seeded).to(like)
    return {"x": x, "pair": x} if getattr(model, "pair", False) else x
