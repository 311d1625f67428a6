"""What generators of data share: a folder that knows its settings, and work on several cores."""

import json
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..errors import ArgumentError, FileError
from .writing import write_text

__all__ = ["GenerationProgress", "available_cores", "claim_folder", "in_order"]

SETTINGS = "generated.json"
Task = TypeVar("Task")
Result = TypeVar("Result")


class GenerationProgress(Protocol):
    """What a generator tells about itself while it runs."""

    def __call__(self, done: int, total: int) -> None:
        """At the start, and after every part.

        Args:
            done: Examples on disk, those of earlier runs included.
            total: Examples asked for.
        """
        ...


def claim_folder(owner: str, folder: Path, settings: Mapping[str, Any]) -> None:
    """Makes a folder for examples of these settings, or goes on with one that was made for them.

    Args:
        owner: First word of a message.
        folder: Where the examples go.
        settings: All that they depend on but their number, as plain values for JSON.

    Raises:
        FileError: If the folder holds other files, or examples made with other settings.
    """
    file, settings = folder / SETTINGS, json.loads(json.dumps(settings))
    if not file.exists():
        others = sorted(entry.name for entry in folder.glob("[!.]*"))
        if others:
            raise FileError(
                f"{owner}: {folder} must be empty, or hold examples that were generated there; "
                f"got {others[0]} without {SETTINGS}. Choose another folder."
            )
        write_text(file, json.dumps(settings, indent=1) + "\n")
        return
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        found.keys()
    except (ValueError, AttributeError):
        raise FileError(
            f"{owner}: {file} must hold the settings of a generated set; got other text. "
            "Choose another folder."
        ) from None
    for name in {**settings, **found}:
        if found.get(name) != settings.get(name):
            raise FileError(
                f"{owner}: {folder} must hold examples of the same settings, "
                f"{name}={settings.get(name)!r}; got {name}={found.get(name)!r}. "
                "Choose another folder, or those settings."
            )


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    function: Callable[[Task], Result], tasks: Iterable[Task], workers: int
) -> Generator[Result]:
    """Results of a function for every task in their order, computed by several processes.

    Tasks are taken as results are, a few ahead, so that they may be without end.

    Args:
        function: Of a module, so that a new process finds it.
        tasks: What it is called with.
        workers: Processes; 1 stays in this one.

    Yields:
        One result a task.

    Raises:
        ArgumentError: If a process was ended from outside.
    """
    if workers == 1:
        yield from map(function, tasks)
        return
    waiting: deque[Future[Result]] = deque()
    left = iter(tasks)
    # started afresh: a fork of a process with threads may stand still
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_end_with_parent)
    try:
        while True:
            for task in islice(left, 2 * workers - len(waiting)):
                waiting.append(pool.submit(function, task))
            if not waiting:
                return
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise ArgumentError(
            f"workers: every process must run to its end; got workers={workers}, of which one was "
            "ended from outside, as happens where memory is short. Pass fewer workers; the same "
            "call goes on with what is done."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Lets a worker end at once at Ctrl-C, and when the process that waits for it is killed."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as for work in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_await_parent, daemon=True).start()


def _await_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
