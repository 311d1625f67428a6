"""``mrconv train``: a recipe trained into a folder."""

import argparse
import shlex
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..train import Recipe, TrainingInterrupted, TrainingResult

HELP = "train a model by a recipe: one YAML file, changed by key=value"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument(
        "recipe",
        help="name of a recipe of mrconv, such as mnist or listops, or a YAML file",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder for results (default runs/NAME, runs/NAME-SCALE)"
    )
    parser.add_argument(
        "--tensorboard", action="store_true", help="write curves for TensorBoard as well"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="take three steps on the longest rows and tell time and memory; writes nothing",
    )
    add_run_arguments(parser)


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares what every verb that trains by a recipe takes."""
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="key=value",
        help="change of the recipe, such as epochs=2 or model.backbone.depth=6",
    )
    parser.add_argument(
        "--scale", metavar="NAME", help="size of the run, such as small: a set of the recipe's own"
    )
    earlier = parser.add_mutually_exclusive_group()
    earlier.add_argument(
        "--resume", action="store_true", help="go on from the last checkpoint in the folder"
    )
    earlier.add_argument(
        "--overwrite", action="store_true", help="replace an earlier training in the folder"
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="MODULE",
        help="let the recipe name classes of this module too, which runs its code",
    )
    _take_late_overrides(parser)


def _take_late_overrides(parser: argparse.ArgumentParser) -> None:
    """Lets key=value stand behind options too, where argparse leaves it over."""
    parse = parser.parse_known_args

    def parse_mixed(args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        options, words = parse(args, namespace)
        late = [word for word in words if "=" in word and not word.startswith("-")]
        options.overrides = [*options.overrides, *late]
        return options, [word for word in words if word not in late]

    parser.parse_known_args = parse_mixed  # type: ignore[method-assign]


def run(args: argparse.Namespace) -> int:
    """Trains, then prints the accuracy, where the model went, and what to do next."""
    from ..train import TextProgress, TrainingInterrupted, dry_run, read_recipe, train

    allow_folder(args.allow)
    recipe = read_recipe(args.recipe, args.overrides, scale=args.scale, allow=args.allow)
    if args.dry_run:
        print(dry_run(recipe))
        return 0
    out = args.out or "-".join([f"runs/{recipe.name}", *scale_words(args)[1:]])
    command = _command(args, out)
    try:
        result = train(
            recipe,
            out,
            resume=args.resume,
            overwrite=args.overwrite,
            progress=TextProgress(sys.stdout),
            tensorboard=args.tensorboard,
            command=f"{command} --resume" if args.resume else command,
        )
    except TrainingInterrupted as stop:
        print(interruption(stop, recipe, command), file=sys.stderr)
        return 130
    if result.is_main:
        print(_summary(result, args.allow))
    return 0


def allow_folder(allow: list[str]) -> None:
    """Lets modules of the current folder be imported where any module is allowed by name."""
    if allow and "" not in sys.path:
        sys.path.append("")  # last, so that it hides no installed module


def _command(args: argparse.Namespace, out: str) -> str:
    words = ["mrconv", "train", args.recipe, *scale_words(args), *args.overrides, "--out", out]
    for module in args.allow:
        words += ["--allow", module]
    return shlex.join(words)


def scale_words(args: argparse.Namespace) -> list[str]:
    """The option that names the scale, where one is given."""
    return [] if args.scale is None else ["--scale", args.scale]


def interruption(stop: "TrainingInterrupted", recipe: "Recipe", command: str) -> str:
    """What an interrupted training left, and the command that goes on with it."""
    if stop.kept is None:
        return "interrupted before the training began. Run the same command again."
    _, done = stop.kept
    kept = f"of epoch {done}" if done else "of the start"
    where = "behind the last epoch"
    if done < recipe.epochs:
        where = f"in epoch {done + 1} of {recipe.epochs}"
    return f"interrupted {where}: the checkpoint {kept} is kept. Go on with: {command} --resume"


def _summary(result: "TrainingResult", allow: list[str]) -> str:
    from ..train.progress import clock

    metrics, folder = result.metrics, result.folder
    metric = next(name for name in metrics if name.startswith("test_")).removeprefix("test_")
    named, count = metric.replace("_", " "), len(result.splits.test)
    allowed = "".join(f" --allow {module}" for module in allow)
    lines = [
        f"test {named} {metrics[f'test_{metric}']:.4f} on {count} examples, "
        f"validation {named} {metrics[f'validation_{metric}']:.4f}, "
        f"{metrics['parameters']} parameters, {clock(metrics['train_seconds'])}",
        f"model: {folder.model}",
        f"numbers: {folder.metrics}, {folder.table}",
        "next:",
        f"  mrconv evaluate {folder.model}{allowed}",
        f"  mrconv merge {folder.model} --out {folder.path / 'merged'}",
        f"  mrconv verify {folder.model}",
    ]
    if hasattr(result.model, "generate"):
        lines.append(f"  mrconv generate {folder.model}")
    return "\n".join(lines)
