"""Random ListOps expressions, thousands at once: level by level, then as text."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .._checks import check_count
from ..errors import ArgumentError
from .random_streams import Keys, below, drawn

__all__ = ["OPERATORS", "Grammar", "Level", "expression_lines", "random_expressions"]

Integers = NDArray[np.int64]
#: Their numbers are used below. Four bytes each: behind "[SM" a blank stands in any case.
OPERATORS = ("[MIN", "[MAX", "[MED", "[SM ")
NAMES = np.array([list(name.encode()) for name in OPERATORS], np.uint8)
MIN, MAX, MED, SM = range(4)
OPEN, CLOSE, END, ZERO, BLANK = b"()]0 "


@dataclass(frozen=True)
class Grammar:
    """Which expressions are drawn, and which of them are kept.

    A node is an operator with probability 1/4, at the largest depth never, and else a digit. An
    operator has 2 to ``max_args`` arguments, each such a node one level deeper. Every choice is
    without preference. An expression's length is 1 for a digit and 2 for an operator, its name and
    its closing bracket; it is kept where min_length < length < max_length.

    Args:
        max_depth: Levels; operators are nested one less deep.
        max_args: Arguments of an operator, at most.
        min_length: Kept expressions are longer.
        max_length: Kept expressions are shorter.

    Raises:
        ArgumentError: If a number is too small, or no expression could be kept.
        DtypeError: If one is not a whole number.

    Source: Tay et al. 2021 (Long Range Arena), whose numbers are the defaults.
    """

    max_depth: int = 10
    max_args: int = 10
    min_length: int = 500
    max_length: int = 2000

    def __post_init__(self) -> None:
        for name, least in (
            ("max_depth", 1),
            ("max_args", 2),
            ("min_length", 0),
            ("max_length", 1),
        ):
            check_count("ListOps", name, getattr(self, name), least)
        longest = 1
        for _ in range(self.max_depth - 1):
            longest = 2 + self.max_args * longest
        # an operator of two digits, the shortest but one, has length 4
        shortest = 1 if self.min_length < 1 else max(self.min_length + 1, 4)
        if shortest > min(longest, self.max_length - 1):
            raise ArgumentError(
                "ListOps: an expression must fit between min_length and max_length; "
                f"got min_length={self.min_length}, max_length={self.max_length} where lengths "
                f"reach {longest}. Widen the bounds, or raise max_depth or max_args."
            )


@dataclass(frozen=True)
class Level:
    """Nodes of one depth, of many trees: sorted by tree, an operator's arguments side by side."""

    tree: Integers
    """Whose node it is."""
    args: Integers
    """Arguments; 0 for a digit."""
    symbol: Integers
    """The operator's number, or the digit."""

    def of(self, kept: NDArray[np.bool_], numbers: Integers) -> "Level":
        """The nodes of kept trees, which get new numbers."""
        mine = kept[self.tree]
        return Level(numbers[self.tree[mine]], self.args[mine], self.symbol[mine])


def random_expressions(keys: Keys, grammar: Grammar) -> list[Level]:
    """Draws one expression a key, and keeps those of a fitting length in the order of the keys.

    Args:
        keys: One for each expression that is tried.
        grammar: How nodes are drawn and which lengths are kept.

    Returns:
        The kept trees by level, the root's first; tree i is the i-th that was kept.

    Cost: O(nodes) of trees up to where they grow too long.
    """
    trees = np.arange(len(keys))
    tree, seen, length = trees, np.zeros_like(trees), np.zeros_like(trees)
    levels = []
    for depth in range(1, grammar.max_depth + 1):
        bits = drawn(keys[tree], seen[tree] + _ranks(np.bincount(tree, minlength=len(keys))))
        operator = (bits >> np.uint64(62) == 0) if depth < grammar.max_depth else bits < 0
        args = np.where(operator, 2 + below(bits, grammar.max_args - 1), 0)
        name = (bits >> np.uint64(60) & np.uint64(3)).astype(np.int64)
        levels.append(Level(tree, args, np.where(operator, name, below(bits, 10))))
        counts = np.bincount(tree, minlength=len(keys))
        seen = seen + counts
        length = length + counts + np.bincount(tree, operator, len(keys)).astype(np.int64)
        tree = np.repeat(tree, args)
        # every waiting argument adds at least 1
        waiting = np.bincount(tree, minlength=len(keys))
        tree = tree[(length + waiting < grammar.max_length)[tree]]
        length[length + waiting >= grammar.max_length] = grammar.max_length
    kept = (grammar.min_length < length) & (length < grammar.max_length)
    return [level.of(kept, np.cumsum(kept) - 1) for level in levels]


