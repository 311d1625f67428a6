"""Layers and blocks: (B, D, L) in, (B, D, L) out."""

from .attention import Attention
from .block import ResidualBlock
from .gated_conv import GatedConv
from .gated_mr_conv import GatedMRConv
from .hyena import Hyena, MultiHyena
from .keep_resolutions import keep_resolutions
from .kernel_conv import KernelConv
from .long_conv import LongConv
from .mr_arguments import num_resolutions
from .mr_branches import MRBranches
from .mr_conv import MRConv
from .norm import ChannelNorm, MaskedBatchNorm
from .recurrence import ModalRecurrence
from .reparameterize import Check, reparameterize
from .s5 import S5
from .scan_conv import ScanConv2d
from .short_conv import ShortConv

__all__ = [
    "S5",
    "Attention",
    "ChannelNorm",
    "Check",
    "GatedConv",
    "GatedMRConv",
    "Hyena",
    "KernelConv",
    "LongConv",
    "MRBranches",
    "MRConv",
    "MaskedBatchNorm",
    "ModalRecurrence",
    "MultiHyena",
    "ResidualBlock",
    "ScanConv2d",
    "ShortConv",
    "keep_resolutions",
    "num_resolutions",
    "reparameterize",
]
