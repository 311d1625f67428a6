"""``mrconv bench stream``: sample by sample and chunk by chunk, times, errors and real time."""

from collections.abc import Iterator

from ..report.length_panels import times_by_length
from .cases import Case, Options
from .picture import check_picture, write_picture
from .stream_audio import audio_cases
from .stream_errors import error_cases
from .stream_times import Curves, time_cases

__all__ = ["stream_cases"]


def stream_cases(options: Options) -> list[Case]:
    """The cases of the bench.

    Args:
        options: Seed, pace, picture.

    Returns:
        Cases of times, of errors and of sound, and one that draws the times.

    Raises:
        ArgumentError: If the picture is neither SVG nor PNG.
        MissingExtraError: If a picture is wanted and matplotlib is not installed.
    """
    if options.device != "cpu":
        return [Case("streams", lambda: ["  streams skipped, they are measured on the CPU only"])]
    if options.picture is not None:
        check_picture(options.picture)
    curves: Curves = {}
    return [
        *time_cases(curves, options),
        *error_cases(options),
        *audio_cases(options),
        Case("picture", lambda: _drawn(curves, options), closing=True),
    ]


def _drawn(curves: Curves, options: Options) -> Iterator[str]:
    if options.picture is not None and curves:
        write_picture(options.picture, times_by_length(curves))
        yield f"picture: {options.picture}"
