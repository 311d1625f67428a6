"""What a Streamer runs, as a table."""

from dataclasses import dataclass

from .stepper import Cost

__all__ = ["Explanation"]

HEAD = ("place", "method", "operations a sample", "merged", "state bytes")


@dataclass(frozen=True)
class Explanation:
    """What runs for each layer that has a memory; prints as a table."""

    rows: tuple[Cost, ...]
    nbytes: int
    """Of the whole state of one row."""

    @property
    def operations(self) -> float:
        """Of all layers, a sample."""
        return sum(row.operations for row in self.rows)

    def __str__(self) -> str:
        lines = [HEAD, *(_cells(row) for row in self.rows)]
        lines.append(("total", "", f"{self.operations:,.0f}", "", f"{self.nbytes:,}"))
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*table, *self._remarks()])

    def _remarks(self) -> list[str]:
        both = [(row, row.merged) for row in self.rows if row.merged is not None]
        cheaper = sum(row.operations < merged for row, merged in both)
        remarks = []
        if cheaper:
            remarks.append(f"Streaming the branches is cheaper in {_layers(cheaper)}.")
        if len(both) > cheaper:
            dearer = len(both) - cheaper
            remarks.append(f"Streaming the merged form is cheaper in {_layers(dearer)}.")
        if len(self.rows) > len(both):
            remarks.append(
                "Layers without a number under merged have one form. Of a merged layer, the "
                "branches are not known: Fourier, dilated and sparse branches cost the same at "
                "every length."
            )
        return remarks


def _layers(count: int) -> str:
    return f"{count} layer" if count == 1 else f"{count} layers"


def _cells(row: Cost) -> tuple[str, ...]:
    merged = "-" if row.merged is None else f"{row.merged:,.0f}"
    return row.place or "layer", row.method, f"{row.operations:,.0f}", merged, f"{row.nbytes:,}"
