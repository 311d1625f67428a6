"""The exact statistics against the textbook ones: outputs, statistics and every gradient."""

import itertools

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import mrconv
from mrconv._checks import mask_invalid
from mrconv.branch_statistics import dispatch, normalized_branches
from mrconv.kernels import Branch
from mrconv.nn import MaskedBatchNorm

EXACT, TEXTBOOK = mrconv.BranchNorm(), mrconv.BranchNorm(statistics="textbook")
# (B, D, L, l_0, R): powers of two, odd, prime, kernels longer than the input, one branch, and
# branches of more and of fewer taps than a Gram matrix takes; of many rows, so that tails are used
SIZES = [
    (3, 2, 64, 4, 5),
    (2, 3, 50, 3, 5),
    (1, 2, 37, 2, 5),
    (2, 2, 20, 4, 4),
    (4, 1, 7, 5, 1),
    (2, 3, 100, 40, 2),
    (2, 3, 128, 8, 5),
    (1, 1, 3, 2, 1),
    (9, 1, 512, 40, 4),
    (9, 2, 300, 40, 4),
]


def made_branches(channels, length, kernel_size, resolutions, kind):
    branches = []
    for i in range(resolutions):
        comb = kind == "combs" or (kind == "mixed" and i % 2)
        taps = kernel_size if comb else kernel_size << i
        taps = 2 * taps if kind == "two-sided" else taps
        values = torch.randn(channels, taps, dtype=torch.float64).requires_grad_()
        if kind == "scattered":
            # one lag may lie beyond the input; a single tap that is met would have no gradient
            near = torch.randperm(min(taps - 1, length))[: 3 + 7 * (i % 3)].sort().values
            lags = torch.cat([near, torch.tensor([taps - 1])])
            few = len(lags)
            branches.append(Branch(values[:, :few].detach().requires_grad_(), 1, lags, taps))
            continue
        branches.append(Branch(values, 1 << i if comb else 1))
    return branches


def relative(got, expected):
    return float((got - expected).detach().norm() / expected.detach().norm().clamp_min(1e-30))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("kind", ["combs", "dense", "mixed", "two-sided", "scattered"])
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("ragged", [False, True])
def test_equals_textbook(sizes, kind, offset, ragged):
    batch, channels, length, kernel_size, resolutions = sizes
    u = torch.randn(batch, channels, length, dtype=torch.float64).cumsum(-1) + offset
    lengths = None
    if ragged:
        lengths = torch.randint(0, length + 1, (batch,))
        lengths[0] = length
        u = torch.where((torch.arange(length) < lengths[:, None])[:, None], u, 0)
    u.requires_grad_()
    branches = made_branches(channels, length, kernel_size, resolutions, kind)
    gain = torch.rand(resolutions, channels, dtype=torch.float64).requires_grad_()
    shift = torch.randn(resolutions, channels, dtype=torch.float64).requires_grad_()
    weights = torch.randn(batch, channels, length, dtype=torch.float64)
    skip = torch.randn(channels, dtype=torch.float64).requires_grad_()
    leaves = [u, gain, shift, skip, *(branch.values for branch in branches)]

    def run(norm):
        outputs = normalized_branches(
            u, branches, gain, shift, norm, lengths, skip=skip, causal=kind != "two-sided"
        )
        du, *rest = torch.autograd.grad((outputs[0] * weights).sum(), leaves)
        return [*outputs, mask_invalid(du, lengths), *rest]

    for got, expected in zip(run(EXACT), run(TEXTBOOK), strict=True):
        assert relative(got, expected) < 1e-9


def test_a_constant_channel_has_variance_0():
    layer = mrconv.MRConv(2, 64, kernel_size=4, kernel="dilated", dtype=torch.float64)
    x = torch.full((2, 2, 64), 7.0, dtype=torch.float64)
    x[:, 1] = 0
    y0 = layer(x)
    twin = mrconv.MRConv(2, 64, kernel_size=4, kernel="dilated", norm=TEXTBOOK, dtype=torch.float64)
    twin.load_state_dict({**layer.state_dict(), "num_batches_tracked": torch.tensor(0)})
    assert torch.isfinite(y0).all()
    torch.testing.assert_close(twin(x), y0, rtol=1e-9, atol=1e-9)


def test_small_inputs_take_the_textbook_form(monkeypatch):
    layer = mrconv.MRConv(4, 64, kernel_size=8, kernel="fourier")
    x = torch.randn(2, 4, 64)
    expected = layer(x)
    monkeypatch.setattr(dispatch, "exact_branches", None)
    with pytest.raises(TypeError):
        layer(x)
    monkeypatch.setattr(dispatch, "SMALL", x.numel() + 1)
    torch.testing.assert_close(layer(x), expected)


def _joined_batch():
    generator = torch.Generator().manual_seed(3)
    u = torch.randn(5, 16, 40, generator=generator, dtype=torch.float64)
    u[2:] = 3 * u[2:] + 5  # the two processes see different scales
    weights = torch.randn(5, 16, 40, generator=generator, dtype=torch.float64)
    return u, weights


def _trained(kernel, statistics, rows):
    torch.manual_seed(0)
    layer = mrconv.MRConv(
        16,
        40,
        kernel_size=4,
        kernel=kernel,
        norm=mrconv.BranchNorm(statistics=statistics),
        dtype=torch.float64,
    )
    model = torch.nn.Sequential(layer, MaskedBatchNorm(16, dtype=torch.float64))
    u, weights = _joined_batch()
    x = u[rows].requires_grad_()
    y = model(x)
    (y * weights[rows]).sum().backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    statistics = {k: v for k, v in model.state_dict().items() if "running" in k}
    return y.detach(), x.grad, gradients, statistics


def _process(rank, address, kernel, statistics, results):
    torch.set_num_threads(1)
    dispatch.SMALL = 0  # a fixture does not reach this process
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    rows = slice(0, 2) if rank == 0 else slice(2, 5)
    y, dx, gradients, running = _trained(kernel, statistics, rows)
    for gradient in gradients.values():
        dist.all_reduce(gradient)
    results[rank] = [y.numpy(), dx.numpy()] + [
        {name: value.numpy() for name, value in values.items()} for values in (gradients, running)
    ]
    dist.destroy_process_group()


@pytest.mark.distributed
@pytest.mark.parametrize(
    ("kernel", "statistics"),
    list(itertools.product(["dilated", "fourier"], ["exact", "textbook"])),
)
def test_two_processes_equal_one(kernel, statistics, tmp_path):
    y, dx, gradients, running = _trained(kernel, statistics, slice(None))
    with mp.get_context("spawn").Manager() as manager:
        results = manager.dict()
        address = f"file://{tmp_path / 'meeting'}"
        mp.spawn(_process, (address, kernel, statistics, results), nprocs=2)
        first, second = results[0], results[1]
    for got, expected in zip((0, 1), (y, dx), strict=True):
        joined = torch.cat([torch.from_numpy(first[got]), torch.from_numpy(second[got])])
        assert relative(joined, expected) < 1e-9
    for found in (first, second):
        for name, value in gradients.items():
            scale = max(float(value.norm()), 1e-3)  # shifts before a norm have a gradient of 0
            assert float((torch.from_numpy(found[2][name]) - value).norm()) / scale < 1e-9
        for name, value in running.items():
            assert relative(torch.from_numpy(found[3][name]), value) < 1e-9
