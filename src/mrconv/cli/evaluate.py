"""``mrconv evaluate``: loss and accuracy, bits or error of a saved model on a split of its data."""

import argparse
import json
from pathlib import Path

HELP = "measure a saved model on the data of a recipe"


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
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="MODULE",
        help="let the recipe name classes of this module too, which runs its code",
    )


def run(args: argparse.Namespace) -> int:
    """Prints one line with accuracy (or bits, or error) and loss."""
    import torch

    import mrconv

    from .._checks import check_count
    from ..data.writing import write_text
    from ..train import evaluate, read_recipe
    from .train import allow_folder

    check_count("evaluate", "batch_size", args.batch_size)
    allow_folder(args.allow)
    model = mrconv.load(args.model)
    source = args.recipe or _recipe_beside(args.model)
    recipe = read_recipe(source, allow=args.allow)
    splits = recipe.load_data()
    if model.contract is not None:
        model.contract.refuse_other("evaluate", splits.contract)
    examples = splits[args.split]
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    numbers = evaluate(model, examples, recipe.make_loss(), batch_size=args.batch_size)
    told = {name.replace("_", " "): value for name, value in numbers.items()}
    text = ", ".join(f"{name} {value:.4f}" for name, value in sorted(told.items()))
    print(f"{args.split}: {text} on {len(examples)} examples")
    if args.json:
        record = {"model": args.model, "recipe": str(source), "split": args.split}
        content = {**record, "examples": len(examples), **numbers}
        write_text(args.json, json.dumps(content, indent=2) + "\n")
        print(f"numbers: {args.json}")
    return 0


def _recipe_beside(model: str) -> Path:
    from ..errors import FileError

    path = Path(model).resolve().parent / "recipe.yaml"
    if not path.is_file():
        raise FileError(
            f"evaluate: the recipe must be named or stand at {path}; got neither. "
            f"Name it: mrconv evaluate {model} mnist"
        )
    return path
