"""A recipe that trains a classifier of pairs, from files to a loaded model."""

import pytest
import torch

import mrconv
from mrconv.train import evaluate, read_recipe, train

RECIPE = """
epochs: 1
batch_size: 3
data: {{class: mrconv.data.AAN, path: {path}, length: 12}}
model:
  class: mrconv.SequenceClassifier
  classes: 2
  pair: true
  backbone:
    class: mrconv.SequenceBackbone
    tokens: true
    features: 16
    length: 12
    channels: 4
    depth: 1
loss: {{class: torch.nn.CrossEntropyLoss}}
optimizer: {{class: torch.optim.AdamW, lr: 1e-2}}
"""


@pytest.fixture
def recipe(tmp_path):
    for name in ("train", "eval", "test"):
        rows = (f"{i % 2}.0\tA\tB\tabc{'d' * i}\tefgh\r\n" for i in range(7))
        (tmp_path / f"new_aan_pairs.{name}.tsv").write_text("".join(rows), newline="")
    (tmp_path / "pairs.yaml").write_text(RECIPE.format(path=tmp_path))
    return read_recipe(tmp_path / "pairs.yaml")


def test_trained_and_loaded(recipe, tmp_path):
    result = train(recipe, tmp_path / "out")
    test, loss = result.splits.test, torch.nn.CrossEntropyLoss()
    loaded = mrconv.load(tmp_path / "out" / "model")
    with torch.no_grad():
        expected = loaded(
            test.x[:, 0], test.lengths[:, 0], pair=test.x[:, 1], pair_lengths=test.lengths[:, 1]
        )
    got = evaluate(loaded, test, loss, batch_size=2)["loss"]
    assert got == pytest.approx(float(loss(expected, test.y)), rel=1e-5)
    merged = mrconv.merge(loaded)
    assert torch.equal(merged.predict(test.x, test.lengths), expected.argmax(-1))
