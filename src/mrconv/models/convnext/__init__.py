"""MRConvNeXt: timm's ConvNeXt with long convolutions over the maps. Needs the extra vision.

Importing this registers nothing with timm; ``register`` does.
"""

from ..._checks import needs_extra

with needs_extra("convnext", "vision"):
    from .convert import Scanning, convert
    from .entrypoints import NAMES, MRConvNeXt, register
    from .sizes import kernel_sizes_for

__all__ = ["NAMES", "MRConvNeXt", "Scanning", "convert", "kernel_sizes_for", "register"]
