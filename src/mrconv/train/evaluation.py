"""Loss and accuracy, bits or error of a model on a split."""

import torch
from torch import nn

from ..data import Examples
from ..errors import ArgumentError
from .batches import BATCHES, Batching, moved
from .objective import metric_name, score, summarise

__all__ = ["evaluate"]


@torch.no_grad()
def evaluate(
    model: nn.Module,
    examples: Examples,
    loss: nn.Module,
    *,
    batch_size: int = 64,
    batches: Batching = "bucketed",
) -> dict[str, float]:
    """Scores a model on examples, where the model lives, in eval mode.

    Args:
        model: Any model; its mode is restored.
        examples: Inputs and targets.
        loss: (outputs, targets) to the mean loss.
        batch_size: Rows run at a time.
        batches: "bucketed": rows of near length together, each batch cut to its longest, which
            changes no output; or "plain", as they stand.

    Returns:
        "loss", and "accuracy" (share of right classes), "error" (mean absolute difference) or, of
        language models, "bits_per_byte" or "bits_per_token".

    Raises:
        ArgumentError: If there are no examples.

    Example:
        >>> import torch
        >>> import mrconv
        >>> backbone = mrconv.SequenceBackbone(1, length=16, channels=4, depth=1)
        >>> model = mrconv.SequenceClassifier(backbone, classes=2)
        >>> examples = mrconv.data.Examples(torch.randn(3, 16, 1), torch.tensor([0, 1, 0]))
        >>> sorted(evaluate(model, examples, torch.nn.CrossEntropyLoss()))
        ['accuracy', 'loss']
    """
    if not len(examples):
        raise ArgumentError("evaluate: examples must not be empty; got 0. Use another split.")
    training = model.training
    parameter = next(model.parameters(), torch.empty(0))
    loss = loss.to(parameter.device)
    sums = torch.zeros(3, dtype=torch.float64, device=parameter.device)
    model.eval()
    try:
        for batch in BATCHES[batches](examples, batch_size):
            sums += score(model, loss, moved(batch, parameter)).sums
    finally:
        model.train(training)
    value, metric = summarise(sums)
    return {"loss": value, metric_name(model, examples.y): metric}
