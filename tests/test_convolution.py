"""Long convolutions by FFT and directly, against the sum over lags in float64."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mrconv.convolution import fast_length, long, long_convolution, operator
from mrconv.errors import ArgumentError, DtypeError, ShapeError
from mrconv.testing import assert_close, direct_convolution

SIDES = pytest.mark.parametrize("causal", [True, False])
METHODS = pytest.mark.parametrize("method", ["auto", "fft", "direct"])
# length and taps: 1, 2, odd, prime, L < K, L = K, L > K
EDGES = [(1, 1), (1, 5), (2, 1), (2, 2), (5, 3), (7, 13), (13, 7), (16, 16), (17, 16), (31, 64)]


def operands(length, num_taps, causal=True, batch=2, channels=3, dtype=torch.float64):
    columns = num_taps if causal else 2 * num_taps
    u = torch.randn(batch, channels, length, dtype=dtype)
    return u, torch.randn(channels, columns, dtype=dtype)


@SIDES
@METHODS
@pytest.mark.parametrize(("length", "num_taps"), EDGES)
def test_values(length, num_taps, causal, method):
    u, taps = operands(length, num_taps, causal)
    y = long_convolution(u, taps, causal=causal, method=method)
    assert_close(y, direct_convolution(u, taps, causal=causal), 1e-12)


@given(
    batch=st.integers(1, 3),
    channels=st.integers(1, 4),
    length=st.integers(1, 40),
    num_taps=st.integers(1, 60),
    causal=st.booleans(),
)
def test_any_sizes(batch, channels, length, num_taps, causal):
    u, taps = operands(length, num_taps, causal, batch, channels)
    y = long_convolution(u, taps, causal=causal)
    assert_close(y, direct_convolution(u, taps, causal=causal), 1e-12)


@SIDES
@METHODS
def test_float32_stays_float32(causal, method):
    u, taps = operands(50, 30, causal, dtype=torch.float32)
    y = long_convolution(u, taps, causal=causal, method=method)
    assert y.dtype == torch.float32
    assert_close(y, direct_convolution(u, taps, causal=causal), 1e-6)


@SIDES
@METHODS
@pytest.mark.parametrize(
    ("batch", "channels", "length", "num_taps"),
    [(2, 3, 0, 4), (0, 3, 5, 4), (2, 0, 5, 4), (2, 3, 5, 0), (2, 3, 0, 0)],
)
def test_empty(batch, channels, length, num_taps, causal, method):
    u, taps = operands(length, num_taps, causal, batch, channels)
    y = long_convolution(u, taps, causal=causal, method=method)
    assert y.shape == u.shape
    assert (y == 0).all()


@pytest.mark.parametrize("block", [1, 64, 200, 1 << 18])
@SIDES
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_of_any_size_give_the_same(monkeypatch, block, causal, threads):
    u, taps = operands(20, 13, causal, channels=5)
    expected = direct_convolution(u, taps, causal=causal)
    monkeypatch.setattr(operator, "BLOCK", block)
    monkeypatch.setattr(operator, "MANY", 0)  # in worker threads, where there are two
    torch.set_num_threads(threads)
    u.requires_grad_()
    taps.requires_grad_()
    try:
        y = long_convolution(u, taps, causal=causal, method="fft")
        weights = torch.randn_like(y)
        got = torch.autograd.grad(y, (u, taps), weights)
    finally:
        torch.set_num_threads(1)
    assert_close(y, expected)
    oracle = torch.autograd.grad(direct_convolution(u, taps, causal=causal), (u, taps), weights)
    for one, other in zip(got, oracle, strict=True):
        assert_close(one, other, 1e-12)


@SIDES
@METHODS
@pytest.mark.parametrize(("length", "num_taps"), [(1, 1), (1, 4), (5, 3), (4, 6), (6, 6)])
def test_gradients(length, num_taps, causal, method):
    u, taps = operands(length, num_taps, causal, channels=2)
    u.requires_grad_()
    taps.requires_grad_()

    def convolve(u, taps):
        return long_convolution(u, taps, causal=causal, method=method)

    assert torch.autograd.gradcheck(convolve, (u, taps))


@pytest.mark.parametrize("which", ["u", "taps"])
def test_gradient_of_one_argument_only(which):
    u, taps = operands(5, 3)
    (u if which == "u" else taps).requires_grad_()
    long_convolution(u, taps).sum().backward()
    assert (u.grad is None) == (which == "taps")
    assert (taps.grad is None) == (which == "u")


@SIDES
@pytest.mark.parametrize("short", [True, False])
def test_operators_pass_torchs_own_checks(causal, short):
    u, taps = operands(6, 4, causal, channels=2)
    future = 0 if causal else 4
    arguments = (u.requires_grad_(), taps.requires_grad_(), future, short)
    # what the test of dynamic shapes traces has complex numbers, so it is left to the layers
    utilities = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(operator.convolve, arguments, test_utils=utilities)
    gradient = torch.randn(2, 2, 6, dtype=torch.float64)
    detached = (gradient, u.detach(), taps.detach(), future, short)
    torch.library.opcheck(operator.convolve_backward, detached, test_utils=utilities)


def test_strided_operands():
    u, taps = operands(7, 5)
    strided = u.transpose(1, 2).contiguous().transpose(1, 2)
    turned = taps.T.contiguous().T
    assert_close(long_convolution(strided, turned), direct_convolution(u, taps))


def test_the_input_is_left_alone():
    u, taps = operands(7, 5)
    before = u.clone(), taps.clone()
    long_convolution(u, taps)
    assert torch.equal(u, before[0])
    assert torch.equal(taps, before[1])


@pytest.mark.parametrize("length", [1, 2, 9, 30])
def test_nothing_wraps(length):
    """The last sample never reaches the first output, nor the first the last but by its lag."""
    u = torch.zeros(1, 1, length, dtype=torch.float64)
    u[..., -1] = 1
    y = long_convolution(u, torch.ones(1, 3 * length, dtype=torch.float64), method="fft")
    assert y[..., :-1].abs().max() < 1e-14 if length > 1 else True
    assert float(y[..., -1]) == pytest.approx(1)


@METHODS
@pytest.mark.parametrize("cut", [0, 1, 10, 36])
def test_the_past_does_not_see_the_future(method, cut):
    u, taps = operands(37, 20)
    changed = u.clone()
    changed[..., cut:] = torch.randn_like(changed[..., cut:])
    before = long_convolution(u, taps, method=method)[..., :cut]
    after = long_convolution(changed, taps, method=method)[..., :cut]
    if method == "direct":
        assert torch.equal(before, after)
    else:
        assert_close(after, before, 1e-12)


@pytest.mark.parametrize(("cut", "num_taps"), [(0, 3), (10, 4), (36, 8), (20, 60)])
def test_a_nan_stays_in_its_own_future_by_the_direct_method(cut, num_taps):
    u, taps = operands(37, num_taps, dtype=torch.float32)
    spoilt = u.clone()
    spoilt[0, 1, cut] = float("nan")
    y = long_convolution(spoilt, taps, method="direct")
    clean = long_convolution(u, taps, method="direct")
    reach = slice(cut, cut + num_taps)
    assert y[0, 1, reach].isnan().all()
    untouched = torch.ones_like(u, dtype=torch.bool)
    untouched[0, 1, reach] = False
    assert torch.equal(y[untouched], clean[untouched])


@SIDES
@METHODS
@pytest.mark.parametrize("mapped", [(0, None), (None, 0), (0, 0), (2, 1), (1, 2), (3, None)])
def test_vmap_over_each_argument(causal, method, mapped):
    u, taps = operands(9, 4, causal)
    many_u = torch.randn(5, *u.shape, dtype=u.dtype)
    many_taps = torch.randn(5, *taps.shape, dtype=u.dtype)
    u_at, taps_at = mapped
    inputs = (
        u if u_at is None else many_u.movedim(0, u_at),
        taps if taps_at is None else many_taps.movedim(0, taps_at),
    )

    def convolve(u, taps):
        return long_convolution(u, taps, causal=causal, method=method)

    y = torch.vmap(convolve, in_dims=mapped)(*inputs)
    for i in range(5):
        one_u = u if u_at is None else many_u[i]
        one_taps = taps if taps_at is None else many_taps[i]
        assert_close(y[i], direct_convolution(one_u, one_taps, causal=causal))


@SIDES
@METHODS
def test_many_gradients_at_once(causal, method):
    u, taps = (x.requires_grad_() for x in operands(9, 4, causal))
    y = long_convolution(u, taps, causal=causal, method=method)
    many = torch.randn(5, *y.shape, dtype=y.dtype)
    together = torch.autograd.grad(y, (u, taps), many, is_grads_batched=True, retain_graph=True)
    for i in range(5):
        for got, expected in zip(
            together, torch.autograd.grad(y, (u, taps), many[i], retain_graph=True), strict=True
        ):
            assert_close(got[i], expected)


def test_worker_threads_share_inference_mode(monkeypatch):
    u, taps = operands(20, 13, channels=5)
    monkeypatch.setattr(operator, "MANY", 0)
    torch.set_num_threads(2)
    try:
        with torch.inference_mode():
            y = long_convolution(u, taps, method="fft")
    finally:
        torch.set_num_threads(1)
    assert_close(y.clone(), direct_convolution(u, taps))


@SIDES
def test_a_small_input_is_convolved_without_blocks(causal, monkeypatch):
    u, taps = operands(40, 20, causal)
    expected = long_convolution(u, taps, causal=causal, method="fft")
    monkeypatch.setattr(operator, "in_blocks", None)
    assert_close(long_convolution(u, taps, causal=causal), expected)
    with pytest.raises(TypeError):
        long_convolution(u, taps, causal=causal, method="fft")


@SIDES
def test_few_taps_are_added_up_without_a_transform(causal, monkeypatch):
    u, taps = operands(9, 4, causal)
    monkeypatch.setattr(long, "SMALL", 0)
    monkeypatch.setattr(torch.fft, "rfft", None)
    assert_close(
        long_convolution(u, taps, causal=causal), direct_convolution(u, taps, causal=causal)
    )
    with pytest.raises(TypeError):
        long_convolution(u, taps, causal=causal, method="fft")


def test_fast_length():
    sizes = sorted({2**a * b for a in range(12) for b in (1, 3, 5, 15)})
    for least in range(1, 1200):
        assert fast_length(least) == next(size for size in sizes if size >= least)


def test_refuses_shapes(says):
    stem = (
        "long_convolution: input must be (batch, channels, length) and taps (channels, taps); "
        "got {} and {}. Give both the same channels."
    )
    for u, taps in [((3, 7), (3, 4)), ((2, 3, 7), (4,)), ((2, 3, 7), (2, 4))]:
        with says(ShapeError, stem.format(u, taps)):
            long_convolution(torch.zeros(u), torch.zeros(taps))
    with says(
        ShapeError,
        "long_convolution: two-sided taps must be (channels, 2 K), K a side; got (3, 5). "
        "Pad the shorter side with a zero.",
    ):
        long_convolution(torch.zeros(2, 3, 7), torch.zeros(3, 5), causal=False)


def test_refuses_unknown_methods(says):
    with says(
        ArgumentError,
        "long_convolution: method must be one of 'auto', 'fft', 'direct'; got 'dirct'. "
        "Did you mean 'direct'?",
    ):
        long_convolution(torch.zeros(2, 3, 7), torch.zeros(3, 5), method="dirct")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (torch.float32, torch.float64),
        (torch.float64, torch.float32),
        (torch.bfloat16, torch.bfloat16),
        (torch.int64, torch.int64),
        (torch.complex64, torch.complex64),
    ],
)
def test_refuses_dtypes(says, left, right):
    with says(
        DtypeError,
        "long_convolution: input and taps must both be float32 or both float64; "
        f"got {left} and {right}. Convert them first.",
    ):
        long_convolution(torch.zeros(2, 3, 7, dtype=left), torch.zeros(3, 5, dtype=right))
