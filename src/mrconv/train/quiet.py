"""Lightning without its banners, tips and warnings."""

import contextlib
import logging
import warnings
from collections.abc import Iterator

__all__ = ["quiet_lightning"]

_LOGGERS = (
    "lightning.pytorch",
    "lightning.fabric",
    "lightning.pytorch.utilities.rank_zero",
    "lightning.fabric.utilities.rank_zero",
    "lightning_utilities.core.rank_zero",
)


@contextlib.contextmanager
def quiet_lightning() -> Iterator[None]:
    """Silences what Lightning says of itself; errors and others' warnings get through."""
    levels = {name: logging.getLogger(name).level for name in _LOGGERS}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"lightning\b.*")
        warnings.filterwarnings("ignore", module=r"lightning_utilities\b.*")
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.ERROR)
        try:
            yield
        finally:
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)
