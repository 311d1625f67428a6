"""A model that answers while a recording is still coming in."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from .._checks import check_count
from ..streaming import Streamer
from .attribution import WindowShares
from .base import SequenceModel
from .intake import Intake, thinning

__all__ = ["Answer", "Latency", "LiveModel", "training_window"]


class Answer(NamedTuple):
    """What a model says when a chunk of samples has come in."""

    samples: int
    """Samples of the model's input so far, after resampling; a last frame counts as a full one."""
    outputs: Tensor | None
    """Output at the last of them, without batch and time; None before the first one.    (...)"""
    shares: Tensor | None
    """Share of each resolution in the leading class's score, where asked for.           (R,)"""
    seconds: float
    """From the chunk in hand to the answer."""


class Latency(NamedTuple):
    """How long answers took, in seconds."""

    median: float
    percentile_99: float
    """The smallest time that at least 99 % of the chunks did not exceed."""
    total: float

    @staticmethod
    def of(seconds: Sequence[float]) -> "Latency":
        """Of all chunks' times; 0 where there was none.

        Example:
            >>> Latency.of([0.01, 0.03, 0.02])
            Latency(median=0.02, percentile_99=0.03, total=0.06)
        """
        if not seconds:
            return Latency(0.0, 0.0, 0.0)
        ordered = sorted(seconds)
        median, most = (ordered[math.ceil(part * len(ordered)) - 1] for part in (0.5, 0.99))
        return Latency(median, most, math.fsum(ordered))


class LiveModel:
    """A model on the raw samples of recordings as they come in, in chunks of any size.

    The model's contract is applied: channels, scaling, and the rate, by an exact resampler; or,
    where the model's rate is a multiple of the samples' and all kernels are band-limited, by
    thinned kernels.

    Args:
        model: In eval mode, of causal layers.
        rate: Of the samples, in Hz; None: that of the model.
        window: Last positions that the answer pools over, in samples of the model's rate; None:
            all since the start.
        explain: Whether answers tell which resolutions carried them. Every answer then costs a
            pass forward and back over all samples that it depends on.

    Raises:
        MergeError: If the model cannot be streamed.
        ArgumentError: If the window does not fit, or ``explain`` is asked of a model that is no
            classifier in branches form.

    Example:
        >>> import numpy as np, mrconv
        >>> backbone = mrconv.SequenceBackbone(1, length=64, channels=8, depth=1)
        >>> live = LiveModel(mrconv.SequenceClassifier(backbone, classes=3).eval())
        >>> blocks = np.split(np.random.randn(100), 4)
        >>> [answer.samples for answer in live.answers(blocks)]
        [25, 50, 75, 100]
    """

    def __init__(
        self,
        model: SequenceModel,
        *,
        rate: float | None = None,
        window: int | None = None,
        explain: bool = False,
    ) -> None:
        if window is not None:
            check_count("LiveModel", "window", window)
        self.model, self.window, self.explain = model, window, explain
        self.input_rate = model.expects.sample_rate if rate is None else rate
        """Of the samples, in Hz; None where neither states one."""
        # made here too, so that it refuses before any sample is read
        frame = model.expects.frame
        self.factor = 1 if explain else thinning(model, rate)
        #: What answers pool over, in steps of the model.
        self._kept = None if window is None else max(1, window // (self.factor * frame))
        self.spans = (
            [frame * span for span in WindowShares(model, self._kept).spans] if explain else []
        )
        """l_i of each resolution that answers tell of, in samples; empty without ``explain``."""
        self.stream = Streamer(model, window=self._kept, rate=self.factor)
        intake = self._intake()
        self.rate, self.note = intake.rate, intake.note

    def _intake(self) -> Intake:
        like = next(self.model.parameters())
        return Intake(self.model.expects, self.input_rate, like, factor=self.factor)

    def answers(self, blocks: Iterable[NDArray[Any]]) -> Iterator[Answer]:
        """An answer behind every block, and one behind the end where the resampler held some back.

        Args:
            blocks: Raw samples of one recording, each block (n, F), or (n,) for one channel.

        Raises:
            ArgumentError: For samples that the contract does not take.
            DtypeError: For samples that the contract does not take.
            ShapeError: For samples that the contract does not take.
        """
        intake = self._intake()
        shares = WindowShares(self.model, self._kept) if self.explain else None
        frame = self.model.expects.frame
        state, samples = self.stream.init_state(1), 0
        outputs: Tensor | None = None
        for block in _and_none(blocks):
            start = time.perf_counter()
            x = intake.finish() if block is None else intake.take(block)
            if block is None and not x.shape[1]:
                return
            if x.shape[1]:
                y, state = self.stream.chunk(x, state)
                outputs, samples = y[0, -1], samples + frame * x.shape[1]
            told = shares.after(x) if shares and x.shape[1] else None
            yield Answer(samples, outputs, told, time.perf_counter() - start)

    @torch.no_grad()
    def warm_up(self, samples: int) -> None:
        """Runs a chunk of silence on a state that is thrown away, so that no answer waits for it.

        Args:
            samples: Of a chunk, at the model's input.
        """
        contract = self.model.expects
        steps = -(-samples // contract.frame)
        shape = (steps,) if contract.kind == "tokens" else (steps, contract.features)
        like = next(self.model.parameters())
        x = torch.zeros((1, *shape), device=like.device, dtype=like.dtype)
        self.stream.chunk(x.long() if contract.kind == "tokens" else x, self.stream.init_state(1))


def _and_none(blocks: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any] | None]:
    """The blocks, and None behind the last."""
    yield from blocks
    yield None


def training_window(model: SequenceModel) -> int | None:
    """The length that a model was trained at, where it pools over time; None where it does not."""
    return model.expects.length if hasattr(model, "pooling") else None
