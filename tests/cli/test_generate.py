"""The verb against the library: what is written where, byte for byte."""

import io
import subprocess
import sys

import pytest
import torch

import mrconv

CLI = [sys.executable, "-c", "from mrconv.cli import main; raise SystemExit(main())"]


@pytest.fixture
def model():
    """Of bytes; writes all kinds of them."""
    mixer = {"kernel": "modal", "kernel_size": 4}
    backbone = mrconv.SequenceBackbone(257, 32, channels=8, depth=1, tokens=True, mixer=mixer)
    model = mrconv.LanguageModel(backbone, 256).eval()
    with torch.no_grad():
        model.bias.copy_(torch.randn(256))
    return model


def text(model, prompt, count, **settings):
    return bytes(model.generate(prompt, count, **settings)[0].tolist())


def run(*words, given=b""):
    return subprocess.run([*CLI, *map(str, words)], input=given, capture_output=True)


@pytest.mark.parametrize(
    ("words", "prompt", "count", "settings"),
    [
        (["To be"], b"To be", 500, {"temperature": 0.8}),
        ([], b"", 500, {"temperature": 0.8}),
        (["\u00e9", "--tokens", "9"], "\u00e9".encode(), 9, {"temperature": 0.8}),
        (
            ["a", "--tokens", 60, "--temperature", 2, "--top-k", 50, "--top-p", 0.9, "--seed", 4],
            b"a",
            60,
            {"temperature": 2.0, "top_k": 50, "top_p": 0.9, "seed": 4},
        ),
        (
            ["a", "--tokens", "60", "--form", "recurrence"],
            b"a",
            60,
            {"temperature": 0.8, "form": "recurrence"},
        ),
    ],
    ids=str,
)
def test_bytes_as_they_are(model, saved, words, prompt, count, settings):
    told = run("generate", saved, *words)
    assert (told.returncode, told.stderr) == (0, b"")
    assert told.stdout == text(model, prompt, count, **settings)
    assert len(told.stdout) == count


def test_a_prompt_from_standard_input_may_hold_any_bytes(model, saved):
    told = run("generate", saved, "-", "--tokens", "20", given=b"\xff\x00\n")
    assert told.stdout == text(model, b"\xff\x00\n", 20, temperature=0.8)


def test_stops(model, saved):
    free = text(model, b"a", 100, temperature=9.0)
    stop = next(bytes([byte]) for byte in free[5:] if 32 < byte < 127 and byte != ord("-"))
    words = ["--tokens", "100", "--temperature", "9", "--stop", "never", "--stop", stop.decode()]
    told = run("generate", saved, "a", *words)
    assert told.stdout == free[: free.index(stop) + 1]


class Terminal(io.StringIO):
    """Keeps what was there at every flush."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def isatty(self):
        return True

    def flush(self):
        self.seen.append(self.getvalue())


def test_a_terminal_shows_whole_characters_as_they_come(mrconv_command, saved, monkeypatch):
    written = b"a\xc3\xa9\xff\xe2\x82\xac\xe2"
    monkeypatch.setattr(
        mrconv.LanguageModel,
        "generate",
        lambda self, *_, callback, **__: [callback(0, byte) for byte in written],
    )
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert mrconv_command("generate", saved).code == 0
    steps = ["a", "a", "a\u00e9", "a\u00e9\ufffd", *["a\u00e9\ufffd"] * 2]
    steps += ["a\u00e9\ufffd\u20ac"] * 2 + ["a\u00e9\ufffd\u20ac\ufffd\n"]
    assert terminal.seen[: len(steps)] == steps


def test_another_model(mrconv_command, make_model, tmp_path):
    classifier = make_model().save_pretrained(tmp_path / "classifier")
    told = mrconv_command("generate", classifier, "a")
    sentence = (
        "error: generate: the model must be a LanguageModel; got a SequenceClassifier. "
        "Train one: mrconv train shakespeare\n"
    )
    assert (told.code, told.out, told.err) == (2, "", sentence)


def test_settings_out_of_range(mrconv_command, saved):
    told = mrconv_command("generate", saved, "a", "--top-p", "0")
    sentence = (
        "error: generate: top_p must be above 0 and at most 1; got 0.0. Use 1 to keep all tokens.\n"
    )
    assert (told.code, told.out, told.err) == (2, "", sentence)


def test_a_vocabulary_that_is_not_that_of_bytes(mrconv_command, tmp_path):
    backbone = mrconv.SequenceBackbone(6, 8, channels=4, depth=1, tokens=True)
    other = mrconv.LanguageModel(backbone, 5).save_pretrained(tmp_path / "other")
    told = mrconv_command("generate", other, "a")
    sentence = (
        "error: generate: prompts must be tokens, because the vocabulary of 5 is not that of "
        "bytes; got bytes. Pass a tensor of tokens.\n"
    )
    assert (told.code, told.out, told.err) == (2, "", sentence)
