"""The command ``mrconv``: one verb a file, each importing what it needs when it runs."""

import argparse
import importlib
import sys
from collections.abc import Sequence

from .._version import __version__
from ..errors import MrconvError

__all__ = ["VERBS", "main"]

VERBS = (
    "demo",
    "train",
    "evaluate",
    "predict",
    "stream",
    "generate",
    "merge",
    "distill",
    "verify",
    "inspect",
    "bench",
    "table",
    "data",
)

DESCRIPTION = """\
Long convolutions as sequence models: train as branches, merge to one convolution.

First steps:
  mrconv demo                       train, merge and verify on 5,000 handwritten digits
  mrconv train mnist                the same training by its recipe
  mrconv predict runs/demo/model digits.csv
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; imports the verbs' files, which are light."""
    top = argparse.ArgumentParser(
        prog="mrconv",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"mrconv {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name in VERBS:
        verb = importlib.import_module(f".{name}", __name__)
        sub = verbs.add_parser(name, help=verb.HELP, description=verb.HELP)
        verb.add_arguments(sub)
        sub.set_defaults(run=verb.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb.

    Args:
        arguments: Words of the command line; None takes those of the process.

    Returns:
        0; 1 where a run failed or a check does not hold; 2 for a mistake of the user's, told in
        one line; 130 after Ctrl-C.
    """
    options = parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except MrconvError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # the reader, such as head, has left; nothing more can be written
        sys.stderr.close()
        return 1
    except OSError as error:
        print(
            f"error: {options.verb}: files must be readable and writable; got {error}. "
            "Check path, permissions and space.",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
