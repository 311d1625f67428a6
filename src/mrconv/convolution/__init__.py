"""Long convolution by FFT in cache-sized blocks, the same calls for every layer.

``long`` has the function, ``operator`` its blocked form with the gradient, ``shifts`` the form for
few taps, ``blocks`` and ``layout`` what they share.
"""

from .blocks import channel_blocks, run_blocks
from .layout import circular, fast_length
from .long import Method, long_convolution

__all__ = [
    "Method",
    "channel_blocks",
    "circular",
    "fast_length",
    "long_convolution",
    "run_blocks",
]
