"""Streaming: every trained module sample by sample or chunk by chunk, exactly."""

from .gather import GatherStepper
from .partitioned import FlatStepper, PartitionedStepper
from .pieces import Dense, Piece, Spikes, Window, kernel_pieces
from .state import State
from .stepper import Cost, DenseName, Settings, Stepper, make_stepper
from .tiled import TiledStepper
from .windowed import WindowedStepper

__all__ = [
    "Cost",
    "Dense",
    "DenseName",
    "FlatStepper",
    "GatherStepper",
    "PartitionedStepper",
    "Piece",
    "Settings",
    "Spikes",
    "State",
    "Stepper",
    "TiledStepper",
    "Window",
    "WindowedStepper",
    "kernel_pieces",
    "make_stepper",
]
