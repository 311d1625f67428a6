"""A matplotlib figure as markup inside a page: SVG that follows the page's light or dark mode."""

import base64
import io
import re
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from .palette import DARK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Drawing", "color_variables", "draw"]

PIXELS = 100  # of the page, an inch of the figure
LARGEST_SVG = 500_000  # characters above which a figure becomes a picture of pixels
PICTURE_DPI = 2 * PIXELS

TAG = re.compile(r"<[^>]+>")
DECIMALS = re.compile(r"(\.\d\d)\d+")
NUMBERS = re.compile(r' (?:d|x|y)="[^"]*"')
IDENTITY = re.compile(r' id="([^"]*)"')
REFERENCE = re.compile(r'(url\(#|href="#)([^)"]+)')
COLOR = re.compile(r"#[0-9a-f]{6}\b")
NOISE = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|</?a\b[^>]*>", re.DOTALL)
FONT = re.compile(r"font-family:[^;\"]*;? ?")


class Drawing(NamedTuple):
    """A figure ready to stand in a page."""

    markup: str
    colors: frozenset[str]
    """Colours of the palette in it, as "#rrggbb"."""


def draw(figure: "Figure", alt: str, name: str) -> Drawing:
    """Turns a figure into inline SVG, or into a PNG on white where SVG would be too large.

    Args:
        figure: What to draw.
        alt: What it shows, in words.
        name: Unique in the page; begins every id in the markup.

    Returns:
        Markup that refers to nothing outside itself.
    """
    inches = figure.get_size_inches()
    width, height = (round(PIXELS * float(side)) for side in inches)
    svg = _saved(figure, "svg").decode()
    if len(svg) > LARGEST_SVG:
        return Drawing(_picture(figure, alt, width, height), frozenset())
    body = NOISE.sub("", svg[svg.index("<svg") :])
    view = re.search(r'viewBox="[^"]*"', body)
    inner = body[body.index(">") + 1 :]
    root = (
        f'<svg role="img" aria-label="{escape(alt)}" {view[0] if view else ""} '
        f'style="width:{width}px;min-width:{round(0.62 * width)}px">'
    )
    wanted = dict.fromkeys(old for _, old in REFERENCE.findall(inner))
    names = {old: f"{name}-{i}" for i, old in enumerate(wanted, 1)}
    inner = TAG.sub(lambda tag: _tidy(tag[0], names), inner)
    colors = frozenset(re.findall(r"var\(--c([0-9a-f]{6})\)", inner))
    return Drawing(root + re.sub(r"\s*\n\s*", " ", inner), frozenset(f"#{c}" for c in colors))


def _saved(figure: "Figure", form: str) -> bytes:
    import matplotlib

    settings = {"svg.fonttype": "none", "svg.hashsalt": "mrconv", "svg.image_inline": True}
    buffer = io.BytesIO()
    with matplotlib.rc_context(settings):  # type: ignore[arg-type]
        if form == "svg":
            nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            figure.savefig(buffer, format=form, metadata=nothing)
        else:
            figure.savefig(buffer, format=form, dpi=PICTURE_DPI, facecolor="white")
    return buffer.getvalue()


def _picture(figure: "Figure", alt: str, width: int, height: int) -> str:
    data = base64.b64encode(_saved(figure, "png")).decode()
    return (
        f'<img class="paper" alt="{escape(alt)}" width="{width}" height="{height}" '
        f'src="data:image/png;base64,{data}">'
    )


def _tidy(tag: str, names: Mapping[str, str]) -> str:
    """One tag with ids of its own, colours as variables, and no more digits than can be seen."""

    def own(found: re.Match[str]) -> str:
        return f' id="{names[found[1]]}"' if found[1] in names else ""

    def reference(found: re.Match[str]) -> str:
        return found[1] + names.get(found[2], found[2])

    def variable(found: re.Match[str]) -> str:
        return f"var(--c{found[0][1:]})" if found[0] in DARK else found[0]

    tag = tag.replace("xlink:href", "href")
    tag = IDENTITY.sub(own, tag)
    tag = REFERENCE.sub(reference, tag)
    if "base64" not in tag:
        tag = NUMBERS.sub(lambda found: DECIMALS.sub(r"\1", found[0]), tag)
        tag = COLOR.sub(variable, tag)
    return FONT.sub("", tag)


def color_variables(colors: frozenset[str]) -> str:
    """Style rules that give every colour its value in light and in dark mode.

    Args:
        colors: Colours of the palette, as "#rrggbb".

    Returns:
        CSS.

    Example:
        >>> color_variables(frozenset({"#3b82c4"}))
        ':root{--c3b82c4:#3b82c4}@media (prefers-color-scheme:dark){:root{--c3b82c4:#5aa2e6}}'
    """
    ordered = sorted(colors)
    light = ";".join(f"--c{color[1:]}:{color}" for color in ordered)
    dark = ";".join(f"--c{color[1:]}:{DARK[color]}" for color in ordered)
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
