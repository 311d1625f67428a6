"""What every model is: a backbone, a head, and what is known of its input and labels."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_count
from ..data.contract import InputContract
from ..errors import ArgumentError
from ..nn.reparameterize import in_training
from .backbone import SequenceBackbone

__all__ = ["ScoringModel", "SequenceModel"]


class SequenceModel(nn.Module, ABC):
    """Backbone and head, with saving, loading and prediction.

    Args:
        backbone: (B, L, F) -> (B, L, D).
    """

    def __init__(self, backbone: SequenceBackbone) -> None:
        super().__init__()
        self.backbone = backbone
        #: What the model expects of its input; every verb applies it. None: not known.
        self.contract: InputContract | None = None
        #: Names of the classes, in the order of their numbers.
        self.labels: tuple[str, ...] = ()
        #: Numbers measured of this model, such as its test accuracy.
        self.metrics: dict[str, float] = {}
        #: What made this model, in order: trainings and conversions, each as plain values.
        self.made: tuple[dict[str, Any], ...] = ()

    @property
    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """What the constructor was given, as plain values for JSON."""

    @property
    def expects(self) -> InputContract:
        """The contract, or where none is known one that follows from the backbone's sizes."""
        if self.contract is not None:
            return self.contract
        backbone = self.backbone
        if backbone.tokens:
            return InputContract("tokens", backbone.length, vocabulary=backbone.features)
        return InputContract("series", backbone.length, channels=backbone.features)

    def predict(self, x: Tensor, lengths: Tensor | None = None, batch_size: int = 64) -> Tensor:
        """Answers for many sequences, in eval mode and without gradients.

        Args:
            x: Values (N, L, F), or tokens (N, L).
            lengths: Valid samples of each row; None: all.                (N,)
            batch_size: Rows run at a time.

        Returns:
            What ``answer`` makes of the outputs: classes, values or futures.

        Raises:
            ArgumentError: In training mode, of the model or a part of it, or if ``batch_size`` is
                below 1.
        """
        return self.answer(self._outputs("predict", x, lengths, batch_size))

    def answer(self, outputs: Tensor) -> Tensor:
        """Outputs of ``forward`` as answers; the outputs themselves unless a head says else."""
        return outputs

    @torch.no_grad()
    def _outputs(self, verb: str, x: Tensor, lengths: Tensor | None, batch_size: int) -> Tensor:
        check_count(verb, "batch_size", batch_size)
        if in_training(self):
            raise ArgumentError(
                f"{verb}: the model must be in eval mode; got training=True. "
                "Call model.eval() first."
            )
        rows = range(0, max(len(x), 1), batch_size)
        parts = [
            self(x[i : i + batch_size], None if lengths is None else lengths[i : i + batch_size])
            for i in rows
        ]
        return torch.cat(parts)

    def note_origin(self, original: "SequenceModel", step: dict[str, Any]) -> None:
        """Keeps where this model comes from: its own numbers are not measured yet.

        Args:
            original: The model that it was made of; its numbers are called original_... here.
            step: What was done, as plain values; ``step["step"]`` is the verb.
        """
        own = {name: one for name, one in original.metrics.items() if "original" not in name}
        self.metrics = {f"original_{name}": one for name, one in own.items()}
        self.made = (*original.made, step)

    def save_pretrained(self, folder: str | Path) -> Path:
        """Writes the model as a folder of model.safetensors, config.json and README.md.

        All are written aside, then moved into place.

        Args:
            folder: Made if it is not there; files of the same names in it are replaced.

        Returns:
            The folder.

        Raises:
            ArgumentError: If a setting cannot be written, such as a kernel given as a callable, or
                the model is of a class that ``load`` does not build.
            FileError: If the folder cannot be written.
        """
        from .saving import save

        return save(self, Path(folder))


class ScoringModel(SequenceModel):
    """A model whose outputs are class scores (logits) along the last axis."""

    def answer(self, outputs: Tensor) -> Tensor:
        """The class with the largest score.                     (N,) or (N, L)."""
        return outputs.argmax(-1)

    def predict_proba(
        self, x: Tensor, lengths: Tensor | None = None, batch_size: int = 64
    ) -> Tensor:
        """Probabilities of the classes, softmax(logits), in eval mode and without gradients.

        Args:
            x: Values (N, L, F), or tokens (N, L).
            lengths: Valid samples of each row; None: all.                (N,)
            batch_size: Rows run at a time.

        Returns:
            Probabilities, (N, classes), or (N, L, classes) of a labeller.

        Raises:
            ArgumentError: In training mode.
        """
        return self._outputs("predict_proba", x, lengths, batch_size).softmax(-1)
