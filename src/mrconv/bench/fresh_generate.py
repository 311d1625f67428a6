"""``python -m mrconv.bench.fresh_generate NAME THREADS SETTING``: bytes that generation needs.

Started by ``generate_memory.peak_bytes``; SETTING is JSON.
"""

import json
import sys
from dataclasses import replace

import torch

from .generate_memory import Memory, rise
from .generate_models import Sizes

__all__ = ["main"]


def main(words: list[str]) -> int:
    """Measures what ``peak_bytes`` asks for.

    Args:
        words: Name, threads, and a setting.

    Returns:
        Bytes.
    """
    name, threads, content = words
    torch.set_num_threads(int(threads))
    setting = Memory(**json.loads(content))
    setting = replace(setting, sizes=Sizes(**setting.sizes))  # type: ignore[arg-type]
    return rise(name, setting)  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.stdout.write(f"{main(sys.argv[1:])}\n")
