"""``mrconv demo``: the main job on real digits, in minutes."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..experiments.forms import DemoResult
    from ..train import Progress

HELP = "train, merge, verify and time a model on real handwritten or spoken digits"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument(
        "--audio",
        metavar="PATH",
        help="the streaming example instead, on the Free Spoken Digit Dataset in this folder",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder for results (default runs/demo, or runs/spoken)"
    )
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
    from ..train import TextProgress, TrainingInterrupted

    out = args.out or ("runs/demo" if args.audio is None else "runs/spoken")
    overrides, command = _settings(args, out)
    progress = TextProgress(sys.stdout)
    try:
        if args.audio is None:
            result = _handwritten(out, overrides, progress, command)
        else:
            result = _spoken(args.audio, out, overrides, progress, command)
    except TrainingInterrupted:
        print("interrupted; run the demo again to start anew", file=sys.stderr)
        return 130
    return 0 if result.proof.holds else 1


def _settings(args: argparse.Namespace, out: str) -> tuple[list[str], str]:
    """Changes of the recipe, and the command that repeats the demo."""
    overrides = [f"seed={args.seed}"]
    command = ["mrconv", "demo"]
    command += [] if args.audio is None else ["--audio", args.audio]
    command += ["--out", out, "--seed", str(args.seed)]
    if args.epochs is not None:
        overrides.append(f"epochs={args.epochs}")
        command += ["--epochs", str(args.epochs)]
    if args.statistics != "exact":
        overrides.append(f"model.backbone.mixer.norm={{statistics: {args.statistics}}}")
        command += ["--statistics", args.statistics]
    return overrides, shlex.join(command)


def _handwritten(
    out: str, overrides: list[str], progress: "Progress", command: str
) -> "DemoResult":
    from ..experiments.demo import run_demo

    print("sequential MNIST: 4 MRConv blocks, 64 channels, 784 samples a digit")
    result = run_demo(out, overrides, progress=progress, command=command)
    print(_summary(result))
    return result


def _spoken(
    audio: str, out: str, overrides: list[str], progress: "Progress", command: str
) -> "DemoResult":
    from ..experiments.spoken import run_spoken_demo

    print("spoken digits: raw samples at 8 kHz, answers every 20 ms")
    result = run_spoken_demo(audio, out, overrides, progress=progress, command=command)
    print(_spoken_summary(result, audio))
    return result


def _summary(result: "DemoResult") -> str:
    metrics, folder = result.metrics, result.folder
    rows = [
        ("test accuracy", f"{metrics['test_accuracy']:.3f} (logistic regression: 0.906)"),
        *_common(result),
        ("training step", _pair(metrics["step_milliseconds"])),
        ("prediction", _pair(metrics["predict_milliseconds"])),
    ]
    following = [
        f"mrconv verify {folder / 'model'}",
        f"mrconv inspect {folder / 'model'}",
        f"mrconv predict {folder / 'merged'} YOUR_SERIES.csv",
        "mrconv train mnist model.backbone.mixer.kernel=fourier",
    ]
    return _table(rows, folder, following)


def _spoken_summary(result: "DemoResult", audio: str) -> str:
    metrics, folder, stream = result.metrics, result.folder, result.metrics["stream"]
    latency = stream["latency_ms"]
    rows = [
        ("test accuracy", f"{metrics['test_accuracy']:.3f} (log-mel, logistic regression: 0.933)"),
        *_common(result),
        ("streamed", f"{stream['right']} of {stream['recordings']} recordings right at their end"),
        ("latency of a chunk", f"{latency['median']:.1f} ms median, {latency['p99']:.1f} ms p99"),
        ("speed", f"{stream['times_real_time']:.1f} times as fast as real time"),
    ]
    recording = Path(audio, "recordings", "3_jackson_0.wav")
    following = [
        f"mrconv stream {folder / 'model'} {recording}",
        f"mrconv verify {folder / 'model'}",
    ]
    return _table(rows, folder, following)


def _common(result: "DemoResult") -> list[tuple[str, str]]:
    metrics = result.metrics
    agreement = "agree" if result.proof.holds else "DIFFER"
    return [
        ("validation accuracy", f"{metrics['validation_accuracy']:.3f}"),
        ("merged against branches", f"{metrics['merge_difference']:.1e}, the forms {agreement}"),
        ("training", f"{metrics['train_seconds']:.0f} s, {metrics['epochs']} epochs"),
    ]


def _table(rows: list[tuple[str, str]], folder: Path, following: list[str]) -> str:
    return "\n".join(
        [
            "",
            *(f"{name:24}{value}" for name, value in rows),
            "",
            f"page with pictures: {folder / 'report.html'}",
            "next:",
            *(f"  {line}" for line in following),
        ]
    )


def _pair(milliseconds: dict[str, float]) -> str:
    return (
        f"{milliseconds['branches']:.0f} ms as branches, "
        f"{milliseconds['merged']:.0f} ms merged (32 digits)"
    )
