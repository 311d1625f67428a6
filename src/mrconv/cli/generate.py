"""``mrconv generate``: text from a saved language model, printed as it is written."""

import argparse
import codecs
import os
import sys
from collections.abc import Callable
from typing import TextIO

HELP = "go on from a prompt with a language model of bytes, printed as it is written"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("model", help="folder of a saved model, or its name on the Hub")
    parser.add_argument(
        "prompt", nargs="?", default="", help="text to go on from; - reads it from standard input"
    )
    parser.add_argument(
        "--tokens", type=int, default=500, metavar="N", help="bytes to write (default 500)"
    )
    parser.add_argument(
        "--temperature", type=float, default=0.8, help="0: always the likeliest (default 0.8)"
    )
    parser.add_argument("--top-k", type=int, metavar="N", help="choose from the N likeliest only")
    parser.add_argument(
        "--top-p",
        type=float,
        default=1.0,
        metavar="P",
        help="choose from the likeliest that hold this share of the probability (default 1)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default 0")
    parser.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="end behind this text, once it is written; may be given several times",
    )
    parser.add_argument(
        "--form",
        choices=("exact", "recurrence"),
        default="exact",
        help="the exact stream, or recurrences: exact for modal kernels, distilled to 1 %% for "
        "others, which takes a while first (default exact)",
    )


def run(args: argparse.Namespace) -> int:
    """Prints what the model writes: whole characters on a terminal, bytes as they are elsewhere."""
    import mrconv

    model = mrconv.load(args.model)
    if not isinstance(model, mrconv.LanguageModel):
        raise mrconv.errors.ArgumentError(
            f"generate: the model must be a LanguageModel; got a {type(model).__name__}. "
            "Train one: mrconv train shakespeare"
        )
    prompt = sys.stdin.buffer.read() if args.prompt == "-" else os.fsencode(args.prompt)
    write, finish = _writers(sys.stdout)
    model.generate(
        prompt,
        args.tokens,
        temperature=args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        seed=args.seed,
        stop=[os.fsencode(text) for text in args.stop],
        form=args.form,
        callback=lambda row, token: write(bytes([token])),
    )
    finish()
    return 0


def _writers(stream: TextIO) -> tuple[Callable[[bytes], None], Callable[[], None]]:
    """What takes each byte, and what is called behind the last one."""
    if not stream.isatty():
        return lambda data: _put(stream, data), lambda: None
    # A character may take several bytes; bytes that are none are replaced, for display only.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def show(text: str) -> None:
        stream.write(text)
        stream.flush()

    return (
        lambda data: show(decoder.decode(data)),
        lambda: show(decoder.decode(b"", final=True) + "\n"),
    )


def _put(stream: TextIO, data: bytes) -> None:
    stream.buffer.write(data)
    stream.buffer.flush()
