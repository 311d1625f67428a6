"""What a measurement ran on, without anything that names one machine."""

import importlib.metadata
import importlib.util
import os
import platform
import re
from pathlib import Path
from typing import Any

import torch

from .._version import __version__

__all__ = ["machine", "versions"]

PROCESSORS = Path("/proc/cpuinfo")
PACKAGES = ("torch", "numpy", "scipy")
OPTIONAL = ("timm", "torchvision")


def machine(device: str = "cpu") -> dict[str, Any]:
    """Processor, cores, memory, and the GPU where one is used.

    Args:
        device: "cpu" or "cuda".

    Returns:
        "cpu", "simd", "cores", "memory_gb" and, on a GPU, "gpu".
    """
    pinned = hasattr(os, "sched_getaffinity")
    found = {
        "cpu": _processor(),
        "simd": torch.backends.cpu.get_cpu_capability(),
        "cores": len(os.sched_getaffinity(0)) if pinned else os.cpu_count(),
        "memory_gb": _memory(),
    }
    return found if device == "cpu" else {**found, "gpu": torch.cuda.get_device_name()}


def _processor() -> str:
    try:
        names = re.findall(r"^model name\s*: (.+)$", PROCESSORS.read_text(), re.MULTILINE)
    except OSError:
        names = []
    return str(names[0]) if names else platform.machine()


def _memory() -> int | None:
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9)
    except (ValueError, OSError, AttributeError):  # a system that does not tell
        return None


def versions() -> dict[str, str]:
    """Versions of mrconv, Python and what the contestants are made of.

    Returns:
        By name.
    """
    found = [name for name in OPTIONAL if importlib.util.find_spec(name)]
    packages = {name: importlib.metadata.version(name) for name in (*PACKAGES, *found)}
    return {"mrconv": __version__, "python": platform.python_version(), **packages}
