"""Peak memory of generation, taken in a process of its own."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

import torch

from .generate_models import VOCABULARY, Sizes, StreamName, make_stream, merged_hyena
from .generate_runs import ROOM, Again, Generating, Prompt
from .memory import bytes_told, rise_in_memory

__all__ = ["AGAIN", "EXACT", "Memory", "RunName", "peak_bytes", "rise"]

RunName = StreamName | Literal["Hyena, run again"]
AGAIN: Literal["Hyena, run again"] = "Hyena, run again"
EXACT: StreamName = "Hyena, exact stream"

TINY = 32  # tokens that warm up libraries, threads and FFT plans


@dataclass(frozen=True)
class Memory:
    """What is generated.

    Args:
        sizes: Of the model.
        context: Tokens of the prompt.
        batch: B.
    """

    sizes: Sizes
    context: int
    batch: int


def peak_bytes(name: RunName, setting: Memory) -> int:
    """Peak memory of reading a prompt and generating, above that of the model.

    A fresh process does so with a tiny prompt first, so that libraries and FFT plans are there. The
    prompt is read by one row and its memory repeated for the others; then tokens are generated, for
    an exact stream one with the largest tile.

    Args:
        name: What generates.
        setting: Sizes.

    Returns:
        Bytes.

    Raises:
        subprocess.CalledProcessError: If the process fails, as when memory does not suffice.
    """
    words = [name, str(torch.get_num_threads()), json.dumps(asdict(setting))]
    return bytes_told([sys.executable, "-m", "mrconv.bench.fresh_generate", *words])


def rise(name: RunName, setting: Memory) -> int:
    """The same in this process.

    Args:
        name: What generates.
        setting: Sizes.

    Returns:
        Bytes.
    """
    call = _generation(name, setting)
    call(TINY, 1)
    return rise_in_memory(lambda: call(setting.context, setting.batch))


def _generation(name: RunName, setting: Memory) -> Callable[[int, int], object]:
    """What generates, of a context and a batch; the model is there."""
    sizes = setting.sizes
    if name == AGAIN:
        model = merged_hyena(sizes)
        return lambda context, batch: Again(model, context, batch, sizes.seed).step()
    stream = make_stream(name, sizes, max(setting.context, TINY) + ROOM)

    def generate(context: int, batch: int) -> None:
        generating = Generating(Prompt(stream, context, VOCABULARY, sizes.seed), batch)
        generating.step()
        generating.step_to(context)  # which is due for the largest tile

    return generate
