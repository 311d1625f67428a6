"""The pictures of ``mrconv bench layers`` and ``stream``, as files."""

from collections.abc import Mapping
from pathlib import Path

from ..data.writing import written_aside
from ..errors import ArgumentError
from ..report.canvas import new_figure
from ..report.length_panels import times_by_length

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
            f"bench: picture must end in .svg or .png; got {path!r}. Name it layers.svg."
        )
    new_figure(1, 1)


def write_picture(path: str, panels: Mapping[str, Mapping[str, Mapping[int, float]]]) -> None:
    """Draws one line a contestant and one panel for each thing that was timed.

    Args:
        path: The file, .svg or .png; its folder is made.
        panels: Milliseconds by panel, contestant and length.
    """
    import matplotlib

    figure = times_by_length(panels)
    form = Path(path).suffix[1:]
    settings = {"svg.fonttype": "none", "svg.hashsalt": "mrconv"}
    about = dict.fromkeys(("Date", "Creator")) if form == "svg" else None
    with matplotlib.rc_context(settings), written_aside(path) as aside:  # type: ignore[arg-type]
        figure.savefig(aside, format=form, dpi=DOTS, facecolor="white", metadata=about)
