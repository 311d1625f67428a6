"""Peak memory, that of one training step in a process of its own, and what is left."""

import ctypes
import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch

from .branch_steps import Setting, StepName
from .timing import Spread, spread

__all__ = ["available_memory", "bytes_told", "peak_memory", "rise_in_memory"]

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
WHOLE = Path("/proc/meminfo")


def rise_in_memory(call: Callable[[], object], device: str = "cpu") -> int:
    """How far memory rises above its present state while something runs.

    On a GPU that is what torch has allocated there, on a CPU the resident memory of the process.
    Linux can forget an earlier peak; elsewhere a peak before, if higher, hides this one.

    Args:
        call: What runs; its result is dropped.
        device: "cpu" or "cuda".

    Returns:
        Bytes, 0 or more.
    """
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    _give_back_freed_memory()
    _forget_peak()
    before = _resident()
    call()
    return max(_peak() - before, 0)


def _give_back_freed_memory() -> None:
    """Else a step that reuses what was freed before would seem to need nothing."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        pass  # a C library without it


def _forget_peak() -> None:
    try:
        CLEAR.write_text("5")
    except OSError:
        pass  # not Linux, or not allowed


def _resident() -> int:
    return _status("VmRSS") or _peak()


def _peak() -> int:
    # ru_maxrss stays at an earlier peak; it is in kB on Linux, in bytes on a Mac
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(name: str, where: Path = STATUS) -> int | None:
    try:
        found = re.search(rf"^{name}:\s+(\d+) kB$", where.read_text(), re.MULTILINE)
    except OSError:
        return None
    return 1024 * int(found[1]) if found else None


def available_memory() -> int | None:
    """What the machine can still give without swapping, in bytes; None where it does not tell."""
    return _status("MemAvailable", WHOLE)


def peak_memory(contestant: StepName, setting: Setting, processes: int = 3) -> Spread:
    """Peak memory of one training step above that of its parameters and inputs.

    A fresh process takes a step at a tiny shape, so that libraries, threads and FFT plans are
    there, then makes the inputs, then measures the first step at full size. Memory is that of the
    system's own allocator, whose waste differs by some percent from process to process.

    Args:
        contestant: Whose step.
        setting: Its sizes.
        processes: How many take it, one after the other.

    Returns:
        Median and quartiles, in bytes.

    Raises:
        subprocess.CalledProcessError: If the process fails, as when memory does not suffice.
    """
    words = [contestant, str(torch.get_num_threads()), json.dumps(asdict(setting))]
    command = [sys.executable, "-m", "mrconv.bench.fresh", *words]
    return spread([bytes_told(command) for _ in range(processes)])


def bytes_told(command: list[str]) -> int:
    """The number that a command prints.

    Args:
        command: Words of a process that measures its own memory.

    Returns:
        Bytes.

    Raises:
        subprocess.CalledProcessError: If the process fails.
    """
    return int(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
