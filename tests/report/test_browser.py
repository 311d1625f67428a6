"""The page opens in a browser that has no network, asks for nothing, and shows its figures."""

import shutil
import subprocess

import pytest

from mrconv.report import Page, confusion_matrix, contributions, gain_norms, write_page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--enable-logging=stderr",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # no name leads anywhere
    "--virtual-time-budget=2000",
    "--dump-dom",
)

pytestmark = pytest.mark.browser


@pytest.fixture
def browse(tmp_path):
    """Opens a file and gives the document as the browser has it, and what its console says."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no Chromium here: install chromium to open the page in a browser")

    def opened(path):
        command = [program, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return opened


def page():
    pixels = [[float(i == j) for j in range(49)] for i in range(2)]
    shares, lengths = [[0.25, 0.75], [0.5, 0.5]], [8, 16]
    return (
        Page("A page", versions={"mrconv": "0"})
        .tile("Accuracy", "1.0")
        .section("Figures")
        .figure(gain_norms(shares, lengths), "gains")
        .figure(confusion_matrix([[1, 0], [0, 1]], ["no", "yes"]), "confusion")
        .figure(contributions(pixels, shares, ["no", "yes"], lengths, kind="image"), "examples")
    )


def test_the_page_shows_its_figures_and_asks_for_nothing(browse, tmp_path):
    document, complaints = browse(write_page(tmp_path / "report.html", page()))
    assert complaints == []
    for name in ("gains", "confusion", "examples"):
        assert f'aria-label="{name}"' in document
    assert document.count("</svg>") == 3
    assert document.count("data:image/png;base64,") == 2
    assert ">0.75</text>" in document


def test_a_page_that_asks_for_something_would_be_noticed(browse, tmp_path):
    path = tmp_path / "asking.html"
    path.write_text(page().html().replace("</main>", '<img src="https://a.test/b.png"></main>'))
    _, complaints = browse(path)
    assert any("https://a.test/b.png" in line for line in complaints)