def expression_lines(levels: list[Level]) -> list[bytes]:
    """Every expression as a line of the published files: source, tab, value, CR and LF.

    An operator with its arguments is written as pairs nested to the left, each "( LEFT RIGHT )":
    ``[MAX 4 3 ]`` becomes ``( ( ( [MAX 4 ) 3 ) ] )``.

    Args:
        levels: As ``random_expressions`` gives them.
    """
    values, widths = _values(levels), _widths(levels)
    ends = np.cumsum(widths[0] + len("\t0\r\n"))
    starts = ends - widths[0] - len("\t0\r\n")
    text = np.full(ends[-1] if len(ends) else 0, BLANK, np.uint8)
    text[ends - 4], text[ends - 3], text[ends - 2], text[ends - 1] = (9, values + ZERO, 13, 10)
    for depth, level in enumerate(levels):
        operator = level.args > 0
        text[starts[~operator]] = level.symbol[~operator] + ZERO
        if not operator.any():
            break
        start, args = starts[operator], level.args[operator]
        text[np.repeat(start, args + 1) + 2 * _ranks(args + 1)] = OPEN
        inside = start + 2 * (args + 1)
        text[inside[:, None] + np.arange(4)] = NAMES[level.symbol[operator]]
        end = start + widths[depth][operator]
        text[end - 3], text[end - 1] = END, CLOSE
        below_width = widths[depth + 1] + len("  )")
        before = np.cumsum(below_width) - below_width  # of all arguments of this level
        first = np.cumsum(args) - args
        name = inside + 1 + _name_widths(level.symbol[operator])
        starts = np.repeat(name - before[first], args) + before
        text[starts + widths[depth + 1] + 1] = CLOSE
    whole = text.tobytes()
    bounds = [0, *ends.tolist()]
    return [whole[a:b] for a, b in pairwise(bounds)]


def _ranks(counts: Integers) -> Integers:
    """0, 1, ..., counts[0] - 1, 0, 1, ..., counts[1] - 1, and so on."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _name_widths(names: Integers) -> Integers:
    return np.where(names == SM, 3, 4)


def _widths(levels: list[Level]) -> list[Integers]:
    """Characters of every node's text, by level."""
    widths: list[Integers] = []
    for level in reversed(levels):
        operator = level.args > 0
        width = np.ones_like(level.args)
        if operator.any():
            args = level.args[operator]
            inner = np.add.reduceat(widths[-1] + len("  )"), np.cumsum(args) - args)
            name = _name_widths(level.symbol[operator])
            width[operator] = 2 * (args + 1) + name + inner + len(" ] )")
        widths.append(width)
    return widths[::-1]


def _values(levels: list[Level]) -> Integers:
    """Value of every root."""
    below: Integers = np.zeros(0, np.int64)
    for level in reversed(levels):
        operator = level.args > 0
        values = level.symbol.copy()
        if operator.any():
            args, name = level.args[operator], level.symbol[operator]
            first = np.cumsum(args) - args
            reduced = [f.reduceat(below, first) for f in (np.minimum, np.maximum, np.add)]
            by_name = [reduced[0], reduced[1], _medians(below, args), reduced[2] % 10]
            values[operator] = np.choose(name, by_name)
        below = values
    return below


def _medians(values: Integers, args: Integers) -> Integers:
    """Median of every run of values, halves cut off."""
    table = np.full((len(args), args.max()), 10)
    table[np.repeat(np.arange(len(args)), args), _ranks(args)] = values
    table.sort(1)
    rows = np.arange(len(args))
    return (table[rows, (args - 1) // 2] + table[rows, args // 2]) // 2
