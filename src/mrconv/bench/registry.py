"""Names of the benches and the functions that list their cases."""

from collections.abc import Callable
from typing import Literal

from .branches import branch_cases
from .cases import Case, Options
from .conv import conv_cases
from .distill import distill_cases
from .generate import generate_cases
from .layers import layer_cases
from .stream import stream_cases
from .vision import vision_cases

__all__ = ["BENCHES", "BenchName"]

BenchName = Literal["conv", "branches", "layers", "stream", "distill", "generate", "vision"]

BENCHES: dict[BenchName, Callable[[Options], list[Case]]] = {
    "conv": conv_cases,
    "branches": branch_cases,
    "layers": layer_cases,
    "stream": stream_cases,
    "distill": distill_cases,
    "generate": generate_cases,
    "vision": vision_cases,
}
