"""``mrconv stream``: a model's answers while a recording is still coming in."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..data.contract import InputContract
    from ..data.sources import Source
    from ..models import SequenceModel
    from ..models.live import LiveModel
    from .stream_output import Output

HELP = "answer chunk by chunk while a WAV, CSV or NPY file, or a pipe, is read"

CHUNK_MS = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("model", help="folder of a saved model, or its name on the Hub")
    parser.add_argument(
        "input", help="one recording: .wav, .csv, .npy or .npz; - reads standard input"
    )
    pipe = parser.add_argument_group("standard input, and files without a header")
    pipe.add_argument(
        "--format",
        choices=("s16le", "f32le", "wav"),
        default="s16le",
        help="how samples on standard input are written (default s16le)",
    )
    pipe.add_argument("--rate", type=float, metavar="HZ", help="of the samples")
    pipe.add_argument(
        "--channels", type=int, metavar="N", help="values a sample (default: the model's)"
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--chunk-ms",
        type=float,
        metavar="MS",
        help="time between answers (default 20, where a rate is known)",
    )
    size.add_argument(
        "--chunk",
        type=int,
        metavar="N",
        help="samples between answers (default without a rate: a hundredth of the model's length)",
    )
    parser.add_argument(
        "--window",
        type=int,
        metavar="N",
        help="last samples, at the model's rate, that an answer is made of; 0: all "
        "(default: the length the model was trained at)",
    )
    parser.add_argument(
        "--realtime", action="store_true", help="at the pace of the samples (default: at once)"
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="tell which time scales carried each answer of a classifier; costs far more",
    )
    parser.add_argument(
        "--json", action="store_true", help="a JSON line a chunk (default where not on a terminal)"
    )
    parser.add_argument("--top", type=int, default=3, metavar="N", help="leading classes shown")
    parser.add_argument("--threads", type=int, metavar="N", help="of torch (default: torch's own)")


def run(args: argparse.Namespace) -> int:
    """Streams one recording; Ctrl-C ends it in order, with the summary of what was heard."""
    import torch

    import mrconv

    from .._checks import check_count
    from .stream_output import make_output

    check_count("stream", "top", args.top)
    check_count("stream", "window", args.window or 0, least=0)
    if args.threads is not None:
        check_count("stream", "threads", args.threads)
        torch.set_num_threads(args.threads)
    model = mrconv.load(args.model)
    with _opened(args, model.expects) as source:
        chunk = _chunk(args, source.rate or model.expects.sample_rate, model.expects.length)
        live = _live(args, model, source)
        output = make_output(live, chunk, top=args.top, as_json=args.json)
        try:
            return _told(args, live, source, chunk, output)
        except BrokenPipeError:
            return _reader_left(output)


def _told(
    args: argparse.Namespace, live: "LiveModel", source: "Source", chunk: int, output: "Output"
) -> int:
    from ..data.sources import paced

    blocks, code = source.blocks(chunk), 0
    if args.realtime:
        blocks = paced(blocks, _known_rate(live.input_rate, "--realtime"))
    live.warm_up(chunk)
    output.start()
    try:
        for answer in live.answers(blocks):
            output.answer(answer)
    except KeyboardInterrupt:
        code = 130
    output.finish()
    return code


@contextmanager
def _opened(args: argparse.Namespace, contract: "InputContract") -> "Iterator[Source]":
    from ..data.sources import file_source, pipe_source

    if args.input == "-":
        yield pipe_source(
            sys.stdin.buffer, args.format, contract, rate=args.rate, channels=args.channels
        )
        return
    with file_source(args.input, contract, args.rate) as source:
        yield source


def _chunk(args: argparse.Namespace, rate: float | None, length: int) -> int:
    """Samples of the source between answers."""
    from .._checks import check_count
    from ..errors import ArgumentError

    if args.chunk is not None:
        check_count("stream", "chunk", args.chunk)
        return int(args.chunk)
    if args.chunk_ms is None and rate is None:
        return max(1, length // 100)
    milliseconds = CHUNK_MS if args.chunk_ms is None else args.chunk_ms
    if not milliseconds > 0:
        raise ArgumentError(
            f"stream: chunk-ms must be above 0; got {milliseconds:g}. Pass a time in milliseconds."
        )
    return max(1, round(_known_rate(rate, "--chunk-ms") * milliseconds / 1000))


def _known_rate(rate: float | None, option: str) -> float:
    from ..errors import ArgumentError

    if rate is None:
        raise ArgumentError(
            f"stream: the rate of the samples must be known for {option}; got none from the "
            "input or the model. Add --rate, in Hz."
        )
    return rate


def _live(args: argparse.Namespace, model: "SequenceModel", source: "Source") -> "LiveModel":
    from ..models.live import LiveModel, training_window

    return LiveModel(
        model,
        rate=source.rate,
        window=training_window(model) if args.window is None else args.window or None,
        explain=args.explain,
    )


def _reader_left(output: "Output") -> int:
    """Ends in order where the reader of the output, such as head, is gone."""
    # what stands in the buffer goes nowhere, in place of raising once more when Python ends
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    print(
        f"stream: the output must have a reader; got one that left after {output.told} answers. "
        "What came before is whole.",
        file=sys.stderr,
    )
    return 1
