"""A data set and a recipe small enough to train in a blink."""

from pathlib import Path

import pytest

MODULE = '''
from dataclasses import dataclass

import torch

from mrconv.data import Examples, InputContract, Splits

print("toy was imported")


@dataclass(frozen=True)
class Toy:
    """Two kinds of noise: with and without a slow wave."""

    kind: str = "classes"
    ragged: bool = False
    padding: float | None = None

    def load(self) -> Splits:
        generator = torch.Generator().manual_seed(1)
        parts = {}
        for name, count in (("train", 22), ("validation", 8), ("test", 8)):
            x = torch.randn(count, 16, 1, generator=generator)
            y = torch.arange(count) % 2
            x = x + 2 * y[:, None, None] * torch.arange(16)[:, None].mul(0.4).sin()
            lengths = torch.arange(count) % 9 + 8 if self.ragged else None
            if self.padding is not None:
                x[torch.arange(16) >= lengths[:, None]] = self.padding
            if self.kind == "samples":
                y = (x[..., 0] > 0).long()
            if self.kind == "values":
                y = x.mean(1)
            parts[name] = Examples(x, y, lengths)
        labels = () if self.kind == "values" else ("noise", "wave")
        return Splits(**parts, contract=InputContract("series", 16), labels=labels)
'''

RECIPE = """
epochs: 3
batch_size: 8
data: {class: toy_data.Toy}
model:
  class: mrconv.SequenceClassifier
  classes: 2
  backbone:
    class: mrconv.SequenceBackbone
    features: 1
    length: 16
    channels: 4
    depth: 1
    mixer: {kernel: dense, kernel_size: 4}
loss: {class: torch.nn.CrossEntropyLoss}
optimizer: {class: torch.optim.AdamW, lr: 1e-2, kernel_lr: 1e-3, weight_decay: 0.05}
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Path of a recipe on a data set in the module ``toy_data``, which can be imported."""
    (tmp_path / "toy_data.py").write_text(MODULE)
    (tmp_path / "toy.yaml").write_text(RECIPE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "toy_data", raising=False)
    return tmp_path / "toy.yaml"
