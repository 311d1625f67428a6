"""The page escapes what it shows, refers to nothing outside, and is written whole or not at all."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

from mrconv.errors import FileError, ShapeError
from mrconv.report import (
    Page,
    confusion_matrix,
    contributions,
    gain_norms,
    layer_kernels,
    learning_curves,
    write_page,
)

EVIL = "<script>alert(1)</script> & \"quoted\" 'single' </style>"
VOID = {"meta", "link", "img", "br"}


class Outline(HTMLParser):
    """Tags, attributes and text of a page; refuses tags that are not closed in order."""

    def __init__(self, markup):
        super().__init__()
        self.open, self.tags, self.attributes, self.shown = [], [], [], ""
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.shown += data

    def values(self, name):
        return [value for _, key, value in self.attributes if key == name]


class Unpaintable(Figure):
    """A figure whose drawing fails half-way."""

    def savefig(self, *args, **kwargs):
        raise RuntimeError("no ink")


@pytest.fixture(scope="module")
def full():
    """Markup of a page with every figure and every part."""
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=4 * 2**i) for i in range(3)]
    history = [{"epoch": i, "train_loss": 1 / i, "validation_accuracy": 0.5} for i in (1, 2)]
    lengths, shares = [4, 8, 16], rng.random((2, 3))
    return (
        Page("Title", "Subtitle", {"mrconv": "1.2.3"})
        .tile("Test accuracy", "96.8 %", "500 digits")
        .section("Curves", "They fall.")
        .figure(learning_curves(history), "curves that fall", "A caption.")
        .section("Kernels")
        .figure(layer_kernels([("layer 1", parts, parts[2])]), "kernels")
        .figure(gain_norms(rng.random((2, 3)), lengths), "gains")
        .section("Classes")
        .figure(confusion_matrix([[1, 2], [0, 3]], ["a", "b"]), "confusion")
        .figure(
            contributions(rng.random((2, 49)), shares, ["a", "b"], lengths, kind="image"), "who"
        )
        .table(["form", "ms"], [["merged", 1.5]])
        .code("mrconv demo")
        .html()
    )


def test_every_string_is_escaped():
    page = Page(EVIL, EVIL, {EVIL: EVIL}).tile(EVIL, EVIL, EVIL).section(EVIL, EVIL).text(EVIL)
    page.table([EVIL], [[EVIL]], EVIL).code(EVIL, EVIL).section(EVIL)
    figure = confusion_matrix([[1]], [EVIL])
    outline = Outline(page.figure(figure, EVIL, EVIL).html())
    assert "script" not in outline.tags
    assert outline.tags.count("style") == 1
    assert outline.values("aria-label").count(EVIL) == 1
    # title, h1, subtitle, 2 of versions, 3 of the tile, 2 links, 2 headings, 2 texts, 3 of the
    # table, 2 of the code, the caption, and the class at both axes of the figure
    assert outline.shown.count(EVIL) == 22


def test_nothing_outside_is_referred_to(full):
    outline = Outline(full)
    assert "http://" not in full
    assert "https://" not in full
    assert "@import" not in full
    for name in ("src", "href", "xlink:href", "data", "action", "srcset"):
        assert all(value.startswith(("data:", "#")) for value in outline.values(name))
    assert not {"script", "iframe", "object", "embed", "form"} & set(outline.tags)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert ("meta", "content", policy) in outline.attributes


def test_ids_are_unique_and_found(full):
    outline = Outline(full)
    names = outline.values("id")
    assert len(names) == len(set(names))
    wanted = {value[1:] for value in outline.values("href") if value.startswith("#")}
    clips = set(re.findall(r"url\(#([^)]+)\)", full))
    assert clips
    assert wanted | clips <= set(names)


def test_figures_stand_in_the_page_as_text_and_shapes(full):
    outline = Outline(full)
    names = ["curves that fall", "kernels", "gains", "confusion", "who"]
    assert outline.tags.count("svg") == 5
    assert [label for label in outline.values("aria-label") if label != "Sections"] == names
    for words in ("best 50.0 %", "kernel length (samples)", "predicted class", "merged"):
        assert words in outline.shown
    assert len(full) < 300_000


def test_html5_frame(full):
    assert full.startswith('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')
    outline = Outline(full)
    for tag in ("title", "h1", "main", "footer", "nav"):
        assert outline.tags.count(tag) == 1
    assert outline.tags.count("h2") == outline.tags.count("section") == 3
    assert "mrconv 1.2.3" in outline.shown


def test_colors_of_figures_have_a_light_and_a_dark_value(full):
    used = set(re.findall(r"var\(--c([0-9a-f]{6})\)", full))
    assert used
    for color in used:
        light, dark = re.findall(rf"--c{color}:(#[0-9a-f]{{6}})", full)
        assert light == f"#{color}"
        assert dark != light


def test_table_cells_read_as_numbers():
    rows = [["a", 12345, 0.123456, True, None], ["b", np.int64(7), np.float32(2), False, 1e-7]]
    markup = Page("t").table(["name", "count", "share", "holds", "gap"], rows, "Sizes.").html()
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", markup)
    assert cells[:5] == ["a", "12,345", "0.1235", "yes", "\N{EN DASH}"]
    assert cells[5:] == ["b", "7", "2", "no", "1e-07"]
    headings = re.findall(r'<th scope="col"([^>]*)>(\w+)</th>', markup)
    assert [name for kind, name in headings if "number" in kind] == ["count", "share", "gap"]


def test_table_rows_must_fit():
    sentence = (
        "Page.table: every row must have 2 cells, one a column; got 1. Fill missing cells with "
        "None."
    )
    with pytest.raises(ShapeError, match=re.escape(sentence)):
        Page("t").table(["a", "b"], [["only"]])


def test_a_page_without_sections_or_figures():
    outline = Outline(Page("Empty").text("Only words.").html())
    assert "Only words." in outline.shown
    assert not {"h2", "nav", "footer", "dl"} & set(outline.tags)


def test_writing_makes_folders_and_gives_the_path(tmp_path):
    page = Page("Title \N{GREEK SMALL LETTER ALPHA}")
    target = write_page(tmp_path / "runs" / "demo" / "report.html", page)
    assert target == tmp_path / "runs" / "demo" / "report.html"
    assert target.read_text(encoding="utf-8") == page.html()
    assert [path.name for path in target.parent.iterdir()] == ["report.html"]
    (tmp_path / "usual").touch()
    assert target.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_failing_figure_leaves_the_old_file(tmp_path):
    target = write_page(tmp_path / "report.html", Page("Old"))
    before = target.read_text()
    with pytest.raises(RuntimeError, match="no ink"):
        write_page(target, Page("New").figure(Unpaintable(), "nothing"))
    assert target.read_text() == before
    assert list(tmp_path.iterdir()) == [target]


def test_a_failing_move_leaves_nothing_behind(tmp_path, monkeypatch):
    target = write_page(tmp_path / "report.html", Page("Old"))
    before = target.read_text()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full_disk)
    sentence = (
        f"write_page: {target} must be a file that can be written; got No space left on device. "
        "Choose another path."
    )
    with pytest.raises(FileError, match=re.escape(sentence)):
        write_page(target, Page("New"))
    assert target.read_text() == before
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_is_no_file_to_write(tmp_path):
    sentence = f"write_page: {tmp_path} must be a file that can be written; got Is a directory."
    with pytest.raises(FileError, match=re.escape(sentence)):
        write_page(tmp_path, Page("t"))
    assert list(tmp_path.iterdir()) == []
