"""Another process that keeps one core busy while something is measured."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["busy_process"]

# one core: the libraries below numpy are held to one thread. It ends when its parent does.
LOOP = """
import os, sys
import numpy
parent = os.getppid()
x = numpy.random.default_rng(0).standard_normal((256, 256), dtype=numpy.float32)
print("busy", flush=True)
while os.getppid() == parent:
    for _ in range(100):
        x @ x
"""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@contextmanager
def busy_process() -> Iterator[None]:
    """Within it, a process of our own multiplies matrices on one core without a pause."""
    process = subprocess.Popen(
        [sys.executable, "-c", LOOP],
        stdout=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD},
    )
    try:
        if process.stdout is not None:
            process.stdout.readline()  # it has started
        yield
    finally:
        process.kill()
        process.communicate()
