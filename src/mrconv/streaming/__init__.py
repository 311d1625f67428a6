"""Streaming: every trained module sample by sample or chunk by chunk, exactly."""

from .attention import AttentionStepper
from .block import BlockStepper
from .explanation import Explanation
from .gated_branches import GatedBranchesStepper
from .gather import GatherStepper
from .hyena import GatedStepper
from .layers import ConvolutionStepper
from .partitioned import FlatStepper, PartitionedStepper
from .pieces import Dense, Piece, Spikes, Window, kernel_pieces
from .pointwise import ChainStepper, PointwiseStepper
from .recurrent import RecurrentStepper
from .resample import Resampler, ResampleState
from .s5 import S5Stepper
from .state import State
from .stepper import Cost, DenseName, Settings, Stepper, make_stepper
from .streamer import Streamer
from .tiled import TiledStepper
from .windowed import WindowedStepper

__all__ = [
    "AttentionStepper",
    "BlockStepper",
    "ChainStepper",
    "ConvolutionStepper",
    "Cost",
    "Dense",
    "DenseName",
    "Explanation",
    "FlatStepper",
    "GatedBranchesStepper",
    "GatedStepper",
    "GatherStepper",
    "PartitionedStepper",
    "Piece",
    "PointwiseStepper",
    "RecurrentStepper",
    "ResampleState",
    "Resampler",
    "S5Stepper",
    "Settings",
    "Spikes",
    "State",
    "Stepper",
    "Streamer",
    "TiledStepper",
    "Window",
    "WindowedStepper",
    "kernel_pieces",
    "make_stepper",
]
