"""StreamContract: what every streamed module promises, as a test class to subclass."""

import copy
import tempfile
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor, nn

from ..errors import MergeError
from ..streaming import DenseName, State, Streamer
from .tolerances import assert_close

__all__ = ["StreamContract"]


class StreamContract:
    """Tests that every module with a stepper must pass, ours or your own.

    The output is a function of the samples, never of how they were cut into calls, and equal to the
    parallel form. Subclass it under a name that starts with ``Test`` and define ``make``; for a
    module that is not (B, D, L) -> (B, D, L) also ``inputs`` and ``expected``.

    Example:
        >>> import mrconv
        >>> from mrconv.testing import StreamContract
        >>> class TestTaps(StreamContract):
        ...     reach = 8
        ...     def make(self, dtype):
        ...         return mrconv.LongConv(self.channels, 8, dtype=dtype).eval()
        >>> TestTaps().test_any_cut()
    """

    channels = 3
    #: Samples that one output depends on; cuts around this length are tried.
    reach = 16
    #: Axis of time in inputs and outputs.
    time_axis = 2
    #: As in ``Streamer``.
    dense: DenseName = "tiled"
    window: int | None = None
    #: Largest relative difference in norm, from cut to cut and to the parallel form.
    tolerances = {torch.float32: 2e-6, torch.float64: 1e-12}  # noqa: RUF012

    def make(self, dtype: torch.dtype) -> nn.Module:
        """Makes the module under test, in eval mode; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__}: define make(). Return a module.")

    def inputs(self, rows: int, length: int, dtype: torch.dtype) -> Tensor:
        """Random inputs with time on ``time_axis``."""
        return torch.randn(rows, self.channels, length, dtype=dtype)

    def expected(self, module: nn.Module, x: Tensor) -> Tensor:
        """What the stream should give for whole inputs, by the parallel form."""
        return module(x)

    # ------------------------------------------------------------------------------------- cuts

    def test_any_cut(self) -> None:
        """Chunks of 1, 2, primes, the reach and its neighbours, random cuts: all the same."""
        for dtype, tolerance in self.tolerances.items():
            stream, x, expected = self._case(dtype, 2, 2 * self.reach + 5)
            for cut in self._cuts(x.shape[self.time_axis]):
                y, _ = self._run(stream, stream.init_state(2), x.split(cut, self.time_axis))
                assert_close(y, expected, tolerance)

    def test_steps(self) -> None:
        """Sample by sample gives what the parallel form gives."""
        for dtype, tolerance in self.tolerances.items():
            stream, x, expected = self._case(dtype, 2, self.reach + 9)
            y, _ = self._steps(stream, stream.init_state(2), x)
            assert_close(y, expected, tolerance)

    def test_prompts_of_every_length(self) -> None:
        """A prompt of any length, none included, then steps."""
        stream, x, expected = self._case(torch.float64, 1, self.reach + 5)
        for length in self._prompts():
            prompt = x.narrow(self.time_axis, 0, length)
            y, state = stream.chunk(prompt, stream.init_state(1))
            rest, _ = self._steps(stream, state, x.narrow(self.time_axis, length, 3))
            whole = torch.cat([y, rest], self.time_axis)
            assert_close(whole, expected.narrow(self.time_axis, 0, length + 3), 1e-12)

    def test_empty_chunks(self) -> None:
        """They give nothing and leave the state as it was, to the bit."""
        stream, x, _ = self._case(torch.float32, 2, 7)
        for state in (stream.init_state(2), stream.chunk(x, stream.init_state(2))[1]):
            before = state.clone()
            y, state = stream.chunk(x.narrow(self.time_axis, 0, 0), state)
            assert y.shape[self.time_axis] == 0
            _same(state, before)
            none = torch.zeros(2, dtype=torch.int64)
            y, state = stream.chunk(torch.full_like(x, 1), state, none)
            assert (y == 0).all()
            _same(state, before, except_rings=True)

    # ------------------------------------------------------------------------------------- rows

    def test_rows_started_at_different_times(self) -> None:
        """64 rows, each started anew at a time of its own, equal 64 single runs."""
        count, length = 64, 64 + self.reach // 4
        stream, x, _ = self._case(torch.float64, count, length)
        state, outputs = stream.init_state(count), []
        for t in range(length):
            if t < count:
                state.reset([t])
            y, state = stream.step(x.select(self.time_axis, t), state)
            outputs.append(y)
        together = torch.stack(outputs, self.time_axis)
        module = self.make_seeded(torch.float64)
        for row in range(0, count, 7):
            left = length - row
            own = x[row : row + 1].narrow(self.time_axis, row, left)
            got = together[row : row + 1].narrow(self.time_axis, row, left)
            assert_close(got, self.expected(module, own), 1e-12)

    def test_lengths(self) -> None:
        """Rows that take different numbers of samples from each chunk; padding is not read."""
        rows = 4
        stream, x, expected = self._case(torch.float64, rows, 2 * self.reach + 40)
        taken = torch.zeros(rows, dtype=torch.int64)
        outputs: list[list[Tensor]] = [[] for _ in range(rows)]
        state = stream.init_state(rows)
        seeded = torch.Generator().manual_seed(3)
        for longest in (1, 5, self.reach, 0, 3, self.reach + 1):
            lengths = torch.randint(0, longest + 1, (rows,), generator=seeded)
            chunk = self._padded(x, taken, lengths)
            y, state = stream.chunk(chunk, state, lengths)
            for row in range(rows):
                valid = int(lengths[row])
                outputs[row].append(y[row : row + 1].narrow(self.time_axis, 0, valid))
                behind = y[row].narrow(self.time_axis - 1, valid, int(lengths.max()) - valid)
                assert (behind == 0).all()
            taken += lengths
        assert torch.equal(state.tensors["position"], taken)
        for row in range(rows):
            own = expected[row : row + 1].narrow(self.time_axis, 0, int(taken[row]))
            assert_close(torch.cat(outputs[row], self.time_axis), own, 1e-12)

    def test_rows_are_selected_reordered_and_joined(self) -> None:
        """A state's rows go where they are put; a clone goes its own way."""
        stream, x, expected = self._case(torch.float64, 3, self.reach + 6)
        first, rest = self._split(x, self.reach)
        _, state = stream.chunk(first, stream.init_state(3))
        kept, order = state.clone(), [2, 0, 0, 1]
        y, _ = stream.chunk(rest[order], state.rows(order))
        assert_close(y, self._split(expected, self.reach)[1][order], 1e-12)
        _same(state, kept)
        y, _ = stream.chunk(rest[[1, 2, 0]], State.join([state.rows([1, 2]), state.rows([0])]))
        assert_close(y, self._split(expected, self.reach)[1][[1, 2, 0]], 1e-12)

    # ------------------------------------------------------------------------------------ state

    def test_save_and_reload(self) -> None:
        """A state that is saved midway goes on to the bit."""
        stream, x, _ = self._case(torch.float32, 2, self.reach + 6)
        first, rest = self._split(x, self.reach)
        _, state = stream.chunk(first, stream.init_state(2))
        with tempfile.TemporaryDirectory() as folder:
            loaded = State.load(state.save(Path(folder) / "state.safetensors"))
        _same(loaded, state)
        y, state = stream.chunk(rest, state)
        again, loaded = stream.chunk(rest, loaded)
        assert torch.equal(y, again)
        _same(loaded, state)

    def test_a_fresh_state_is_zero_and_keeps_its_size(self) -> None:
        """So that resetting a row means setting it to 0."""
        stream, x, _ = self._case(torch.float32, 2, 3 * self.reach)
        state = stream.init_state(2)
        assert all((tensor == 0).all() for _, tensor in state.named_tensors())
        assert all(len(tensor) == 2 for _, tensor in state.named_tensors())
        size = state.nbytes
        assert size == 2 * stream.init_state(1).nbytes
        _, state = stream.chunk(x, state)
        assert state.nbytes == size
        assert all(tensor.isfinite().all() for _, tensor in state.named_tensors())

    def test_train_stream_train(self) -> None:
        """A Streamer is a snapshot, and streaming leaves the module as it was."""
        module = self.make_seeded(torch.float32)
        before = copy.deepcopy(module.state_dict())
        stream, x = self._stream(module), self.inputs(1, 20, torch.float32)
        y, _ = stream.chunk(x, stream.init_state(1))
        assert not y.requires_grad
        for name, tensor in module.state_dict().items():
            assert torch.equal(tensor, before[name])
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.add_(1.0)
        again, _ = stream.chunk(x, stream.init_state(1))
        assert torch.equal(again, y)

    def test_training_mode_is_refused(self) -> None:
        """Its statistics are those of batches, which a stream does not have."""
        try:
            self._stream(self.make_seeded(torch.float32).train())
        except MergeError as error:
            assert str(error) == (
                "Streamer: BatchNorm statistics are still changing (training mode); "
                "got training=True. Call model.eval() first."
            )
        else:
            raise AssertionError("Streamer took a module in training mode.")

    # ---------------------------------------------------------------------------------- helpers

    def make_seeded(self, dtype: torch.dtype) -> nn.Module:
        """The module from fixed random numbers."""
        torch.manual_seed(0)
        return self.make(dtype)

    def _stream(self, module: nn.Module) -> Streamer:
        return Streamer(module, window=self.window, dense=self.dense)

    @torch.no_grad()
    def _case(self, dtype: torch.dtype, rows: int, length: int) -> tuple[Streamer, Tensor, Tensor]:
        module = self.make_seeded(dtype)
        x = self.inputs(rows, length, dtype)
        return self._stream(module), x, self.expected(module, x)

    def _cuts(self, length: int) -> list[list[int]]:
        small = [1, 2, 3, 7, 13] if self.reach <= 40 else []  # where they are not too many
        sizes = [*small, 31, 101, self.reach - 1, self.reach, self.reach + 1, length]
        cuts = [[size] * (length // size) + [length % size] for size in sizes if 0 < size <= length]
        seeded = torch.Generator().manual_seed(0)
        for most in (5 if small else 50, self.reach):
            cut: list[int] = []
            while sum(cut) < length:
                size = int(torch.randint(0, most + 1, (1,), generator=seeded))
                cut.append(min(size, length - sum(cut)))
            cuts.append(cut)
        return cuts

    def _prompts(self) -> Iterable[int]:
        """Every length where the reach is short, else those around what matters."""
        if self.reach <= 40:
            return range(self.reach + 3)
        most = self.reach + 2
        return sorted({*range(0, 40), *range(40, most, 37), self.reach - 1, self.reach, most})

    def _run(
        self, stream: Streamer, state: State, chunks: Iterable[Tensor]
    ) -> tuple[Tensor, State]:
        outputs = []
        for chunk in chunks:
            y, state = stream.chunk(chunk, state)
            outputs.append(y)
        return torch.cat(outputs, self.time_axis), state

    def _steps(self, stream: Streamer, state: State, x: Tensor) -> tuple[Tensor, State]:
        outputs = []
        for sample in x.unbind(self.time_axis):
            y, state = stream.step(sample, state)
            outputs.append(y)
        return torch.stack(outputs, self.time_axis), state

    def _split(self, x: Tensor, at: int) -> tuple[Tensor, Tensor]:
        first, rest = x.split([at, x.shape[self.time_axis] - at], self.time_axis)
        return first, rest

    def _padded(self, x: Tensor, starts: Tensor, lengths: Tensor) -> Tensor:
        """The next samples of each row, with what must not be read behind them."""
        longest = int(lengths.max())
        shape = list(x.shape)
        shape[self.time_axis] = longest
        chunk = x.new_full(shape, float("nan") if x.is_floating_point() else -1)
        for row, (start, valid) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
            own = x[row].narrow(self.time_axis - 1, start, valid)
            chunk[row].narrow(self.time_axis - 1, 0, valid).copy_(own)
        return chunk


def _same(got: State, expected: State, *, except_rings: bool = False) -> None:
    """Equal to the bit; slots of a ring that are not read may have been written to."""
    theirs = dict(expected.named_tensors())
    for name, tensor in got.named_tensors():
        if not (except_rings and name.endswith("ring")):
            assert torch.equal(tensor, theirs[name]), name
