"""Every code block of the documentation is run; the output printed under it is held to be true.

A ```python block runs in the namespace of its page. A ```text block right behind it is what it
prints; under <!-- numbers differ by machine --> only the words must agree. <!-- not run: WHY -->
before a block leaves it out. A line of a ```sh block that starts with mrconv must be one that the
command line takes. After a change of the code, this writes the outputs anew:

    python tests/test_docs.py
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import mrconv
from mrconv.testing import KernelContract

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
VARIES, NOT_RUN = "<!-- numbers differ by machine -->", "<!-- not run:"
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")
LARGEST_FIGURE = 150_000


@dataclass
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    remark: str

    @property
    def runs(self) -> bool:
        return self.language == "python" and NOT_RUN not in self.remark


def blocks(page: Path) -> list[Block]:
    found, lines, remark = [], page.read_text(encoding="utf-8").split("\n"), ""
    i = 0
    while i < len(lines):
        if lines[i].startswith("```"):
            end = lines.index("```", i + 1)
            found.append(Block(lines[i][3:].strip(), "\n".join(lines[i + 1 : end]), i + 1, remark))
            remark, i = "", end
        elif lines[i].startswith("<!--"):
            remark = lines[i]
        elif lines[i]:
            remark = ""
            found.append(Block("prose", lines[i], i + 1, ""))
        i += 1
    return found


@contextlib.contextmanager
def page_module(page: Path) -> Iterator[types.ModuleType]:
    """A module that the page's blocks run in, so that classes of the page can be pickled."""
    module = types.ModuleType(f"docs_{page.stem.replace('-', '_')}")
    kernels = dict(mrconv.kernels.KERNELS)
    sys.modules[module.__name__] = module
    torch.manual_seed(0)
    try:
        yield module
    finally:
        del sys.modules[module.__name__]
        mrconv.kernels.KERNELS.clear()
        mrconv.kernels.KERNELS.update(kernels)


def run(page: Path, module: types.ModuleType) -> Iterator[tuple[str, Block | None]]:
    """What every block printed, and the block that says so, where there is one."""
    found = blocks(page)
    for block, following in zip(found, [*found[1:], None], strict=True):
        if not block.runs:
            continue
        printed = io.StringIO()
        # empty lines before the code give a traceback the page's own line numbers
        code = compile("\n" * block.line + block.text, str(page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, module.__dict__)
        told = following if following is not None and following.language == "text" else None
        yield printed.getvalue().rstrip("\n"), told


def words(text: str) -> list[str]:
    """The text without its numbers and spaces."""
    return NUMBER.sub("#", text).split()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with page_module(page) as module:
        for printed, told in run(page, module):
            if told is None:
                assert not printed, f"{page.name} does not show this output:\n{printed}"
            elif VARIES in told.remark:
                assert words(printed) == words(told.text), f"{page.name}:{told.line}"
            else:
                assert printed == told.text, f"{page.name}:{told.line}"


def test_kernel_of_the_page_keeps_the_contract(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = DOCS / "write-your-own-kernel.md"
    with page_module(page) as module:
        for _ in run(page, module):
            pass
        classes = [one for one in vars(module).values() if isinstance(one, type)]
        suites = [
            one
            for one in classes
            if issubclass(one, KernelContract) and one.__name__.startswith("Test")
        ]
        assert len(suites) == 1
        for name in dir(suites[0]):
            if name.startswith("test_"):
                getattr(suites[0](), name)()


def command_lines() -> list[tuple[str, str]]:
    return [
        (f"{page.name}:{block.line}", line)
        for page in PAGES
        for block in blocks(page)
        if block.language == "sh" and NOT_RUN not in block.remark
        for line in block.text.replace("\\\n", " ").split("\n")
        if line.startswith("mrconv ")
    ]


@pytest.mark.parametrize(("place", "line"), command_lines())
def test_command_line_takes_what_the_page_shows(place, line):
    from mrconv.cli import parser

    try:
        parser().parse_args(shlex.split(line, comments=True)[1:])
    except SystemExit as leaving:
        assert not leaving.code, f"{place}: {line}"


def test_recipe_of_the_page_is_clean(tmp_path):
    from mrconv.train import read_recipe

    page = DOCS / "recipes-and-command-line.md"
    recipe, scales = (block.text for block in blocks(page) if block.language == "yaml")
    (tmp_path / "page.yaml").write_text(f"{recipe}\n{scales}\n")
    assert read_recipe(tmp_path / "page.yaml").epochs == 5
    assert read_recipe(tmp_path / "page.yaml", scale="small").epochs == 2


def test_reference_has_every_public_name():
    shown = set(re.findall(r"^::: mrconv\.(\w+)$", (DOCS / "api.md").read_text(), re.MULTILINE))
    assert shown == set(mrconv.__all__) - {"__version__"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_pictures_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).is_file(), f"{page.name}: {target}"


def test_figures_are_small():
    figures = [*DOCS.glob("figures/*.svg"), *DOCS.glob("figures/*.png")]
    assert figures
    assert not [one.name for one in figures if one.stat().st_size > LARGEST_FIGURE]


def write_outputs(page: Path) -> None:
    """Puts what the blocks print into the page."""
    lines = page.read_text(encoding="utf-8").split("\n")
    with page_module(page) as module:
        results = [(printed, told) for printed, told in run(page, module) if told is not None]
    for printed, told in reversed(results):
        end = lines.index("```", told.line)
        lines[told.line : end] = printed.split("\n")
    page.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for one in PAGES:
            write_outputs(one)
