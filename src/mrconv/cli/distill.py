"""``mrconv distill``: a trained model as small recurrences, with the error told."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .train import add_run_arguments, allow_folder, interruption, scale_words

if TYPE_CHECKING:
    from torch import Tensor

    from ..distillation import DistillReport
    from ..distillation.outputs import Inputs
    from ..models import SequenceModel
    from ..train import MatchingRecipe, TrainingResult

HELP = "distill a trained model: every layer becomes a few taps and a small recurrence"

#: Validation sequences that the change of outputs is measured on.
SEEN = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("model", help="folder of a saved model, or its name on the Hub")
    parser.add_argument(
        "-o",
        "--out",
        required=True,
        metavar="DIR",
        help="folder of the new model and of report.json and report.html; with --finetune of the "
        "training, the model in DIR/model",
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
    parser.add_argument(
        "--finetune", metavar="RECIPE", help="train on by a recipe, matched to the original"
    )
    parser.add_argument("--epochs", type=int, help="of --finetune (default 1)")
    parser.add_argument(
        "--matching-weight", type=float, help="of the distance from the original (default 1)"
    )
    add_run_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Writes the distilled model and prints the report; trains it on where that is asked for."""
    import mrconv

    if args.finetune is not None:
        return _finetune(args)
    _refuse_settings_of_finetune(args)
    original = mrconv.load(args.model)
    _distilled(args, original, _random_input(original), Path(args.out))
    print(f"next: mrconv predict {args.out} FILE")
    return 0


def _refuse_settings_of_finetune(args: argparse.Namespace) -> None:
    from ..errors import ArgumentError

    names = ("epochs", "matching_weight", "scale", "resume", "overwrite")
    values = [getattr(args, name) for name in names]
    # 0 is a value given, though it equals False
    options = [
        name
        for name, value in zip(names, values, strict=True)
        if value is not None and value is not False
    ]
    given = [*args.overrides, *(f"--{name.replace('_', '-')}" for name in options)]
    if given:
        raise ArgumentError(
            f"distill: settings of a training need --finetune; got {' '.join(given)}. "
            "Add --finetune mnist, or leave them out."
        )


def _distilled(
    args: argparse.Namespace, original: "SequenceModel", inputs: "Inputs", folder: Path
) -> "SequenceModel":
    """The small model, saved in a folder with its report, which is printed as well."""
    import mrconv

    small, report = mrconv.distill(
        original,
        tolerance=args.tolerance,
        order=args.order,
        fir_head=args.fir_head,
        max_order=args.max_order,
        method=args.method,
        on_failure=args.on_failure,
        inputs=inputs,
    )
    print(report)
    small.note_origin(original, report.origin())
    small.save_pretrained(folder)
    _write_report(args, original, small, report, folder)
    print(f"distilled model: {folder}", flush=True)
    return small


def _write_report(
    args: argparse.Namespace,
    original: "SequenceModel",
    small: "SequenceModel",
    report: "DistillReport",
    folder: Path,
) -> None:
    from ..data.writing import write_text
    from ..experiments.distill_page import write_report

    if args.json:
        write_text(args.json, report.to_json() + "\n")
    written = write_report(folder, original, small, report, _command(args))
    print(f"report: {', '.join(map(str, written))}")
    if len(written) == 1:
        print('report.html needs matplotlib: pip install "mrconv[report]"')


def _finetune(args: argparse.Namespace) -> int:
    """Distils, trains on, and prints how the three models compare."""
    from ..train import TextProgress, TrainingInterrupted
    from ..train import train as run_training

    matching, inputs = _matching(args)
    command = _command(args)
    try:
        result = run_training(
            matching,
            args.out,
            resume=args.resume,
            overwrite=args.overwrite,
            progress=TextProgress(sys.stdout),
            command=command,
        )
    except TrainingInterrupted as stop:
        print(interruption(stop, matching, command), file=sys.stderr)
        return 130
    if result.is_main:
        _compare(matching, result, inputs)
        print(f"fine-tuned model: {result.folder.model}")
        print(f"next: mrconv predict {result.folder.model} FILE")
    return 0


def _matching(args: argparse.Namespace) -> "tuple[MatchingRecipe, Inputs]":
    """The recipe with the distilled model, and the sequences that outputs are compared on."""
    import mrconv

    from ..train import MatchingRecipe, read_matching_recipe
    from ..train.batches import Batches, moved
    from ..train.run_folder import RunFolder

    allow_folder(args.allow)
    epochs = 1 if args.epochs is None else args.epochs
    recipe = read_matching_recipe(
        args.finetune, args.overrides, epochs=epochs, scale=args.scale, allow=args.allow
    )
    if not (args.resume or args.overwrite):
        RunFolder(Path(args.out)).refuse_used()
    original, start = mrconv.load(args.model), Path(args.out) / "distilled"
    examples = recipe.load_data().validation  # before the work of distilling
    first = next(iter(Batches(examples, SEEN)))
    x, _, lengths = moved(first, next(original.parameters()))
    if args.resume:
        small = mrconv.load(start)
    else:
        small = _distilled(args, original, (x, lengths), start)
    weight = 1.0 if args.matching_weight is None else args.matching_weight
    matching = MatchingRecipe(**vars(recipe), small=small, original=original, weight=weight)
    return matching, (x, lengths)


def _command(args: argparse.Namespace) -> str:
    size = "tolerance" if args.order is None else "order"
    options = [size, "fir_head", "max_order", "method", "on_failure"]
    later = ("finetune", "epochs", "matching_weight")
    options += [one for one in later if getattr(args, one) is not None]
    words = ["mrconv", "distill", args.model, *scale_words(args), *args.overrides]
    words += ["--out", args.out]
    for one in options:
        words += [f"--{one.replace('_', '-')}", str(getattr(args, one))]
    for module in args.allow:
        words += ["--allow", module]
    return shlex.join(words)


def _compare(matching: "MatchingRecipe", result: "TrainingResult", inputs: "Inputs") -> None:
    """Prints one line a model and adds the numbers to metrics.json."""
    from ..distillation.outputs import output_change
    from ..train import evaluate

    loss, numbers = matching.make_loss(), dict(result.metrics)
    models = {
        "original": matching.original,
        "distilled": matching.small,
        "fine-tuned": result.model,
    }
    for name, model in models.items():
        line = f"{name:<10}"
        for split in ("test", "validation"):
            measured = evaluate(model, result.splits[split], loss, batch_size=matching.batch_size)
            metric = next(one for one in measured if one != "loss")
            numbers[f"{name}_{split}_{metric}"] = measured[metric]
            line += f"  {split} {metric} {measured[metric]:.4f}"
        change = numbers[f"{name}_output_change"] = output_change(matching.original, model, inputs)
        print(f"{line}  outputs differ by {change:.1e}")
    result.folder.write_metrics(numbers)


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
