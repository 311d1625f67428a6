"""How far two computations of one thing may differ, by precision, and the comparison itself."""

import torch
from torch import Tensor

__all__ = ["TOLERANCES", "assert_close", "relative_difference"]

#: Largest relative difference in norm between two forms of one layer, by the lower precision.
TOLERANCES: dict[torch.dtype, float] = {
    torch.float64: 1e-10,
    torch.float32: 1e-5,
    torch.bfloat16: 2e-2,
    torch.float16: 4e-3,
}


def relative_difference(got: Tensor, expected: Tensor) -> float:
    """||got - expected|| / ||expected||, in float64; the absolute norm where expected is 0.

    Args:
        got: Any shape.
        expected: Of the same shape.

    Returns:
        The difference; 0 for empty tensors.

    Example:
        >>> import torch
        >>> from mrconv.testing import relative_difference
        >>> relative_difference(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
        0.0
    """
    got, expected = got.detach().double(), expected.detach().double()
    size = float(expected.norm())
    return float((got - expected).norm()) / (size if size > 0 else 1.0)


def assert_close(got: Tensor, expected: Tensor, tolerance: float | None = None) -> None:
    """Asserts equal shapes and a relative difference in norm within the tolerance.

    Args:
        got: Result under test.
        expected: What it should be.
        tolerance: Largest relative difference; None takes that of the lower precision of the two.

    Raises:
        AssertionError: If shapes differ, or values by more, or any difference is not a number.
    """
    assert got.shape == expected.shape, f"shapes {tuple(got.shape)} and {tuple(expected.shape)}"
    if tolerance is None:
        tolerance = max(TOLERANCES[got.dtype], TOLERANCES[expected.dtype])
    difference = relative_difference(got, expected)
    assert difference <= tolerance, f"relative difference {difference:.2e} above {tolerance:.0e}"
