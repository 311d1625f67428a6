"""A diagonal linear recurrence over a whole sequence at once, in real arithmetic."""

from typing import Any

import torch
from torch import Tensor

from ..kernels.exponentials import complex_product

__all__ = ["scan"]


def scan(b: Tensor, decay: Tensor, angle: Tensor) -> Tensor:
    """All states of x[t] = pole x[t - 1] + b[t], pole = exp(-decay + i angle), x[-1] = 0.

    After round r every state holds the inputs of the last 2^r samples, so that
    x <- x + pole^(2^r) x[. - 2^r] doubles its memory.

    Args:
        b: Real and imaginary parts of what enters.                (2, B, P, L)
        decay: Of each pole, a sample; in float64, so that high powers are exact.   (P,)
        angle: In rad a sample; as decay.                                  (P,)

    Returns:
        Real and imaginary parts of the states, in the dtype of b. (2, B, P, L)

    Cost: O(B P L log L) operations; memory for the gradient O(B P L).
    Source: Hillis and Steele 1986, for one operator at all times. The gradient is the same scan
    backwards in time with conjugate poles, and can be differentiated again.

    Example:
        >>> import torch
        >>> from mrconv.nn.scan import scan
        >>> halving = torch.tensor([2.0]).log()
        >>> scan(torch.tensor([[[[1.0, 0.0, 0.0]]], [[[0.0, 0.0, 0.0]]]]), halving, 0 * halving)[0]
        tensor([[[1.0000, 0.5000, 0.2500]]])
    """
    states: Tensor = _Scan.apply(b, decay, angle)
    return states


def _doubled(b: Tensor, decay: Tensor, angle: Tensor) -> Tensor:
    x, shift = b.clone(), 1
    while shift < x.shape[-1]:
        power = torch.exp(-shift * decay)
        real, imaginary = ((power * turn)[:, None].to(x.dtype) for turn in _turns(shift * angle))
        earlier = x[..., :-shift]
        carried = torch.stack(
            [
                real * earlier[0] - imaginary * earlier[1],
                real * earlier[1] + imaginary * earlier[0],
            ]
        )
        x[..., shift:] += carried
        shift *= 2
    return x


def _turns(angle: Tensor) -> tuple[Tensor, Tensor]:
    return angle.cos(), angle.sin()


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, b: Tensor, decay: Tensor, angle: Tensor) -> Tensor:
        x = _doubled(b, decay, angle)
        ctx.save_for_backward(x, decay, angle)
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, decay, angle = ctx.saved_tensors
        into = scan(gradient.flip(-1), decay, -angle).flip(-1)
        # of the pole: sum over rows and time of conj(x[t - 1]) into[t]
        before, later = x[..., :-1], into[..., 1:]
        real = (before[0] * later[0] + before[1] * later[1]).sum((0, -1), dtype=decay.dtype)
        imaginary = (before[0] * later[1] - before[1] * later[0]).sum((0, -1), dtype=decay.dtype)
        size = torch.exp(-decay)
        pole = torch.stack([size * angle.cos(), size * angle.sin()], -1)
        turned = complex_product(pole, torch.stack([real, -imaginary], -1))
        return into, -turned[..., 0], -turned[..., 1]
