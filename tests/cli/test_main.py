"""The command itself: help without torch, exit codes, and one line for every mistake."""

import io
import subprocess
import sys

import pytest

import mrconv
from mrconv import cli
from mrconv.errors import ArgumentError, MissingExtraError

HELP_IN_A_FRESH_PROCESS = """
import sys, time
start = time.perf_counter()
from mrconv.cli import main
try:
    main(["--help"])
except SystemExit as stopped:
    code = stopped.code
seconds = time.perf_counter() - start
heavy = sorted({"torch", "numpy", "scipy", "lightning", "yaml"} & set(sys.modules))
print(f"{code}|{heavy}|{seconds}", file=sys.stderr)
"""


def test_help_is_quick_and_imports_nothing_heavy():
    best = float("inf")
    for _ in range(3):
        command = [sys.executable, "-c", HELP_IN_A_FRESH_PROCESS]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        code, heavy, seconds = told.stderr.strip().split("|")
        assert (code, heavy) == ("0", "[]")
        assert "usage: mrconv" in told.stdout
        best = min(best, float(seconds))
    assert best < 0.5


@pytest.mark.parametrize("verb", cli.VERBS)
def test_help_of_every_verb(mrconv_command, verb):
    told = mrconv_command(verb, "--help")
    assert told.code == 0
    assert told.out.startswith(f"usage: mrconv {verb}")


def test_help_names_every_verb(mrconv_command):
    out = mrconv_command("--help").out
    assert "mrconv predict runs/demo/model digits.csv" in out
    for verb in cli.VERBS:
        assert f"\n    {verb} " in out


def test_version(mrconv_command):
    assert mrconv_command("--version").out == f"mrconv {mrconv.__version__}\n"


def test_as_a_module():
    command = [sys.executable, "-m", "mrconv", "--version"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout == f"mrconv {mrconv.__version__}\n"


@pytest.mark.parametrize("words", [[], ["predct"], ["predict"], ["merge", "x"], ["--nothing"]])
def test_wrong_words(mrconv_command, words):
    told = mrconv_command(*words)
    assert told.code == 2
    assert told.err.startswith("usage: mrconv")


@pytest.mark.parametrize("verb", [("predict", "x.npy"), ("verify",), ("inspect",), ("merge", "-o")])
def test_a_model_that_is_not_there(mrconv_command, tmp_path, verb):
    path = tmp_path / "nothing"
    words = [verb[0], path, *verb[1:]] + ([tmp_path / "out"] if "-o" in verb else [])
    told = mrconv_command(*words)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        f"error: load: a model must be a folder; got {path}, which does not exist. "
        "Check the path, or train one with: mrconv train mnist\n"
    )


# what main makes of what a verb does


@pytest.fixture
def verb_that(monkeypatch):
    """Puts another function in the place of the verb ``inspect``."""

    def replace(answer):
        def run(args):
            if isinstance(answer, BaseException):
                raise answer
            return answer

        monkeypatch.setattr("mrconv.cli.inspect.run", run)

    return replace


@pytest.mark.parametrize("answer", [0, 1, True, False])
def test_exit_code_is_the_verbs(mrconv_command, verb_that, answer):
    verb_that(answer)
    code = mrconv_command("inspect", "model").code
    assert code == int(answer)
    assert type(code) is int


@pytest.mark.parametrize("error", [ArgumentError, MissingExtraError])
def test_a_mistake_is_one_line(mrconv_command, verb_that, error):
    verb_that(error("this must hold; got that. Do so."))
    told = mrconv_command("inspect", "model")
    assert (told.code, told.out) == (2, "")
    assert told.err == "error: this must hold; got that. Do so.\n"


def test_an_error_of_the_system_is_one_line(mrconv_command, verb_that):
    verb_that(IsADirectoryError(21, "Is a directory", "runs"))
    told = mrconv_command("inspect", "model")
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        "error: inspect: files must be readable and writable; "
        "got [Errno 21] Is a directory: 'runs'. Check path, permissions and space.\n"
    )


def test_interruption(mrconv_command, verb_that):
    verb_that(KeyboardInterrupt())
    told = mrconv_command("inspect", "model")
    assert (told.code, told.err) == (130, "interrupted\n")


def test_a_reader_that_left(mrconv_command, verb_that, monkeypatch):
    verb_that(BrokenPipeError())
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert mrconv_command("inspect", "model").code == 1


def test_an_error_that_is_ours_is_not_hidden(mrconv_command, verb_that):
    verb_that(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        mrconv_command("inspect", "model")
