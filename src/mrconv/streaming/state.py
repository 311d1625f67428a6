"""The memory of a stream: a tree of tensors whose first dimension is the row (slot)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import ArgumentError, FileError

__all__ = ["State"]


class State(NamedTuple):
    """What a stream remembers, one row of every tensor for each sequence.

    A fresh state is zero in every tensor, so setting a row to 0 starts it anew. ``step`` and
    ``chunk`` write into the state they are given: a copy of a long memory at each sample would cost
    more than the sample. Clone a state to keep it.

    Example:
        >>> import mrconv
        >>> stream = mrconv.Streamer(mrconv.LongConv(2, 8).eval())
        >>> state = stream.init_state(3)
        >>> state.num_rows, state.rows([2, 0]).num_rows
        (3, 2)
    """

    tensors: dict[str, Tensor]
    """This part's own memory, each tensor (B, ...)."""
    parts: dict[str, "State"] = {}  # noqa: RUF012  # never written to
    """Memory of the parts inside; those without memory may be missing."""

    def part(self, name: str) -> "State":
        """The memory of one part, without tensors where the part has none."""
        return self.parts.get(name, State({}, {}))

    @property
    def num_rows(self) -> int:
        """B, the number of rows; 0 for a tree without tensors."""
        return next((tensor.shape[0] for _, tensor in self.named_tensors()), 0)

    @property
    def nbytes(self) -> int:
        """Size of all tensors, in bytes."""
        return sum(tensor.nbytes for _, tensor in self.named_tensors())

    def named_tensors(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Every tensor of the tree with its path, such as ``model.mixer.ring``."""
        for name, tensor in self.tensors.items():
            yield prefix + name, tensor
        for name, part in self.parts.items():
            yield from part.named_tensors(f"{prefix}{name}.")

    def map(self, change: Callable[[Tensor], Tensor]) -> "State":
        """A new tree with every tensor replaced by ``change(tensor)``."""
        tensors = {name: change(tensor) for name, tensor in self.tensors.items()}
        return State(tensors, {name: part.map(change) for name, part in self.parts.items()})

    def clone(self) -> "State":
        """A copy that shares no memory with this state."""
        return self.map(torch.clone)

    def to(self, device: torch.device | str) -> "State":
        """The state on another device."""
        return self.map(lambda tensor: tensor.to(device))

    def rows(self, index: Tensor | Sequence[int]) -> "State":
        """A copy of some rows, in any order, also several times: selects, reorders, repeats.

        Args:
            index: Row numbers, int64.                                     (n,)

        Returns:
            A state of n rows.
        """
        numbers = torch.as_tensor(index, dtype=torch.int64)
        return self.map(lambda tensor: tensor.index_select(0, numbers.to(tensor.device)))

    def write_rows(self, index: Tensor | Sequence[int], other: "State") -> None:
        """Puts the rows of another state of the same tree in place of some rows of this one.

        Args:
            index: Row numbers in this state, int64.                       (n,)
            other: n rows.
        """
        numbers = torch.as_tensor(index, dtype=torch.int64)
        theirs = dict(other.named_tensors())
        for name, tensor in self.named_tensors():
            tensor.index_copy_(0, numbers.to(tensor.device), theirs[name])

    def reset(self, index: Tensor | Sequence[int]) -> None:
        """Starts some rows anew, in place; the others go on.

        Args:
            index: Row numbers, int64.                                     (n,)
        """
        numbers = torch.as_tensor(index, dtype=torch.int64)
        for _, tensor in self.named_tensors():
            tensor.index_fill_(0, numbers.to(tensor.device), 0)

    @staticmethod
    def join(states: Sequence["State"]) -> "State":
        """The rows of several states of one stream, one after the other.

        Args:
            states: At least one.

        Returns:
            A new state of all rows.

        Raises:
            ArgumentError: If there is none.
        """
        if not states:
            raise ArgumentError(
                "State.join: states must hold at least one state; got none. "
                "Pass those that init_state, step or chunk gave."
            )
        first = states[0]
        tensors = {name: torch.cat([one.tensors[name] for one in states]) for name in first.tensors}
        parts = {name: State.join([one.parts[name] for one in states]) for name in first.parts}
        return State(tensors, parts)

    def save(self, path: str | Path) -> Path:
        """Writes all tensors to one safetensors file, named by their paths in the tree.

        Args:
            path: Replaced if it is there.

        Returns:
            The path.

        Raises:
            FileError: If it cannot be written.
        """
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        tensors = {name: tensor.contiguous() for name, tensor in self.named_tensors()}
        try:
            save_file(tensors, path)
        except (OSError, SafetensorError) as error:
            raise FileError(
                f"State.save: {path} must be a file that can be written; got {error}. "
                "Choose another place, or make room."
            ) from None
        return Path(path)

    @staticmethod
    def load(path: str | Path) -> "State":
        """Reads what ``save`` wrote.

        Args:
            path: A safetensors file.

        Returns:
            The state, ready for a Streamer of the same model.

        Raises:
            FileError: If it is missing or no safetensors file.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return State.from_named(load_file(path))
        except (OSError, SafetensorError) as error:
            raise FileError(
                f"State.load: {path} must be a file that State.save wrote; got {error}. "
                "Pass the path of a saved state."
            ) from None

    @staticmethod
    def from_named(tensors: Mapping[str, Tensor]) -> "State":
        """The tree whose ``named_tensors`` these are."""
        state = State({}, {})
        for path, tensor in tensors.items():
            *parts, name = path.split(".")
            node = state
            for part in parts:
                node = node.parts.setdefault(part, State({}, {}))
            node.tensors[name] = tensor
        return state
