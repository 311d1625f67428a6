"""Kernel names, the classes they stand for, and mixtures of them."""

from collections.abc import Callable
from typing import Literal, Protocol

import torch

from .._checks import nearest
from ..errors import ArgumentError, DtypeError
from .base import Kernel
from .dense import DenseKernel
from .dilated import DilatedKernel
from .dplr import S4Kernel
from .fourier import FourierKernel
from .implicit import HyenaKernel, ImplicitKernel
from .interpolated import InterpolatedKernel
from .mixture import MixtureKernel
from .modal import ModalKernel, S4DKernel
from .multires import MultiresKernel
from .siren import SirenKernel
from .sparse import SparseKernel

__all__ = [
    "KERNELS",
    "LONG_KERNELS",
    "KernelFactory",
    "KernelName",
    "LongKernelName",
    "kernel_factory",
]

KernelName = Literal["dense", "fourier", "dilated", "sparse", "implicit", "modal"]
LongKernelName = Literal["s4d", "sgconv", "implicit", "dense", "s4", "multires", "ckconv"]


class KernelFactory(Protocol):
    """Anything that makes the kernel of one resolution and side: a class or a function."""

    def __call__(
        self,
        channels: int,
        kernel_size: int,
        resolution: int,
        /,
        *,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> Kernel:
        """Makes one kernel."""
        ...


KERNELS: dict[KernelName, KernelFactory] = {
    "dense": DenseKernel,
    "fourier": FourierKernel,
    "dilated": DilatedKernel,
    "sparse": SparseKernel,
    "implicit": ImplicitKernel,
    "modal": ModalKernel,
}

#: Kernels that are a whole layer by themselves; each takes its length as ``kernel_size``.
LONG_KERNELS: dict[LongKernelName, KernelFactory] = {
    "s4d": S4DKernel,
    "sgconv": InterpolatedKernel,
    "implicit": HyenaKernel,
    "dense": DenseKernel,
    "s4": S4Kernel,
    "multires": MultiresKernel,
    "ckconv": SirenKernel,
}


def kernel_factory(kernel: str | Callable[..., Kernel]) -> Callable[..., Kernel]:
    """The maker of kernels that a name, names joined by +, or a callable stands for.

    Args:
        kernel: A ``KernelName``, several joined by "+" (a mixture), or a callable
            ``(channels, kernel_size, resolution, *, device, dtype) -> Kernel``.

    Returns:
        A callable of that signature.

    Raises:
        ArgumentError: If a name is unknown.
        DtypeError: If it is neither text nor callable.

    Example:
        >>> from mrconv.kernels import kernel_factory
        >>> kernel_factory("fourier+sparse")(2, 4, 1, device=None, dtype=None).span
        8
    """
    if callable(kernel):
        return kernel
    if not isinstance(kernel, str):
        raise DtypeError(
            f"kernel: must be a name or a callable; got {type(kernel).__name__}. "
            "Pass a name such as 'fourier', or a Kernel class."
        )
    makers = [_named(name) for name in kernel.split("+")]
    if len(makers) == 1:
        return makers[0]

    def mixture(
        channels: int,
        kernel_size: int,
        resolution: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> Kernel:
        sizes = (channels, kernel_size, resolution)
        parts = [make(*sizes, device=device, dtype=dtype) for make in makers]
        return MixtureKernel(parts, device=device, dtype=dtype)

    return mixture


def _named(name: str) -> KernelFactory:
    for known, factory in KERNELS.items():
        if name == known:
            return factory
    allowed = ", ".join(repr(known) for known in KERNELS)
    raise ArgumentError(
        f"kernel: must be one of {allowed}, or several joined by +; got {name!r}. "
        f"{nearest(name, KERNELS)}"
    )
