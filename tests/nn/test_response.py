"""Impulse responses of every form, against the layer's answer to an impulse."""

import pytest
import torch

import mrconv
from mrconv.nn import KernelConv, ModalRecurrence
from mrconv.nn.response import impulse_response
from mrconv.testing import settled

F64 = torch.float64


def layers(dtype):
    sizes = {"dtype": dtype}
    yield settled(mrconv.MRConv(3, 32, kernel_size=4, **sizes))
    yield KernelConv(3, 32, kernel="s4d", **sizes).eval()
    yield mrconv.LongConv(3, 32, **sizes).eval()
    yield ModalRecurrence(3, 4, fir_head=5, **sizes).eval()
    yield ModalRecurrence(3, 2, windows=[(0, 9), (2, 32)], **sizes).eval()


@pytest.mark.parametrize("dtype", [F64, torch.float32])
@pytest.mark.parametrize("length", [20, 50])
def test_it_is_the_answer_to_an_impulse(dtype, length):
    impulse = torch.zeros(1, 3, length, dtype=dtype)
    impulse[..., 0] = 1
    for layer in layers(dtype):
        taps, bias = impulse_response(layer, length)
        with torch.no_grad():
            y = layer(impulse)[0].double()
        constant = 0 if bias is None else bias[:, None]
        assert taps.dtype == F64
        bound = 1e-12 if dtype == F64 else 1e-5
        assert float((taps + constant - y).abs().max()) < bound * float(y.abs().max())
        assert next(layer.parameters()).dtype == dtype


def test_all_taps_without_a_length():
    for layer in layers(F64):
        if layer.num_taps is not None:
            taps, _ = impulse_response(layer)
            assert torch.equal(taps, impulse_response(layer, 32)[0])
