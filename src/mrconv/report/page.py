"""One self-contained HTML file: key numbers, sections, figures, tables, commands."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Page", "write_page"]


class Page:
    """Collects what a report shows, in order; ``html`` gives it as one file without any link out.

    Every string is plain text and is escaped. Methods return the page, so that calls chain; what
    is added belongs to the last section opened.

    Args:
        title: Heading of the page and of the browser's tab.
        subtitle: One or two sentences below it: what was done with what.
        versions: Shown at the foot, name by name, such as {"mrconv": "0.1.0"}.
    """

    def __init__(
        self, title: str, subtitle: str = "", versions: Mapping[str, str] | None = None
    ) -> None:
        raise NotImplementedError

    def tile(self, label: str, value: str, note: str = "") -> "Page":
        """Adds a key number to the row at the top, such as ("Test accuracy", "96.8 %")."""
        raise NotImplementedError

    def section(self, heading: str, text: str = "") -> "Page":
        """Opens a section with its heading and a sentence in plain words."""
        raise NotImplementedError

    def text(self, text: str) -> "Page":
        """Adds a paragraph."""
        raise NotImplementedError

    def figure(self, figure: "Figure", alt: str, caption: str = "") -> "Page":
        """Adds a figure, drawn when the page is made; ``alt`` says in words what it shows."""
        raise NotImplementedError

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str = ""
    ) -> "Page":
        """Adds a table; numbers stand on the right, floats with four digits, None as a dash."""
        raise NotImplementedError

    def code(self, code: str, caption: str = "") -> "Page":
        """Adds a block of code or commands."""
        raise NotImplementedError

    def html(self) -> str:
        """The whole page as HTML5."""
        raise NotImplementedError


def write_page(path: str | PathLike[str], page: Page) -> Path:
    """Writes a page, aside first and then moved into place; makes missing folders.

    Args:
        path: File to write, such as runs/demo/report.html.
        page: What to write.

    Returns:
        The path written.
    """
    raise NotImplementedError
