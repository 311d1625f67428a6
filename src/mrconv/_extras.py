"""What needs packages beyond the core, and the sentence for where one is not installed."""

import contextlib
from collections.abc import Iterator

from .errors import MissingExtraError

__all__ = ["needs_extra"]


@contextlib.contextmanager
def needs_extra(owner: str, extra: str) -> Iterator[None]:
    """Turns a missing package into the pip line that installs it.

    Args:
        owner: First word of the message.
        extra: Extra of mrconv that holds the package.

    Raises:
        MissingExtraError: If an import inside finds no such package.

    Example:
        >>> with needs_extra("train", "train"):
        ...     import json
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "mrconv":
            raise
        raise MissingExtraError(
            f"{owner}: the package {package} must be installed; got none. "
            f'Run: pip install "mrconv[{extra}]"'
        ) from None
