"""``python -m mrconv.models.convnext SCRIPT ...``: a script of timm that knows MRConvNeXt.

    torchrun --nproc-per-node 8 -m mrconv.models.convnext train.py
        --config mrconvnext_tiny --data-dir IMAGES

A configuration is a file, or the name of one in the folder recipes beside this file.
"""

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from ...errors import ArgumentError, MrconvError

__all__ = ["RECIPES", "main", "run"]

RECIPES = Path(__file__).parent / "recipes"


def run(words: Sequence[str]) -> None:
    """Registers MRConvNeXt with timm, then runs a script as ``python SCRIPT ...`` would.

    Args:
        words: The script and its arguments.

    Raises:
        ArgumentError: If there is no script, or no such file.
        MissingExtraError: If timm is not installed.
    """
    if not words or not Path(words[0]).is_file():
        got = words[0] if words else "nothing"
        raise ArgumentError(
            f"convnext: the first word must be a script; got {got}. "
            "Run: python -m mrconv.models.convnext train.py ..."
        )
    from . import register

    register()
    sys.argv = [words[0], *_with_recipe(words[1:])]
    sys.path.insert(0, str(Path(words[0]).resolve().parent))
    runpy.run_path(words[0], run_name="__main__")


def _with_recipe(words: Sequence[str]) -> list[str]:
    """The words with the file of a shipped recipe in place of its name."""
    found = list(words)
    for i in range(1, len(found)):
        file = RECIPES / f"{found[i]}.yaml"
        if found[i - 1] in ("-c", "--config") and file.is_file() and not Path(found[i]).exists():
            found[i] = str(file)
    return found


def main() -> int:
    """Runs the script that the command line names.

    Returns:
        0; 2 for a mistake of the user's, told in one line.
    """
    try:
        run(sys.argv[1:])
    except MrconvError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
