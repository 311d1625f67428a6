"""Conformance suites and oracles: for the tests of mrconv, and for kernels of your own."""

from .cases import settled
from .kernel_contract import KernelContract
from .oracles import (
    branch_taps,
    direct_convolution,
    fourier_series,
    layer_output,
    textbook_branches,
)
from .stream_contract import StreamContract
from .tolerances import TOLERANCES, assert_close, relative_difference

__all__ = [
    "TOLERANCES",
    "KernelContract",
    "StreamContract",
    "assert_close",
    "branch_taps",
    "direct_convolution",
    "fourier_series",
    "layer_output",
    "relative_difference",
    "settled",
    "textbook_branches",
]
