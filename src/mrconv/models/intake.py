"""Raw samples of any rate as a model takes them, block by block or whole."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .._checks import widened
from ..data.contract import InputContract
from ..data.sources import file_source
from ..errors import ArgumentError, FileError, MrconvError
from ..merging import merge
from ..streaming import Resampler, Streamer
from .base import SequenceModel

__all__ = ["Intake", "recording", "thinning"]

#: Samples read at a time.
BLOCK = 65536


class Intake:
    """Checks, scales and resamples the samples of one recording as they come.

    What comes out is a function of the samples, never of how they were cut into blocks. Where they
    are resampled, a recording stands at the contract's silence before its start and behind its end;
    where the model takes frames, samples wait until theirs is full, or the recording ends.

    Args:
        contract: What the model expects.
        rate: Of the samples, in Hz; None: that of the model.
        like: A parameter of the model, whose dtype and device the samples take.
        factor: Samples of the model's rate per sample, where its kernels are thinned instead.

    Raises:
        ArgumentError: If samples must be resampled and a rate is below 1.
        DtypeError: If samples must be resampled and a rate is no whole number.

    Example:
        >>> import numpy as np, torch
        >>> from mrconv.data import InputContract
        >>> intake = Intake(InputContract("audio", 8, sample_rate=8000.0), 16000, torch.zeros(1))
        >>> intake.take(np.zeros(50)).shape, intake.finish().shape
        (torch.Size([1, 15, 1]), torch.Size([1, 10, 1]))
        >>> intake.note
        'resampled from 16000 Hz to 8000 Hz'
    """

    def __init__(
        self,
        contract: InputContract,
        rate: float | None,
        like: Tensor,
        *,
        factor: int = 1,
    ) -> None:
        self.contract, self.factor, self._like = contract, factor, like
        self._flat = replace(contract, frame=1)
        self._waiting = torch.zeros(1, 0, contract.channels).to(like)
        self.rate = rate if contract.sample_rate is None else contract.sample_rate / factor
        """Samples a second of what comes out, framed or not; None where none is known."""
        self._taken, self._resampler = 0, None
        if rate is not None and self.rate is not None and rate != self.rate:
            self._resampler = Resampler(_whole(rate), _whole(self.rate))
            self._state = self._resampler.init_state(
                1, contract.channels, device=like.device, dtype=widened(like).dtype
            )

    @property
    def note(self) -> str:
        """What becomes of the samples, in words."""
        if self._resampler is not None:
            return f"resampled from {self._resampler.rate} Hz to {self._resampler.new_rate} Hz"
        if self.factor > 1:
            return f"taken at {self.rate:g} Hz by kernels thinned by {self.factor}"
        return "taken as they come" if self.rate is None else f"taken at {self.rate:g} Hz"

    def take(self, values: NDArray[Any]) -> Tensor:
        """The samples that the model can be given now.

        Args:
            values: The next raw samples, (n, F) or (n,) for one channel; tokens (n,).

        Returns:
            Values (1, m, F), m of 0 and more where they are resampled or framed; or tokens (1, n).

        Raises:
            ArgumentError: For values that are not finite, or tokens outside the vocabulary.
            DtypeError: For values that are no numbers, or tokens that are not whole.
            ShapeError: For another number of channels.
        """
        prepared = self._flat.prepare(values, self._taken)
        self._taken += len(values)
        if self._resampler is not None:
            raw = np.asarray(values, np.float64).reshape(prepared.shape) - self.contract.silence
            x = torch.from_numpy(raw)[None].to(self._state.history)
            x, self._state = self._resampler.chunk(x, self._state)
            return self._framed(self._scaled(x))
        x = torch.from_numpy(prepared)[None]
        if self.contract.kind == "tokens":
            return x.to(self._like.device)
        return self._framed(x.to(self._like))

    def finish(self) -> Tensor:
        """The samples that are left when the recording ends; as ``take`` gives them."""
        if self.contract.kind == "tokens":
            return torch.zeros((1, 0), device=self._like.device, dtype=self._like.dtype)
        last = self._waiting[:, :0]
        if self._resampler is not None:
            last = self._scaled(self._resampler.finish(self._state))
        return torch.cat([self._framed(last), self._filled()], 1)

    def _framed(self, x: Tensor) -> Tensor:
        """Full frames of what waits and comes now.              (1, m, F) -> (1, m', n F)."""
        if self.contract.frame == 1:
            return x
        together = torch.cat([self._waiting, x], 1)
        full = together.shape[1] // self.contract.frame * self.contract.frame
        # a copy, so that the recording before it is not kept
        self._waiting = together[:, full:].clone()
        return together[:, :full].reshape(1, -1, self.contract.features)

    def _filled(self) -> Tensor:
        """The last frame, 0 behind the recording's end; none where nothing waits."""
        last = self.contract.framed(self._waiting[0].cpu().numpy())
        return torch.from_numpy(last)[None].to(self._like)

    def _scaled(self, x: Tensor) -> Tensor:
        # behind the resampler, because companding is not linear
        raw = x.double().cpu().numpy() + self.contract.silence
        return torch.from_numpy(self.contract.scaled(raw)).to(self._like)


def _whole(rate: float) -> int:
    """The rate as an int where it is whole; the resampler refuses any other."""
    return int(rate) if float(rate).is_integer() else rate  # type: ignore[return-value]


def thinning(model: SequenceModel, rate: float | None) -> int:
    """Samples of the model's rate per sample of the input that its kernels can be thinned by.

    Args:
        model: In eval mode.
        rate: Of the input, in Hz; None: that of the model.

    Returns:
        2, 3, ... where the model's rate is that many times the input's, all of its kernels are
        band-limited and it takes single samples, not frames; 1 otherwise.
    """
    own = model.expects.sample_rate
    if model.expects.frame > 1:
        return 1
    if rate is None or own is None or own < 2 * rate or own % rate:
        return 1
    factor = int(own // rate)
    try:
        Streamer(model, rate=factor)
    except MrconvError:
        return 1
    return factor


def recording(model: SequenceModel, path: str | Path) -> tuple[SequenceModel, Tensor]:
    """A whole sound file as a model takes it, the same numbers that its stream would be given.

    Args:
        model: In eval mode.
        path: A .wav file of any rate, with the channels of the model.

    Returns:
        The model, with thinned kernels where the stream would have them; and values (1, L, F).

    Raises:
        FileError: If the file is damaged, cut off, or holds what the contract does not take.
    """
    with file_source(path, model.expects) as source:
        factor, like = thinning(model, source.rate), next(model.parameters())
        intake = Intake(model.expects, source.rate, like, factor=factor)
        try:
            x = intake.take(np.concatenate(list(source.blocks(BLOCK))))
        except ArgumentError as error:
            raise FileError(f"{path}: {error}") from None
    x = torch.cat([x, intake.finish()], 1)
    return (model if factor == 1 else merge(model, rate=factor)), x
