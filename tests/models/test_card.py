"""The README.md of a saved model, filled in."""

import pytest

import mrconv
from mrconv.data import InputContract
from mrconv.models.card import card
from mrconv.models.saving import configuration


@pytest.fixture
def model(small_backbone):
    return mrconv.SequenceClassifier(small_backbone(3), 2)


def test_the_whole_card(model):
    model.contract = InputContract("audio", 32, channels=3, sample_rate=8000.0)
    model.labels = ("yes", "no")
    model.metrics = {"test_accuracy": 0.93751}
    model.made = ({"step": "train", "recipe": "r", "epochs": 2}, {"step": "prune"})
    assert (
        card(configuration(model))
        == f"""---
library_name: mrconv
tags: [mrconv, long-convolution, sequence]
---

# SequenceClassifier (branches form)

A long-convolution model of 2 blocks and 8 channels, made with mrconv {mrconv.__version__}.

## Input

- kind: audio
- length: 32
- channels: 3
- sample_rate: 8000.0
- mean: 0.0
- std: 1.0
- frame: 1

Labels: yes, no.

## Measured

| what | value |
|---|---|
| test accuracy | 0.9375 |

## Made

1. train: recipe r, epochs 2
2. prune

## Use

```python
import mrconv

model = mrconv.load("path/to/this/folder")
answers = model.predict(x)
```

```
mrconv predict path/to/this/folder series.csv
mrconv verify path/to/this/folder
```

Layers: `{{'kernel': 'dilated', 'kernel_size': 4}}`.
"""
    )


@pytest.mark.parametrize(
    ("settings", "line"),
    [({}, "values (batch, length, 3)."), ({"tokens": True}, "tokens (batch, length).")],
)
def test_without_a_contract_it_says_the_shape(small_backbone, settings, line):
    text = card(configuration(mrconv.SequenceClassifier(small_backbone(3, **settings), 2)))
    assert f"## Input\n\n{line}\n" in text
    assert "Labels" not in text
    assert "Measured" not in text
    assert "Made" not in text


def test_it_names_the_form(model):
    assert "# SequenceClassifier (merged form)" in card(configuration(mrconv.merge(model.eval())))


def test_a_language_model_is_for_text(small_backbone):
    text = card(configuration(mrconv.LanguageModel(small_backbone(257, tokens=True), 256)))
    assert 'rows = model.generate(b"To be", 200)\n' in text
    assert 'mrconv generate path/to/this/folder "To be"\n' in text
    assert "predict" not in text
