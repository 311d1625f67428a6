"""One self-contained HTML file: key numbers, sections, figures, tables, commands."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import FileError, ShapeError
from .stylesheet import STYLE
from .svg import color_variables, draw
from .tables import table_markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Page", "write_page"]

# the page may show what it holds and load nothing, whatever a string in it says
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class _Figure(NamedTuple):
    figure: "Figure"
    alt: str
    caption: str


class _Section(NamedTuple):
    heading: str
    parts: list[str | _Figure]


class Page:
    """Collects what a report shows, in order; ``html`` gives it as one file without any link out.

    Every string is plain text and is escaped. Methods return the page, so that calls chain; what
    is added belongs to the last section opened.

    Args:
        title: Heading of the page and of the browser's tab.
        subtitle: One or two sentences below it: what was done with what.
        versions: Shown at the foot, name by name, such as {"mrconv": "0.1.0"}.

    Example:
        >>> page = Page("Sequential MNIST", versions={"mrconv": "0.1.0"})
        >>> page = page.tile("Test accuracy", "96.8 %").section("Repeat it").code("mrconv demo")
        >>> "<h2>Repeat it</h2>" in page.html()
        True
    """

    def __init__(
        self, title: str, subtitle: str = "", versions: Mapping[str, str] | None = None
    ) -> None:
        self.title, self.subtitle, self.versions = title, subtitle, dict(versions or {})
        self._tiles: list[str] = []
        self._sections: list[_Section] = []

    def tile(self, label: str, value: str, note: str = "") -> "Page":
        """Adds a key number to the row at the top.

        Args:
            label: What it is, such as "Test accuracy".
            value: The number with its unit, such as "96.8 %".
            note: A few words below it.

        Returns:
            This page.
        """
        below = f'<dd class="note">{escape(note)}</dd>' if note else ""
        self._tiles.append(
            f'<div class="tile"><dt>{escape(label)}</dt>'
            f'<dd class="value">{escape(value)}</dd>{below}</div>'
        )
        return self

    def section(self, heading: str, text: str = "") -> "Page":
        """Opens a section.

        Args:
            heading: Its heading, also in the list of sections at the top.
            text: What it shows, in plain words.

        Returns:
            This page.
        """
        self._sections.append(_Section(heading, []))
        return self.text(text) if text else self

    def text(self, text: str) -> "Page":
        """Adds a paragraph.

        Args:
            text: Plain text.

        Returns:
            This page.
        """
        return self._add(f"<p>{escape(text)}</p>")

    def figure(self, figure: "Figure", alt: str, caption: str = "") -> "Page":
        """Adds a figure, which is drawn when the page is made.

        Colours of ``mrconv.report`` follow the reader's light or dark mode. A figure of very many
        points becomes a picture on white.

        Args:
            figure: Any matplotlib figure.
            alt: What it shows, for readers who cannot see it.
            caption: A sentence below it.

        Returns:
            This page.
        """
        return self._add(_Figure(figure, alt, caption))

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str = ""
    ) -> "Page":
        """Adds a table.

        Args:
            columns: Heading of each column.
            rows: Cells. Numbers stand at the right, floats with four digits; None is a dash.
            caption: A sentence below it.

        Returns:
            This page.

        Raises:
            ShapeError: If a row has another number of cells than there are columns.
        """
        for row in rows:
            if len(row) != len(columns):
                raise ShapeError(
                    f"Page.table: every row must have {len(columns)} cells, one a column; "
                    f"got {len(row)}. Fill missing cells with None."
                )
        return self._add(table_markup(columns, rows, caption))

    def code(self, code: str, caption: str = "") -> "Page":
        """Adds a block of code or commands.

        Args:
            code: As it is typed; lines stay lines.
            caption: A sentence before it.

        Returns:
            This page.
        """
        before = f"<p>{escape(caption)}</p>" if caption else ""
        return self._add(f'{before}<pre tabindex="0"><code>{escape(code)}</code></pre>')

    def _add(self, part: str | _Figure) -> "Page":
        if not self._sections:
            self._sections.append(_Section("", []))
        self._sections[-1].parts.append(part)
        return self

    def html(self) -> str:
        """The whole page.

        Returns:
            HTML5, without scripts and without references to anything outside.
        """
        title, colors, sections = escape(self.title), frozenset[str](), []
        for i, section in enumerate(self._sections, 1):
            body, used = _section(section, i)
            sections.append(body)
            colors |= used
        tiles = f'<dl class="tiles">{"".join(self._tiles)}</dl>' if self._tiles else ""
        below = f'<p class="subtitle">{escape(self.subtitle)}</p>' if self.subtitle else ""
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta name="color-scheme" content="light dark">\n<title>{title}</title>\n'
            f'<link rel="icon" href="data:,">\n<style>{STYLE}{color_variables(colors)}</style>\n'
            f'</head>\n<body>\n<div class="page">\n<header>\n<h1>{title}</h1>\n{below}'
            f"{self._contents()}\n{tiles}\n</header>\n<main>\n{''.join(sections)}</main>\n"
            f"{self._foot()}</div>\n</body>\n</html>\n"
        )

    def _contents(self) -> str:
        """Links to the sections, where there are several."""
        links = [
            f'<a href="#s{i}">{escape(section.heading)}</a>'
            for i, section in enumerate(self._sections, 1)
            if section.heading
        ]
        return f'<nav aria-label="Sections">{"".join(links)}</nav>' if len(links) > 1 else ""

    def _foot(self) -> str:
        parts = [
            f"<span>{escape(name)} {escape(number)}</span>"
            for name, number in self.versions.items()
        ]
        return f"<footer>{''.join(parts)}</footer>\n" if parts else ""


def _section(section: _Section, number: int) -> tuple[str, frozenset[str]]:
    """Markup of a section, and the colours that its figures use."""
    body, colors = [], frozenset[str]()
    for i, part in enumerate(section.parts, 1):
        if isinstance(part, str):
            body.append(part)
            continue
        drawing = draw(part.figure, part.alt, f"f{number}-{i}")
        colors |= drawing.colors
        below = f"<figcaption>{escape(part.caption)}</figcaption>" if part.caption else ""
        body.append(f'<figure><div class="drawing">{drawing.markup}</div>{below}</figure>')
    heading = f"<h2>{escape(section.heading)}</h2>\n" if section.heading else ""
    return f'<section id="s{number}">\n{heading}' + "\n".join(body) + "\n</section>\n", colors


def write_page(path: str | PathLike[str], page: Page) -> Path:
    """Writes a page, aside first and then moved into place; makes missing folders.

    Args:
        path: File to write, such as runs/demo/report.html.
        page: What to write.

    Returns:
        The path written.

    Raises:
        FileError: If the path is a folder, or its folder cannot be made.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> write_page(f"{folder}/report.html", Page("Empty")).name
        'report.html'
    """
    target, text = Path(path), page.html()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as aside:
            draft = Path(aside) / target.name  # made here, so that its permissions are the usual
            draft.write_text(text, encoding="utf-8")
            os.replace(draft, target)
    except OSError as error:
        raise FileError(
            f"write_page: {target} must be a file that can be written; got {error.strerror}. "
            "Choose another path."
        ) from error
    return target
