"""``python -m mrconv.bench.fresh STEP THREADS SETTING``: bytes that one training step needs.

Started by ``memory.peak_memory``; SETTING is JSON.
"""

import json
import sys
from dataclasses import replace
from typing import get_args

import torch

from .branch_steps import Setting, StepName, make_step
from .memory import rise_in_memory

__all__ = ["main"]

TINY = (2, 4, 64)


def main(words: list[str]) -> int:
    """Takes a tiny step to warm up, then measures the first one at full size.

    Args:
        words: Name of the step, threads, and a setting.

    Returns:
        Bytes above the state in which parameters and inputs were made.
    """
    name, threads, content = words
    torch.set_num_threads(int(threads))
    setting = _setting(json.loads(content))
    step = next(known for known in get_args(StepName) if known == name)
    make_step(step, replace(setting, shape=TINY, kernel_size=min(setting.kernel_size, 8)))()
    return rise_in_memory(make_step(step, setting), setting.device)


def _setting(content: dict[str, object]) -> Setting:
    return Setting(**{**content, "shape": tuple(content["shape"])})  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.stdout.write(f"{main(sys.argv[1:])}\n")
