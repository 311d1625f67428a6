"""``mrconv verify``: all forms of a model against each other."""

import argparse
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import SequenceModel
    from ..verification import Proof, Row

HELP = "compare all forms of a model; exit code 1 if one differs beyond its bound"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("model", help="folder of a saved model, or its name on the Hub")
    parser.add_argument("others", nargs="*", help="other forms of it; none: its merge")
    parser.add_argument("--data", metavar="FILE", help="series to compare on; none: random input")
    parser.add_argument(
        "--json", metavar="FILE", help="write the table as JSON; null where a number is not finite"
    )


def run(args: argparse.Namespace) -> int:
    """Prints the table."""
    import json

    import mrconv

    from ..data.writing import write_text

    model = mrconv.load(args.model)
    others = [mrconv.load(folder) for folder in args.others]
    inputs = _inputs(model, args.data) if args.data else None
    proof = mrconv.verify(model, *others, inputs=inputs)
    print(proof)
    print(_summary(proof))
    if args.json:
        content = {"holds": proof.holds, "rows": [_plain(row) for row in proof.rows]}
        write_text(args.json, json.dumps(content, indent=2) + "\n")
    return 0 if proof.holds else 1


def _summary(proof: "Proof") -> str:
    if not proof.holds:
        return "FORMS DIFFER beyond their bounds"
    if not proof.approximate:
        return "all forms agree"
    outputs = max(row.largest for row in proof.approximate if row.place == "output")
    return (
        "exact forms agree; distilled layers differ as far as their taps do, outputs by "
        f"{outputs:.1e} of the largest"
    )


def _plain(row: "Row") -> dict[str, Any]:
    """A row's values as JSON has them: None for what is not finite."""
    from dataclasses import asdict

    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in asdict(row).items()
    }


def _inputs(model: "SequenceModel", file: str) -> "tuple[Tensor, Tensor]":
    import torch

    import mrconv

    from ..data.files import read_series

    series = [torch.from_numpy(one) for one in read_series(file, model.expects)]
    x, lengths = mrconv.pad(series)
    parameter = next(model.parameters())
    return x if model.backbone.tokens else x.to(parameter), lengths
