"""``mrconv demo``: the main job on real digits, in minutes."""

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..experiments.demo import DemoResult

HELP = "train, merge, verify and time a model on 5,000 real handwritten digits"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("--out", default="runs/demo", metavar="DIR", help="folder for results")
    parser.add_argument("--epochs", type=int, help="passes over the digits (default: the recipe's)")
    parser.add_argument(
        "--statistics",
        choices=("exact", "textbook"),
        default="exact",
        help="how BatchNorm's statistics of the branches are found; the numbers are the same",
    )
    parser.add_argument("--seed", type=int, default=0, help="of initialisation and order")


def run(args: argparse.Namespace) -> int:
    """Trains, then prints a short table and what to try next."""
    from ..experiments.demo import run_demo
    from ..train import TextProgress, TrainingInterrupted

    overrides = [f"seed={args.seed}"]
    command = ["mrconv", "demo", "--out", args.out, "--seed", str(args.seed)]
    if args.epochs is not None:
        overrides.append(f"epochs={args.epochs}")
        command += ["--epochs", str(args.epochs)]
    if args.statistics != "exact":
        overrides.append(f"model.backbone.mixer.norm={{statistics: {args.statistics}}}")
        command += ["--statistics", args.statistics]
    print("sequential MNIST: 4 MRConv blocks, 64 channels, 784 samples a digit")
    try:
        result = run_demo(
            args.out, overrides, progress=TextProgress(sys.stdout), command=shlex.join(command)
        )
    except TrainingInterrupted:
        print("interrupted; run the demo again to start anew", file=sys.stderr)
        return 130
    print(_summary(result))
    return 0 if result.proof.holds else 1


def _summary(result: "DemoResult") -> str:
    metrics, folder = result.metrics, result.folder
    steps, predictions = metrics["step_milliseconds"], metrics["predict_milliseconds"]
    agreement = "agree" if result.proof.holds else "DIFFER"
    rows = [
        ("test accuracy", f"{metrics['test_accuracy']:.3f} (logistic regression: 0.906)"),
        ("validation accuracy", f"{metrics['validation_accuracy']:.3f}"),
        ("merged against branches", f"{metrics['merge_difference']:.1e}, the forms {agreement}"),
        ("training", f"{metrics['train_seconds']:.0f} s, {metrics['epochs']} epochs"),
        ("training step", _pair(steps)),
        ("prediction", _pair(predictions)),
    ]
    lines = ["", *(f"{name:24}{value}" for name, value in rows), ""]
    lines += [
        f"page with pictures: {folder / 'report.html'}",
        "next:",
        f"  mrconv verify {folder / 'model'}",
        f"  mrconv inspect {folder / 'model'}",
        f"  mrconv predict {folder / 'merged'} YOUR_SERIES.csv",
        "  mrconv train mnist model.backbone.mixer.kernel=fourier",
    ]
    return "\n".join(lines)


def _pair(milliseconds: dict[str, float]) -> str:
    return (
        f"{milliseconds['branches']:.0f} ms as branches, "
        f"{milliseconds['merged']:.0f} ms merged (32 digits)"
    )
