"""A small saved model, and the command line run inside the test's own process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import mrconv
from mrconv.data import InputContract
from mrconv.testing import settled


@dataclass(frozen=True)
class Told:
    """What a command answered."""

    code: int
    out: str
    err: str


@pytest.fixture
def mrconv_command(capsys) -> Callable[..., Told]:
    """Runs ``mrconv`` with the given words."""
    from mrconv.cli import main

    def run(*words: object) -> Told:
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as stopped:  # how argparse ends
            code = stopped.code
        return Told(code, *capsys.readouterr())

    return run


@torch.no_grad()
def small_model(**settings) -> mrconv.SequenceClassifier:
    """Of three classes, one channel, length 32; gives each class to some random series."""
    torch.manual_seed(3)
    options = {"kernel": "dense", "kernel_size": 4, **settings}
    backbone = mrconv.SequenceBackbone(1, 32, channels=8, depth=2, mixer=options)
    model = mrconv.SequenceClassifier(backbone, 3)
    for module in model.modules():
        if isinstance(module, mrconv.MRConv):
            settled(module)
    model.eval().head.weight *= 20
    model.head.bias -= model(torch.randn(64, 32, 1)).mean(0)
    model.contract = InputContract("series", 32, mean=0.5, std=2.0)
    model.labels = ("low", "middle", "high")
    return model


@pytest.fixture
def model() -> mrconv.SequenceClassifier:
    return small_model()


@pytest.fixture
def saved(model, tmp_path) -> Path:
    """Folder of the model."""
    return model.save_pretrained(tmp_path / "model")


@pytest.fixture
def make_model() -> Callable[..., mrconv.SequenceClassifier]:
    return small_model
