"""How far outputs and gradients of exact statistics are from textbook branches in float64."""

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from ..nn import MRConv
from .branch_steps import Setting, gradients, make_input, make_layer, textbook_forward
from .record import Row

__all__ = ["error_rows", "largest_error"]

FLOAT32_BAR, FLOAT64_BAR = 20.0, 1e-9
# Textbook in float64 is slow and large; the errors are those of a whole batch to a factor near 1.
MOST_ROWS, MOST_CHANNELS = 4, 16


def error_rows(setting: Setting) -> Iterator[Row]:
    """Errors of one training step, at no more than 4 rows of 16 channels.

    Args:
        setting: Kernel and sizes.

    Yields:
        Of outputs and of gradients: float32 exact in units of float32 textbook, both against
        float64 textbook; and float64 exact against float64 textbook.
    """
    small = setting.within(MOST_ROWS, MOST_CHANNELS)
    reference = _step(small, _textbook, torch.float64)
    exact, textbook = (_step(small, form, torch.float32) for form in (_exact, _textbook))
    double = _step(small, _exact, torch.float64)
    for what, names in _groups(small, reference).items():
        name = f"{setting}, error of {what}"
        errors = [largest_error(one, reference, names) for one in (exact, textbook, double)]
        ratio = errors[0] / max(errors[1], torch.finfo(torch.float32).tiny)
        yield Row(
            f"{name}: exact / textbook, float32", ratio, "times", bar=FLOAT32_BAR, better="lower"
        )
        yield Row(f"{name}: exact, float64", errors[2], "relative", bar=FLOAT64_BAR, better="lower")


def largest_error(
    found: Mapping[str, Tensor], reference: Mapping[str, Tensor], names: list[str]
) -> float:
    """Largest relative difference in norm of any of some tensors.

    Args:
        found: Tensors by name.
        reference: The right ones, in float64.
        names: Which are compared.

    Returns:
        max over names of ||found - reference|| / ||reference||.
    """
    return max(
        float((found[name].double() - reference[name]).norm() / reference[name].norm())
        for name in names
    )


def _groups(setting: Setting, reference: Mapping[str, Tensor]) -> dict[str, list[str]]:
    """Names of what is compared. A kernel of one number has no gradient: BatchNorm cancels it."""
    degenerate = setting.kernel_size == 1
    names = [
        name
        for name in reference
        if name != "output" and not (degenerate and name.startswith("kernels."))
    ]
    return {"outputs": ["output"], "gradients": names}


def _step(
    setting: Setting,
    form: Callable[[MRConv], Callable[[Tensor], Tensor]],
    dtype: torch.dtype,
) -> dict[str, Tensor]:
    """One step of a layer and inputs that are the same float32 numbers in either precision."""
    layer = make_layer(setting).to(dtype)
    u, gradient = make_input(setting)
    u = u.detach().to(dtype).requires_grad_()
    return gradients(form(layer), layer, u, gradient.to(dtype))


def _exact(layer: MRConv) -> Callable[[Tensor], Tensor]:
    return layer


def _textbook(layer: MRConv) -> Callable[[Tensor], Tensor]:
    return lambda u: textbook_forward(layer, u)
