"""Channels in equal parts: heads of attention, groups of channels that share a filter."""

from .._checks import check_count
from ..errors import ArgumentError

__all__ = ["check_divides", "largest_divisor"]


def largest_divisor(number: int, most: int) -> int:
    """The largest number that divides ``number`` and is at most ``most``; at least 1.

    Example:
        >>> from mrconv.nn.heads import largest_divisor
        >>> largest_divisor(200, 64)
        50
    """
    return next(part for part in range(max(most, 1), 0, -1) if number % part == 0)


def check_divides(owner: str, name: str, value: int, channels: int) -> None:
    """Raises unless ``value`` is a whole number of at least 1 that divides the channels."""
    check_count(owner, name, value)
    if channels % value:
        raise ArgumentError(
            f"{owner}: {name} must divide channels={channels}; got {name}={value}. "
            f"Use {name}={largest_divisor(channels, value)}."
        )
