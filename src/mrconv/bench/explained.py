"""Why a bar is missed, where that is known: one sentence beside the number, in table and file."""

from dataclasses import replace

from .record import Row

__all__ = ["EXPLAINED", "with_explanation"]

#: Words that all stand in a row's name, and the sentence for it; the first that fits is taken.
EXPLAINED: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("attention / MultiHyena, distilled",),
        "Outer products of width 8 keep 36 MB of state in float64, 7 times Hyena's, and every "
        "token reads and writes all of it; attention reads a cache of 2,147 MB.",
    ),
    (
        ("random", "textbook / ours"),
        "Both run the same expression here; checking the arguments costs 10 to 20 microseconds, "
        "and beside a busy process a turn lost to it counts for much.",
    ),
    (
        ("textbook / ours",),
        "The gain is memory that is not faulted in anew; where glibc keeps what textbook freed, "
        "both run the same FFTs at the same speed.",
    ),
    (
        ("attention / merged MRConv",),
        "Of the block's 56 ms at 16,384 samples the convolution takes 24; the linear map, gate and "
        "norm that every block has take the rest.",
    ),
    (
        ("peak memory",),
        "Blocks of 2^20 numbers take about 30 MB of scratch a thread, which these activations of "
        "4 to 34 MB do not hide; with half the block the bar holds and the step takes 15 % longer.",
    ),
    (
        ("exact / LongConv",),
        "FFTs alone are 1 (dilated) to 2.8 times LongConv's, passes over spectra and float64 work "
        "without a batch axis the rest; see docs/performance.md.",
    ),
    (
        ("textbook / exact",),
        "Textbook is faster here than where the bar was set: 1.6 s against 2.3 s on one thread at "
        "(16, 64, 4096) with kernel size 4, while exact steps cost 165 ms against 150 ms.",
    ),
)


def with_explanation(row: Row) -> Row:
    """A row with the sentence for its miss.

    Args:
        row: As measured.

    Returns:
        The same row where it has no bar, holds, or nothing is known.
    """
    for words, sentence in EXPLAINED:
        if row.holds is False and all(word in row.name for word in words):
            return replace(row, explained=sentence)
    return row
