"""Where dilated and sparse kernels have taps; what dense and implicit ones are made of."""

import pytest
import torch

from mrconv.kernels import (
    DenseKernel,
    DilatedKernel,
    HyenaKernel,
    ImplicitKernel,
    SparseKernel,
)
from mrconv.testing import assert_close


@pytest.mark.parametrize("resolution", [0, 1, 2, 4])
@pytest.mark.parametrize("kernel_size", [1, 2, 5])
def test_dilated_taps_stand_at_multiples(kernel_size, resolution):
    kernel = DilatedKernel(2, kernel_size, resolution)
    step = 2**resolution
    assert kernel.positions().tolist() == [q * step for q in range(kernel_size)]
    expected = torch.zeros(2, kernel_size * step)
    for q in range(kernel_size):
        expected[:, q * step] = kernel.weight[:, q].detach()
    assert torch.equal(kernel.taps(), expected)


@pytest.mark.parametrize(("kernel_size", "resolution"), [(1, 0), (1, 4), (4, 0), (4, 3), (8, 2)])
def test_sparse_lags_are_distinct_ascending_and_shared_by_channels(kernel_size, resolution):
    kernel = SparseKernel(3, kernel_size, resolution)
    lags = kernel.lags.tolist()
    assert lags == sorted(set(lags))
    assert len(lags) == kernel_size
    assert 0 <= lags[0] and lags[-1] < kernel.span
    expected = torch.zeros(3, kernel.span)
    for q, lag in enumerate(lags):
        expected[:, lag] = kernel.weight[:, q].detach()
    assert torch.equal(kernel.taps(), expected)


def test_sparse_lags_differ_between_seeds_and_cover_the_span():
    seen = set()
    for seed in range(60):
        torch.manual_seed(seed)
        seen |= set(SparseKernel(1, 4, 2).lags.tolist())
    assert seen == set(range(16))


def test_sparse_lags_stay_through_training_and_are_saved():
    kernel = SparseKernel(2, 4, 3)
    lags = kernel.lags.clone()
    optimizer = torch.optim.AdamW(kernel.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        kernel.taps().square().sum().backward()
        optimizer.step()
    assert torch.equal(kernel.lags, lags)
    assert set(kernel.state_dict()) == {"weight", "lags"}
    assert torch.equal(kernel.state_dict()["lags"], lags)
    assert torch.equal(kernel.bfloat16().lags, lags)


def test_dense_taps_are_the_weights():
    kernel = DenseKernel(2, 3, 2)
    assert kernel.weight.shape == (2, 12)
    assert torch.equal(kernel.taps(), kernel.weight)


@pytest.mark.parametrize("kind", [DenseKernel, DilatedKernel, SparseKernel])
def test_white_input_keeps_its_variance(kind):
    energy = kind(4000, 8, 2).taps().detach().square().sum(-1).mean()
    assert float(energy) == pytest.approx(1, abs=0.05)


def test_implicit_taps_are_the_network_at_each_position():
    kernel = ImplicitKernel(2, 3, 1, dtype=torch.float64)
    for t in range(6):
        s = torch.tensor(t / 5, dtype=torch.float64)
        features = torch.stack([s, (2 * torch.pi * s).cos(), (2 * torch.pi * s).sin()])
        hidden = (kernel.frequency[0] * (kernel.weight_1 @ features + kernel.bias_1)).sin()
        hidden = (kernel.frequency[1] * (kernel.weight_2 @ hidden + kernel.bias_2)).sin()
        assert_close(kernel.taps()[:, t], kernel.weight_3 @ hidden)


def test_hyena_taps_are_the_network_under_its_window():
    kernel = HyenaKernel(3, 5, 2, dtype=torch.float64)
    network = ImplicitKernel(3, 5, 2, dtype=torch.float64)
    network.load_state_dict({k: v for k, v in kernel.state_dict().items() if k != "log_decay"})
    decay = kernel.log_decay.exp()
    for t in range(20):
        window = (decay / 10).sqrt() * torch.exp(-decay * t / 19)
        assert_close(kernel.taps()[:, t], window * network.taps()[:, t])


def test_a_fresh_hyena_kernel_reaches_as_far_as_it_says():
    decay = HyenaKernel(5, 100, 0).log_decay.exp()
    assert_close(torch.exp(-decay[0] * 1.5), torch.tensor(0.01))
    assert_close(torch.exp(-decay[-1] * 0.3), torch.tensor(0.01))
    energy = HyenaKernel(4000, 1024, 0).taps().detach().square().sum(-1).mean()
    assert float(energy) == pytest.approx(1, rel=0.5)  # one network serves all channels


def test_implicit_parameters_do_not_grow_with_the_span():
    counts = {
        sum(p.numel() for p in ImplicitKernel(2, size, resolution).parameters())
        for size, resolution in [(1, 0), (4, 3), (16, 6)]
    }
    assert len(counts) == 1


@pytest.mark.parametrize("kind", [DilatedKernel, SparseKernel])
def test_parameters_do_not_grow_with_the_resolution(kind):
    assert {sum(p.numel() for p in kind(2, 4, i).parameters()) for i in range(5)} == {8}
