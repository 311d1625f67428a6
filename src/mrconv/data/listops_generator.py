"""ListOps as Long Range Arena publishes it, generated: three files of expressions and values."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from functools import partial
from hashlib import md5
from itertools import count as count_from
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from .._checks import check_count
from ..errors import ArgumentError, FileError
from .generating import GenerationProgress, claim_folder, in_order
from .listops import FILES, HEADER
from .listops_expressions import Grammar, expression_lines, random_expressions
from .random_streams import example_keys
from .writing import write_text

__all__ = ["generate_listops"]

#: Expressions tried at a time; one in twelve has a fitting length.
TRIES = 8192
#: Runs of tries without a new expression before they are given up.
PATIENCE = 50
#: Ending of a file that is not finished.
PART = ".part"
#: Of every 50 examples the first is for the test, the second for validation.
CYCLE = 50


def generate_listops(
    path: str | Path,
    count: int = 100_000,
    *,
    seed: int = 0,
    grammar: Grammar | None = None,
    workers: int = 1,
    progress: GenerationProgress | None = None,
) -> Path:
    """Writes ListOps: expressions of nested minima, maxima, medians and sums with their values.

    basic_train.tsv, basic_val.tsv and basic_test.tsv as published, no expression twice: of every
    50 one is for the test, one for validation and 48 are for training, 96,000, 2,000 and 2,000 of
    100,000. Example i is the same whatever ``count`` and ``workers`` are, and stays in its split:
    a larger count adds examples, and a run that was stopped goes on where it was. Until it ends
    the files are named .tsv.part.

    Args:
        path: Folder; made where it is missing.
        count: Examples of all splits; at least 3.
        seed: Of the random numbers, at least 0.
        grammar: How expressions are drawn; None: as published.
        workers: Processes. Several are started afresh, so a script that asks for them needs
            ``if __name__ == "__main__":``.
        progress: Called with the examples done and asked for.

    Returns:
        The folder, for ``ListOps``.

    Raises:
        ArgumentError: If count, seed or workers is too small, or there are not as many expressions.
        FileError: If the folder holds other files, other settings or more examples.

    Cost: 0.12 ms of one core and 7 kB of disk an example, as published.
    Source: Tay et al. 2021 (Long Range Arena); Nangia and Bowman 2018. Differs: seeded, and splits
        in turns instead of the first, next and last.

    Example:
        >>> folder = generate_listops("listops", 50, grammar=Grammar(min_length=5, max_length=50))
        >>> sorted(file.name for file in folder.glob("*.tsv"))
        ['basic_test.tsv', 'basic_train.tsv', 'basic_val.tsv']
    """
    for name, value, least in (("count", count, 3), ("seed", seed, 0), ("workers", workers, 1)):
        check_count("ListOps", name, value, least)
    grammar, folder = grammar or Grammar(), Path(path)
    settings = {"generator": "listops", "version": 1, "seed": seed, **asdict(grammar)}
    claim_folder("ListOps", folder, settings)
    files = _Files(folder)
    if files.done > count:
        raise FileError(
            f"ListOps: {folder} must hold no more than count={count} examples; got {files.done}. "
            "Choose another folder, or a larger count."
        )
    if files.done < count:
        tasks = count_from(files.shards)
        with files, closing(in_order(partial(_shard, seed, grammar), tasks, workers)) as shards:
            _fill(files, shards, count, progress)
    files.publish()
    return folder


def _shard(seed: int, grammar: Grammar, number: int) -> list[bytes]:
    """The lines of one run of tries."""
    keys = example_keys(seed, number * TRIES, (number + 1) * TRIES)
    return expression_lines(random_expressions(keys, grammar))


def _fill(
    files: "_Files",
    shards: Iterator[list[bytes]],
    count: int,
    progress: GenerationProgress | None,
) -> None:
    """Adds new lines of one shard after the other until there are enough."""
    missed = 0
    if progress:
        progress(files.done, count)
    for lines in shards:
        before = files.done
        files.add(lines, count)
        if progress:
            progress(files.done, count)
        if files.done == count:
            return
        missed = 0 if files.done > before else missed + 1
        if missed == PATIENCE:
            raise ArgumentError(
                f"ListOps: there must be count={count} different expressions of these lengths; "
                f"got {files.done}, and none more in {PATIENCE * TRIES} tries. "
                "Lower count, or widen the bounds."
            )


class _Files:
    """The three files while they grow, and the note of how far they are whole.

    The note is written after every shard. What stands behind it was written by a run that was
    stopped before the next one, and is cut off.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.note = folder, folder / ".state.json"
        self.shards = self.done = 0
        self.sizes = dict.fromkeys(FILES.values(), len(HEADER))
        if self.note.exists():
            found = json.loads(self.note.read_text(encoding="utf-8"))
            self.shards, self.done, self.sizes = found["shards"], found["done"], found["sizes"]
        self._open: dict[str, BinaryIO] = {}
        self._known: set[bytes] = set()

    def __enter__(self) -> "_Files":
        for name, size in self.sizes.items() if self.done else ():
            file = next((file for file in self._names(name) if file.exists()), None)
            found = file.stat().st_size if file else 0
            if found < size:
                raise FileError(
                    f"ListOps: {self.folder / name} must hold at least the {size} bytes that were "
                    f"generated; got {found}. Choose another folder to generate anew."
                )
        for name, size in self.sizes.items():
            final, part = self._names(name)
            if final.exists():
                os.replace(final, part)
            self._open[name] = grown = part.open("a+b")
            if self.done == 0:
                grown.truncate(0)
                grown.write(HEADER)
            grown.truncate(size)
            grown.seek(0)
            self._known.update(map(_digest, islice(grown, 1, None)))
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open.values():
            file.close()

    def add(self, lines: list[bytes], limit: int) -> None:
        """Writes the lines that are new, up to ``limit`` in all, and then the note."""
        files = list(self._open.values())
        for line in lines:
            if self.done == limit:
                break  # the shard is not used up: a larger count begins with it again
            digest = _digest(line)
            if digest not in self._known:
                self._known.add(digest)
                files[min(self.done % CYCLE, 2)].write(line)
                self.done += 1
        else:
            self.shards += 1
        for file in files:
            file.flush()
        self.sizes = {name: file.tell() for name, file in self._open.items()}
        numbers = {"shards": self.shards, "done": self.done, "sizes": self.sizes}
        write_text(self.note, json.dumps(numbers))

    def publish(self) -> None:
        """Gives the files their names."""
        for name in self.sizes:
            final, part = self._names(name)
            if part.exists():
                os.replace(part, final)

    def _names(self, name: str) -> tuple[Path, Path]:
        """Of a file that is finished, and of one that is not."""
        return self.folder / name, self.folder / (name + PART)


def _digest(line: bytes) -> bytes:
    return md5(line, usedforsecurity=False).digest()
