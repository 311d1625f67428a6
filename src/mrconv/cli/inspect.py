"""``mrconv inspect``: what a model is made of."""

import argparse
from pathlib import Path

HELP = "show a model's layers, kernels, parameters, receptive field and operations"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument(
        "model",
        help="folder of a saved model, or its name on the Hub; or mrconvnext_tiny, _small, _base",
    )
    parser.add_argument("--html", metavar="FILE", help="write a page with pictures of the kernels")
    parser.add_argument(
        "--picture",
        metavar="FILE",
        help="draw the weight of each time scale and the kernels' frequencies, .svg or .png",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the table, writes the page and draws the picture."""
    import mrconv

    from ..bench.picture import check_picture
    from ..models.summary import summarize

    if args.picture:
        check_picture(args.picture)
    if args.model.startswith("mrconvnext_") and not Path(args.model).exists():
        return _tell_vision(args)
    model = mrconv.load(args.model)
    summary = summarize(model)
    head = ("layer", "form", "kernel", "resolutions", "taps", "parameters", "operations (M)")
    rows = [
        (
            layer.name,
            layer.kind,
            layer.kernel,
            "-" if layer.resolutions is None else str(layer.resolutions),
            f"{layer.num_taps}{'' if layer.causal else ' a side'}",
            f"{layer.parameters:,}",
            f"{layer.operations / 1e6:.2f}",
        )
        for layer in summary.layers
    ]
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
    frame = model.expects.frame
    unit = "samples" if frame == 1 else f"steps of {frame} samples"
    print(f"parameters: {summary.parameters:,}")
    print(
        f"receptive field: {summary.receptive_field:,} {unit} "
        f"({summary.past:,} past, {summary.future:,} future)"
    )
    print(f"operations: {summary.operations / 1e6:,.1f} million for {summary.length:,} {unit}")
    if args.html:
        _write_page(args.html, model, args.model)
    if args.picture:
        _write_picture(args.picture, model)
    return 0


def _tell_vision(args: argparse.Namespace) -> int:
    """The tables of a network of images, which needs no file."""
    from ..errors import ArgumentError

    for option in ("html", "picture"):
        if getattr(args, option):
            raise ArgumentError(
                f"inspect: {option} must be left out for a network of images, which has no trained "
                f"kernels to draw; got --{option} {getattr(args, option)}. Leave it out."
            )
    from ..models.convnext.summary import summary_lines

    print("\n".join(summary_lines(args.model)))
    return 0


def _write_page(path: str, model, name: str) -> None:  # type: ignore[no-untyped-def]
    from ..experiments.portrait import add_portrait
    from ..report import Page, write_page

    page = add_portrait(Page(f"{type(model).__name__}: {name}"), model)
    page.section("Repeat").code(f"mrconv inspect {name} --html {path}")
    print(f"page: {write_page(path, page)}")


def _write_picture(path: str, model) -> None:  # type: ignore[no-untyped-def]
    from ..bench.picture import write_picture
    from ..experiments.portrait import time_scales_of

    write_picture(path, time_scales_of(model))
    print(f"picture: {path}")
