"""Layers and blocks: (B, D, L) in, (B, D, L) out."""

from .attention import Attention
from .block import ResidualBlock
from .keep_resolutions import keep_resolutions
from .kernel_conv import KernelConv
from .long_conv import LongConv
from .mr_arguments import num_resolutions
from .mr_conv import MRConv
from .norm import ChannelNorm, MaskedBatchNorm
from .recurrence import ModalRecurrence
from .reparameterize import Check, reparameterize

__all__ = [
    "Attention",
    "ChannelNorm",
    "Check",
    "KernelConv",
    "LongConv",
    "MRConv",
    "MaskedBatchNorm",
    "ModalRecurrence",
    "ResidualBlock",
    "keep_resolutions",
    "num_resolutions",
    "reparameterize",
]
