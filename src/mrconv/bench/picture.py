"""The pictures that benches draw, as files."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..data.writing import written_aside
from ..errors import ArgumentError
from ..report.canvas import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_picture", "write_picture"]

FORMS = (".svg", ".png")
DOTS = 200  # an inch, of a PNG


def check_picture(path: str) -> None:
    """Raises where a picture could not be drawn, before anything is measured.

    Args:
        path: The file.

    Raises:
        ArgumentError: If it is neither SVG nor PNG.
        MissingExtraError: If matplotlib is not installed.
    """
    if Path(path).suffix not in FORMS:
        raise ArgumentError(
            f"bench: picture must end in .svg or .png; got {path!r}. Name it bench.svg."
        )
    new_figure(1, 1)


def write_picture(path: str, figure: "Figure") -> None:
    """Writes a figure on white.

    Args:
        path: The file, .svg or .png; its folder is made.
        figure: Any matplotlib figure.
    """
    import matplotlib

    form = Path(path).suffix[1:]
    settings = {"svg.fonttype": "none", "svg.hashsalt": "mrconv"}
    about = dict.fromkeys(("Date", "Creator")) if form == "svg" else None
    with matplotlib.rc_context(settings), written_aside(path) as aside:  # type: ignore[arg-type]
        figure.savefig(aside, format=form, dpi=DOTS, facecolor="white", metadata=about)
