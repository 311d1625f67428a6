"""Long convolution by FFT in cache-sized blocks, the same calls for every layer.

``long`` has the function, ``operator`` its blocked form with the gradient, ``shifts`` the form for
few taps, ``spectrum`` that for taps whose spectrum is known, ``outer`` that of outer products,
``blocks`` and ``layout`` what they share.
"""

from .blocks import for_each_block
from .layout import circular, fast_length
from .long import Method, long_convolution
from .outer import outer_convolution
from .spectrum import convolve_with, met_taps, taps_spectrum

__all__ = [
    "Method",
    "circular",
    "convolve_with",
    "fast_length",
    "for_each_block",
    "long_convolution",
    "met_taps",
    "outer_convolution",
    "taps_spectrum",
]
