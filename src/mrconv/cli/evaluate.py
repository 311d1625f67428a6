"""``mrconv evaluate``: loss and accuracy, bits or error of a saved model on a split of its data."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

    from ..data import Examples
    from ..models import SequenceModel

HELP = "measure a saved model on the data of a recipe, and beside another model"

#: Tokens of a greedy text that are compared, and of the split that stand before it.
WRITTEN, GIVEN = 200, 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("model", help="folder of a saved model, or its name on the Hub")
    parser.add_argument(
        "recipe",
        nargs="?",
        help="recipe whose data and loss are used (default: recipe.yaml beside the model's folder)",
    )
    parser.add_argument(
        "--split", choices=("test", "validation", "train"), default="test", help="default test"
    )
    parser.add_argument(
        "--batch-size", type=int, default=64, metavar="N", help="sequences at a time (default 64)"
    )
    parser.add_argument(
        "--against",
        metavar="MODEL",
        help="measure this one too, such as the original of a distilled model, and compare; "
        f"language models also write {WRITTEN} tokens each behind the first {GIVEN} of the split",
    )
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="MODULE",
        help="let the recipe name classes of this module too, which runs its code",
    )


def run(args: argparse.Namespace) -> int:
    """Prints accuracy (or bits, or error) and loss; of two models also how they differ."""
    from .._checks import check_count
    from ..data.writing import write_text
    from ..train import read_recipe
    from .train import allow_folder

    check_count("evaluate", "batch_size", args.batch_size)
    allow_folder(args.allow)
    model = _loaded(args.model)
    other = None if args.against is None else _loaded(args.against)
    source = args.recipe or _recipe_beside(args.model if other is None else args.against)
    recipe = read_recipe(source, allow=args.allow)
    splits = recipe.load_data()
    for one in (model, other):
        if one is not None and one.contract is not None:
            one.contract.refuse_other("evaluate", splits.contract)
    examples, loss = splits[args.split], recipe.make_loss()
    record = {"model": args.model, "recipe": str(source), "split": args.split}
    record |= {"examples": len(examples), **_measured(model, examples, loss, args, args.split)}
    if other is not None:
        numbers = _measured(other, examples, loss, args, args.against)
        record["against"] = {"model": args.against, **numbers}
        for name, value in numbers.items():
            change = (record[name] - value) / value if value else 0.0
            print(f"{name.replace('_', ' ')}: {change:+.3%} of that of {args.against}")
        record |= _same_text(other, model, examples)
    if args.json:
        write_text(args.json, json.dumps(record, indent=2) + "\n")
        print(f"numbers: {args.json}")
    return 0


def _loaded(name: str) -> "SequenceModel":
    import torch

    import mrconv

    return mrconv.load(name).to("cuda" if torch.cuda.is_available() else "cpu")


def _measured(
    model: "SequenceModel",
    examples: "Examples",
    loss: "nn.Module",
    args: argparse.Namespace,
    title: str,
) -> dict[str, float]:
    """The numbers of one model, printed."""
    from ..train import evaluate

    numbers = evaluate(model, examples, loss, batch_size=args.batch_size)
    told = {name.replace("_", " "): value for name, value in numbers.items()}
    text = ", ".join(f"{name} {value:.4f}" for name, value in sorted(told.items()))
    print(f"{title}: {text} on {len(examples)} examples")
    return numbers


def _same_text(
    other: "SequenceModel", model: "SequenceModel", examples: "Examples"
) -> dict[str, object]:
    """How far the likeliest texts of two language models agree, printed; nothing of others."""
    from ..models import LanguageModel
    from ..models.greedy import same_text

    if not (isinstance(other, LanguageModel) and isinstance(model, LanguageModel)):
        return {}
    text = same_text(other, model, examples.y[0, :GIVEN], WRITTEN)
    print(text)
    return {"greedy_text": text._asdict()}


def _recipe_beside(model: str) -> Path:
    from ..errors import FileError

    path = Path(model).resolve().parent / "recipe.yaml"
    if not path.is_file():
        raise FileError(
            f"evaluate: the recipe must be named or stand at {path}; got neither. "
            f"Name it: mrconv evaluate {model} mnist"
        )
    return path
