"""Human nucleosomes: which stretches of DNA are wound up, from a package."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ..errors import FileError
from .contract import InputContract
from .packages import folder_or_package_file, install_again
from .splits import Examples, SplitName, Splits, tenth_of

__all__ = ["Nucleosomes"]

REQUIREMENT = "repDNA==1.1.4"
BASES, LENGTH = "ACGT", 147
#: Files by class, and the sequences of each.
FILES = {"linker": ("H_sapiens_neg.fasta", 2300), "nucleosome": ("H_sapiens_pos.fasta", 2273)}


@dataclass(frozen=True)
class Nucleosomes:
    """4,573 stretches of human DNA of 147 bases: 2,273 wound round a nucleosome, 2,300 not.

    Tokens are A 0, C 1, G 2, T 3. One sequence has 78 bases only, so that ``lengths`` are given.
    Four fifths train, a tenth validates and a tenth is the test, chosen by the content of each
    sequence: its MD5 modulo 10 is 0 to 7, 8 or 9. The best published method gives 86.2 %, on other
    splits of the set.

    Args:
        path: Folder of ``H_sapiens_pos.fasta`` and ``H_sapiens_neg.fasta``; None finds it in the
            installed package repDNA, which is not imported.

    Source: Guo et al. 2014 (iNuc-PseKNC), by way of repDNA 1.1.4 (GPL-3).

    Example:
        >>> from mrconv.data import Nucleosomes
        >>> Nucleosomes().path is None
        True
    """

    path: str | None = None

    def load(self) -> Splits:
        """Reads both files.

        Returns:
            About 3,660, 460 and 460 examples of x (N, 147), y (N,) and lengths (N,); y is 1 for a
            nucleosome.

        Raises:
            FileError: If a file is missing, holds other letters than A, C, G and T, or other
                numbers of sequences.
        """
        parts: dict[SplitName, list[tuple[str, int]]] = {"train": [], "validation": [], "test": []}
        for label, (name, count) in enumerate(FILES.values()):
            place = ("repDNA", f"example/{name}", REQUIREMENT)
            file = folder_or_package_file("Nucleosomes", self.path, *place)
            for sequence in _sequences(file, count):
                parts[_split_of(sequence)].append((sequence, label))
        examples = {split: _examples(rows) for split, rows in parts.items()}
        contract = InputContract("tokens", LENGTH, vocabulary=len(BASES))
        return Splits(**examples, contract=contract, labels=tuple(FILES))


def _sequences(file: Path, count: int) -> list[str]:
    """The sequences of a FASTA file, in its order."""
    again = install_again(REQUIREMENT)
    try:
        records = file.read_text(encoding="ascii").split(">")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{file}: must be a FASTA file; got {error}. {again}") from None
    # a record: the line of its name, then the sequence over many lines
    found = ["".join(record.partition("\n")[2].split()).upper() for record in records[1:]]
    longest = max(map(len, found), default=0)
    if records[0].strip() or len(found) != count or not all(found) or longest > LENGTH:
        raise FileError(
            f"{file}: must hold {count} sequences of 1 to {LENGTH} bases, each behind a line "
            f"'>NAME'; got {len(found)} of up to {longest}. {again}"
        )
    other = sorted({*"".join(found)} - {*BASES})
    if other:
        raise FileError(
            f"{file}: sequences must be of the letters A, C, G and T; got {', '.join(other)}. "
            f"{again}"
        )
    return found


def _split_of(sequence: str) -> SplitName:
    tenth = tenth_of(sequence.encode("ascii"))
    return "train" if tenth < 8 else "validation" if tenth == 8 else "test"


def _examples(rows: list[tuple[str, int]]) -> Examples:
    x = torch.zeros(len(rows), LENGTH, dtype=torch.int64)
    for row, (sequence, _) in enumerate(rows):
        letters = np.frombuffer(sequence.encode("ascii"), np.uint8)
        x[row, : len(sequence)] = torch.from_numpy(np.searchsorted(_CODES, letters))
    lengths = torch.tensor([len(sequence) for sequence, _ in rows], dtype=torch.int64)
    return Examples(x, torch.tensor([label for _, label in rows], dtype=torch.int64), lengths)


_CODES = np.frombuffer(BASES.encode("ascii"), np.uint8)  # sorted
