"""The merged form of one layer: equal for every kernel, side, combination, gain and norm."""

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mrconv import BranchNorm, LongConv, MRConv
from mrconv.errors import MergeError
from mrconv.nn import Check, reparameterize
from mrconv.nn.reparameterize import TOLERANCES as LIBRARY_TOLERANCES
from mrconv.testing import TOLERANCES, assert_close, direct_convolution, layer_output, settled

KERNELS = ["dense", "fourier", "dilated", "sparse", "implicit", "modal", "fourier+sparse"]
FORMS = pytest.mark.parametrize("kernel", KERNELS)
SIDES = pytest.mark.parametrize("causal", [True, False])
COMBINE = pytest.mark.parametrize("combine", ["sum", "concat"])
GAINS = pytest.mark.parametrize("gains", ["learned", "fixed"])


def layer(dtype=torch.float64, **settings):
    return settled(MRConv(3, 24, kernel_size=4, dtype=dtype, **settings))


def ragged(dtype=torch.float64):
    return torch.randn(3, 3, 21, dtype=dtype), torch.tensor([21, 9, 1])


def assert_forms_equal(made, merged):
    x, lengths = ragged(made.shift.dtype)
    oracle = layer_output(made, x, lengths)
    old, new = made(x, lengths), merged(x, lengths)
    for got, expected in ((new, old), (new, oracle), (old, oracle)):
        assert_close(got, expected)
        assert_close(got[..., :2], expected[..., :2])  # the first samples see zeros before them
    valid = torch.arange(21) < lengths[:, None]
    assert (new.transpose(1, 2)[~valid] == 0).all()


@FORMS
@SIDES
@COMBINE
@GAINS
@pytest.mark.parametrize("norm", ["batch", "constant", "none"])
def test_equal_in_float64(kernel, causal, combine, gains, norm):
    made = layer(kernel=kernel, causal=causal, combine=combine, gains=gains, norm=norm)
    merged = made.reparameterize()
    assert type(merged) is LongConv
    assert_forms_equal(made, merged)


@FORMS
@SIDES
@COMBINE
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_equal_in_lower_precision(kernel, causal, combine, dtype):
    made = layer(torch.float32, kernel=kernel, causal=causal, combine=combine).to(dtype)
    merged = made.reparameterize()
    assert merged.taps.dtype == dtype
    x, lengths = ragged(dtype)
    assert_close(merged(x, lengths), made(x, lengths))


@pytest.mark.parametrize("statistics", ["exact", "textbook"])
@pytest.mark.parametrize("skip", [True, False])
def test_equal_after_training(statistics, skip):
    norm = BranchNorm(statistics=statistics, momentum=None)
    made = MRConv(3, 24, kernel_size=4, norm=norm, skip=skip, dtype=torch.float64)
    optimizer = torch.optim.AdamW(made.parameters(), lr=0.05)
    for _ in range(5):
        x, lengths = ragged()
        optimizer.zero_grad()
        made(x + 3, lengths).square().sum().backward()
        optimizer.step()
    made.eval()
    assert_forms_equal(made, made.reparameterize())


@given(
    kernel_size=st.integers(1, 7),
    more=st.integers(0, 25),
    length=st.integers(0, 40),
    causal=st.booleans(),
    combine=st.sampled_from(["sum", "concat"]),
    kernel=st.sampled_from(KERNELS),
)
def test_any_sizes(kernel_size, more, length, causal, combine, kernel):
    made = settled(
        MRConv(
            2,
            kernel_size + more,
            kernel_size=kernel_size,
            causal=causal,
            combine=combine,
            kernel=kernel,
            dtype=torch.float64,
        )
    )
    x = torch.randn(2, 2, length, dtype=torch.float64)
    assert_close(made.reparameterize()(x), layer_output(made, x))


@SIDES
def test_taps_are_the_response_to_an_impulse(causal):
    made = layer(causal=causal)
    merged = made.reparameterize()
    impulse = torch.zeros(1, 3, 33, dtype=torch.float64)
    impulse[..., 16] = 1
    response = (layer_output(made, impulse) - merged.bias[:, None])[0]
    assert_close(response[:, 16:32] if causal else response[:, :32], merged.taps)
    assert merged.num_taps == 16


@pytest.mark.parametrize("rate", [1, 2, 4])
@SIDES
def test_rate(rate, causal):
    made = layer(causal=causal)
    merged = made.reparameterize(rate=rate)
    assert merged.num_taps == 16 // rate
    x, lengths = ragged()
    assert_close(merged(x, lengths), made(x, lengths, rate=rate))
    taps, bias = made.merged_taps(rate)
    assert_close(direct_convolution(x[:1], taps, causal=causal) + bias[:, None], merged(x[:1]))


def test_the_old_layer_stays_and_shares_nothing():
    made = layer()
    before = {name: value.clone() for name, value in made.state_dict().items()}
    merged = made.reparameterize()
    torch.nn.init.zeros_(merged.taps)
    torch.nn.init.zeros_(merged.bias)
    assert all(torch.equal(value, before[name]) for name, value in made.state_dict().items())
    assert not merged.training
    assert merged.taps.requires_grad


def test_other_names():
    made = layer()
    for merged in (made.fuse(), reparameterize(made)):
        assert torch.equal(merged.taps, made.reparameterize().taps)


def test_random_numbers_of_the_user_are_left_alone():
    made = layer(kernel="dense")
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    made.reparameterize()
    assert torch.equal(torch.rand(4), expected)


def test_what_was_checked_is_kept():
    merged = layer().reparameterize()
    check = merged.checked
    assert isinstance(check, Check)
    assert check.difference <= 1e-10
    assert check.inputs == (2, 3, 25)
    assert check.dtype == torch.float64
    assert f"checked: differs by {check.difference:.1e} on (2, 3, 25) float64" in repr(merged)
    with pytest.raises(dataclasses.FrozenInstanceError):
        check.difference = 0.0


def test_bounds_are_the_promised_ones():
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        assert LIBRARY_TOLERANCES[dtype] == TOLERANCES[dtype]


def test_meta_device():
    merged = MRConv(3, 24, kernel_size=4, device="meta").eval().reparameterize()
    assert merged.taps.is_meta
    assert merged.checked is None


@pytest.mark.parametrize("part", ["", "kernels", "kernels.1"])
def test_refuses_training_mode(says, part):
    made = layer()
    made.get_submodule(part).train()
    with says(
        MergeError,
        "reparameterize: BatchNorm statistics are still changing (training mode); "
        "got training=True. Call model.eval() first.",
    ):
        made.reparameterize()


def test_refuses_a_result_that_differs(says, monkeypatch):
    made = layer(torch.float32)
    taps, bias = made.merged_taps()
    monkeypatch.setattr(made, "merged_taps", lambda rate: (2 * taps, 2 * bias))
    with says(
        MergeError,
        "reparameterize: the new layer must equal the old one to 1e-05; got a relative difference "
        "of 1.0e+00. Look for values that are not finite, or convert in float64.",
    ):
        made.reparameterize()


def test_refuses_values_that_are_not_finite(says):
    made = layer()
    torch.nn.init.constant_(made.shift, float("nan"))
    with says(
        MergeError,
        "reparameterize: the new layer must equal the old one to 1e-10; got a relative difference "
        "of nan. Look for values that are not finite, or convert in float64.",
    ):
        made.reparameterize()
