"""``mrconv predict``: labels and probabilities for series in files."""

import argparse
import csv
import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import SequenceModel

HELP = "predict from WAV, NPY, NPZ or CSV files: one line a series"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("model", help="folder of a saved model, or its name on the Hub")
    parser.add_argument("files", nargs="+", help="series: .wav, .npy, .npz or .csv")
    parser.add_argument("--csv", metavar="OUT", help="write the table to a file as well")


def run(args: argparse.Namespace) -> int:
    """Prints one line a series; unreadable files come last and make the exit code 1."""
    import mrconv

    from ..data.writing import write_text

    model = mrconv.load(args.model)
    rows, unreadable = [_header(model)], []
    for file in args.files:
        try:
            fitting, series = _series(model, file)
        except mrconv.errors.FileError as error:
            unreadable.append(str(error))
            continue
        rows += [(file, str(i), *_answer(fitting, one)) for i, one in enumerate(series)]
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(rows)
    print(table.getvalue(), end="")
    if args.csv:
        write_text(args.csv, table.getvalue())
    for message in unreadable:
        print(f"unreadable: {message}", file=sys.stderr)
    return 1 if unreadable else 0


def _header(model: "SequenceModel") -> tuple[str, ...]:
    from ..models import SequenceClassifier

    if isinstance(model, SequenceClassifier):
        return "file", "series", "label", "probability"
    return "file", "series", "values"


def _series(model: "SequenceModel", file: str) -> "tuple[SequenceModel, list[Tensor]]":
    """Every series of a file as a batch of one, and the model that takes them."""
    import torch

    from ..data.files import read_series
    from ..models.intake import recording

    if file.endswith(".wav"):
        fitting, x = recording(model, file)
        return fitting, [x]
    like = next(model.parameters())
    series = [torch.from_numpy(one)[None] for one in read_series(file, model.expects)]
    return model, [x.to(like.device) if model.backbone.tokens else x.to(like) for x in series]


def _answer(model: "SequenceModel", x: "Tensor") -> tuple[str, ...]:
    from ..models import SequenceClassifier

    if isinstance(model, SequenceClassifier):
        probability, best = model.predict_proba(x)[0].max(-1)
        label = model.labels[int(best)] if model.labels else str(int(best))
        return label, f"{float(probability):.4f}"
    return (" ".join(f"{float(value):.6g}" for value in model.predict(x)[0].flatten()),)
