"""Further examples of movement: the same recording worn, paced and placed a little otherwise."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["varied_window"]

#: Most that a copy differs by: turn of the wrist in degrees, share of the speed and of the size.
TURN, SPEED, SIZE = 25.0, 0.2, 0.1


def varied_window(
    recording: NDArray[np.float64], start: int, length: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """A window of a recording, at another speed and from a sensor that sits at another angle.

    w[t] = c R u(s + v t),   rates of rotation times v

    with u interpolated linearly, a speed v from 0.8 to 1.2, a size c from 0.9 to 1.1, one rotation
    R by up to 25 degrees about a random axis for acceleration and rates of rotation alike, and a
    start s up to a quarter of a window away, all uniform.

    Args:
        recording: Acceleration and rates of rotation.                    (L, 6)
        start: Of the window that is varied, in samples.
        length: Samples of a window, at most L.
        random: Where the numbers come from.

    Returns:
        The window.                                                       (length, 6)

    Example:
        >>> import numpy as np
        >>> recording = np.random.default_rng(0).normal(size=(40, 6))
        >>> varied_window(recording, 4, 32, np.random.default_rng(1)).shape
        (32, 6)
    """
    longest = len(recording) - 1
    speed = 1 + random.uniform(-SPEED, SPEED)
    if length > 1:
        speed = min(speed, longest / (length - 1))  # no sample from behind the end
    first = start + random.uniform(-length / 4, length / 4)
    first = min(max(first, 0.0), longest - speed * (length - 1))
    times = np.clip(first + speed * np.arange(length), 0, longest)
    window = np.stack([np.interp(times, np.arange(longest + 1), one) for one in recording.T], 1)
    turned = window.reshape(length, 2, 3) @ _rotation(random).T  # acceleration, rates of rotation
    turned[:, 1] *= speed
    return turned.reshape(length, 6) * (1 + random.uniform(-SIZE, SIZE))


def _rotation(random: np.random.Generator) -> NDArray[np.float64]:
    """A rotation by up to ``TURN`` degrees about any axis, by the formula of Rodrigues.  (3, 3)."""
    x, y, z = (axis := random.normal(size=3)) / np.linalg.norm(axis)
    angle = np.deg2rad(random.uniform(-TURN, TURN))
    across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turn: NDArray[np.float64] = (
        np.eye(3) + np.sin(angle) * across + (1 - np.cos(angle)) * across @ across
    )
    return turn
