"""Kernels: modules that make the taps of one resolution."""

from .base import Branch, Kernel, branch
from .dense import DenseKernel
from .dilated import DilatedKernel
from .dplr import S4Kernel
from .exponentials import ExponentialKernel, modal_taps
from .fourier import FourierKernel
from .implicit import HyenaKernel, ImplicitKernel
from .interpolated import InterpolatedKernel
from .mixture import MixtureKernel
from .modal import ModalKernel, S4DKernel
from .multires import MultiresKernel
from .registry import (
    KERNELS,
    LONG_KERNELS,
    KernelFactory,
    KernelName,
    LongKernelName,
    kernel_factory,
)
from .siren import SirenKernel
from .sparse import SparseKernel

__all__ = [
    "KERNELS",
    "LONG_KERNELS",
    "Branch",
    "DenseKernel",
    "DilatedKernel",
    "ExponentialKernel",
    "FourierKernel",
    "HyenaKernel",
    "ImplicitKernel",
    "InterpolatedKernel",
    "Kernel",
    "KernelFactory",
    "KernelName",
    "LongKernelName",
    "MixtureKernel",
    "ModalKernel",
    "MultiresKernel",
    "S4DKernel",
    "S4Kernel",
    "SirenKernel",
    "SparseKernel",
    "branch",
    "kernel_factory",
    "modal_taps",
]
