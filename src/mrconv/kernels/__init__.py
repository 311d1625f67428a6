"""Kernels: modules that make the taps of one resolution."""

from .base import Branch, Kernel, branch
from .dense import DenseKernel
from .dilated import DilatedKernel
from .fourier import FourierKernel
from .implicit import ImplicitKernel
from .mixture import MixtureKernel
from .registry import KERNELS, KernelFactory, KernelName, kernel_factory
from .sparse import SparseKernel

__all__ = [
    "KERNELS",
    "Branch",
    "DenseKernel",
    "DilatedKernel",
    "FourierKernel",
    "ImplicitKernel",
    "Kernel",
    "KernelFactory",
    "KernelName",
    "MixtureKernel",
    "SparseKernel",
    "branch",
    "kernel_factory",
]
