"""A sample's outputs do not depend on how much padding it got, nor on what the padding holds."""

import copy
import itertools

import pytest
import torch

import mrconv
from mrconv.testing import assert_close, branch_taps, textbook_branches

F64 = torch.float64
LENGTHS = torch.tensor([30, 30, 13, 1])
FILLINGS = pytest.mark.parametrize("filling", [float("nan"), float("inf"), -1e30])
AMOUNTS = pytest.mark.parametrize("extra", [0, 1, 70])


def padded(x, extra, filling):
    """The same rows with more padding behind them, and other padding."""
    wide = torch.nn.functional.pad(x, [0, 0] * (x.ndim - 2) + [0, extra])
    behind = torch.arange(wide.shape[1]) >= LENGTHS[:, None]
    return wide.masked_fill(behind if x.ndim == 2 else behind[..., None], filling)


def shared(outputs, length):
    """Outputs of the labeller over the length that both batches have."""
    return outputs[:, :length] if outputs.ndim == 3 and outputs.shape[1] > length else outputs


@AMOUNTS
@FILLINGS
def test_predictions(make_model, run, extra, filling):
    model, x = make_model(), torch.randn(4, 30, 2, dtype=F64)
    got = run(model, padded(x, extra, filling), LENGTHS)
    assert_close(shared(got, 30), run(model, padded(x, 0, 0.0), LENGTHS), 1e-10)


@AMOUNTS
@pytest.mark.parametrize("filling", [-1, 4, 1 << 40])
def test_predictions_from_tokens(make_model, run, extra, filling):
    model, x = make_model(features=4, tokens=True), torch.randint(4, (4, 30))
    got = run(model, padded(x, extra, filling), LENGTHS)
    assert_close(shared(got, 30), run(model, padded(x, 0, 0), LENGTHS), 1e-10)


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("pre_norm", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_each_row_as_if_alone(small_backbone, settle, norm, pre_norm, causal):
    mixer = {"kernel": "fourier", "kernel_size": 4, "causal": causal}
    backbone = settle(small_backbone(norm=norm, pre_norm=pre_norm, mixer=mixer))
    x = torch.randn(4, 30, 2, dtype=F64)
    y = backbone(padded(x, 5, float("nan")), LENGTHS)
    for row, n in enumerate(LENGTHS.tolist()):
        assert_close(y[row, :n], backbone(x[row : row + 1, :n])[0], 1e-10)
        assert (y[row, n:] == 0).all()


def test_merged_form(make_model, run):
    model = mrconv.merge(make_model())
    x = torch.randn(4, 30, 2, dtype=F64)
    got = run(model, padded(x, 9, float("nan")), LENGTHS)
    assert_close(shared(got, 30), run(model, x, LENGTHS), 1e-10)


# training


def all_gradients(model):
    """As one vector: some parts of it are 0 but for rounding."""
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


def statistics(model):
    return {name: value for name, value in model.state_dict().items() if "running" in name}


@FILLINGS
@pytest.mark.parametrize("pre_norm", [False, True])
def test_training_does_not_read_padding(small_backbone, filling, pre_norm):
    backbone = small_backbone(dropout=0.0, pre_norm=pre_norm)
    other = copy.deepcopy(backbone)
    x = torch.randn(4, 30, 2, dtype=F64)
    weights = torch.randn(4, 30, 8, dtype=F64)
    plain = padded(x, 0, 0.0).requires_grad_()
    filled = padded(x, 40, filling).requires_grad_()
    y, wide = backbone(plain, LENGTHS), other(filled, LENGTHS)
    assert_close(wide[:, :30], y, 1e-10)
    (y * weights).sum().backward()
    (wide[:, :30] * weights).sum().backward()
    assert_close(filled.grad[:, :30], plain.grad, 1e-9)
    assert (filled.grad[torch.arange(70) >= LENGTHS[:, None]] == 0).all()
    assert_close(all_gradients(other), all_gradients(backbone), 1e-9)
    for name, value in statistics(backbone).items():
        assert_close(statistics(other)[name], value, 1e-10)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_running_statistics_are_those_of_valid_positions(small_backbone, written_out, pre_norm):
    backbone, seen = small_backbone(dropout=0.0, pre_norm=pre_norm), {}
    x = torch.randn(4, 30, 2, dtype=F64)
    written_out(backbone, x, LENGTHS, seen)
    backbone(padded(x, 11, float("nan")), LENGTHS)
    norms = [module for module in seen if isinstance(module, mrconv.nn.MaskedBatchNorm)]
    mixers = [module for module in seen if isinstance(module, mrconv.MRConv)]
    assert (len(norms), len(mixers)) == (3 if pre_norm else 2, 2)
    for norm in norms:
        valid = torch.cat([row[:n] for row, n in zip(seen[norm], LENGTHS, strict=True)])
        moved(norm, valid.mean(0), valid.var(0))
    for layer in mixers:
        _, mean, var = textbook_branches(
            seen[layer], branch_taps(layer), layer.gain, layer.shift, lengths=LENGTHS
        )
        moved(layer, mean, var)


def moved(module, mean, var):
    """One batch with momentum 0.1, from mean 0 and variance 1."""
    assert_close(module.running_mean, 0.1 * mean, 1e-10)
    assert_close(module.running_var, 0.9 + 0.1 * var, 1e-10)


def test_order_of_rows_does_not_matter(make_model, run):
    model, x = make_model(), torch.randn(4, 30, 2, dtype=F64)
    if getattr(model, "pair", False):
        pytest.skip("the pairs would be others")
    expected = run(model, x, LENGTHS)
    for order in itertools.islice(itertools.permutations(range(4)), 1, 24, 7):
        got = run(model, x[list(order)], LENGTHS[list(order)])
        assert_close(got, expected[list(order)], 1e-12)
