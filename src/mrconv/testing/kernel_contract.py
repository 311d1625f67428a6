"""KernelContract: what every kernel promises, as a test class to subclass."""

import copy
import io
import pickle
from collections.abc import Iterator

import torch
from torch import Tensor

from ..errors import ArgumentError
from ..kernels import Kernel
from ..nn import MRConv
from .cases import settled
from .oracles import layer_output
from .tolerances import assert_close

__all__ = ["KernelContract"]


class KernelContract:
    """Tests that every kernel must pass, built in or your own, under any runner of test classes.

    Subclass it under a name that starts with ``Test`` and define ``make``.

    Example:
        >>> from mrconv.kernels import DenseKernel
        >>> from mrconv.testing import KernelContract
        >>> class TestDenseKernel(KernelContract):
        ...     def make(self, channels, kernel_size, resolution, *, device=None, dtype=None):
        ...         sizes = (channels, kernel_size, resolution)
        ...         return DenseKernel(*sizes, device=device, dtype=dtype)
        >>> TestDenseKernel().test_span_and_shape()
    """

    channels = 3
    #: Pairs of kernel_size and resolution that every test runs through.
    sizes: tuple[tuple[int, int], ...] = ((1, 0), (1, 2), (2, 1), (4, 0), (4, 2), (5, 1), (7, 0))

    def make(
        self,
        channels: int,
        kernel_size: int,
        resolution: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> Kernel:
        """Makes the kernel under test; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__}: define make(). Return a Kernel.")

    def kernels(
        self, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Iterator[Kernel]:
        """The kernel in each of ``sizes``, from fixed random numbers."""
        for kernel_size, resolution in self.sizes:
            torch.manual_seed(kernel_size + 100 * resolution)
            yield self.make(self.channels, kernel_size, resolution, device=device, dtype=dtype)

    def test_span_and_shape(self) -> None:
        """The span is kernel_size 2^resolution, and both sides have a tap for each of its lags."""
        for (kernel_size, resolution), kernel in zip(self.sizes, self.kernels(), strict=True):
            assert kernel.span == kernel_size * 2**resolution
            assert kernel.taps().shape == (self.channels, kernel.span)
            assert kernel.future_taps().shape == (self.channels, kernel.span)

    def test_taps_are_finite_and_not_all_zero(self) -> None:
        """A fresh kernel has something to convolve with, in every channel."""
        for kernel in self.kernels():
            for taps in _both_sides(kernel):
                assert taps.isfinite().all()
                assert (taps != 0).any(-1).all()

    def test_dtype(self) -> None:
        """Taps are float32 from half and float32 parameters, float64 from float64.

        Parameters have the dtype asked for, those named in ``precise`` at least float32.
        """
        wider = {
            torch.bfloat16: torch.float32,
            torch.float16: torch.float32,
            torch.float32: torch.float32,
            torch.float64: torch.float64,
        }
        for dtype, expected in wider.items():
            for kernel in self.kernels(dtype=dtype):
                assert all(not p.is_complex() for p in kernel.state_dict().values())
                for part in kernel.modules():
                    precise = part.precise if isinstance(part, Kernel) else ()
                    for name, tensor in part.named_parameters(recurse=False):
                        assert tensor.dtype == (expected if name in precise else dtype)
                assert all(taps.dtype == expected for taps in _both_sides(kernel))

    def test_cast(self) -> None:
        """A cast to float64 and back changes no tap; one to bfloat16 rounds the parameters."""
        for kernel in self.kernels():
            before = kernel.taps().detach()
            assert kernel.double().taps().dtype == torch.float64
            torch.testing.assert_close(kernel.float().taps(), before, rtol=0, atol=0)
            assert kernel.bfloat16().taps().dtype == torch.float32
            # an implicit kernel may amplify the rounding of its weights
            assert_close(kernel.taps(), before, tolerance=0.5)

    def test_same_taps_at_every_call(self) -> None:
        """Taps are a function of the parameters, in training mode too."""
        for kernel in self.kernels():
            assert torch.equal(kernel.train().taps(), kernel.taps())
            assert torch.equal(kernel.eval().taps(), kernel.train().taps())
            assert torch.equal(kernel.future_taps(), kernel.future_taps())

    def test_gradient(self) -> None:
        """The derivatives are right by finite differences, and reach every parameter."""
        for kernel in self.kernels(dtype=torch.float64):
            parameters = tuple(p for p in kernel.parameters() if p.requires_grad)
            assert parameters
            for side in (kernel.taps, kernel.future_taps):

                def taps(*changed: Tensor, side: object = side) -> Tensor:
                    return side()  # type: ignore[operator]

                assert torch.autograd.gradcheck(taps, parameters, fast_mode=True)
            weights = torch.randn_like(kernel.taps())
            (kernel.taps() * weights).sum().backward()
            assert all(p.grad is not None and (p.grad != 0).any() for p in parameters)

    def test_positions(self) -> None:
        """Positions are the ascending lags at which taps may be other than 0, or None."""
        for kernel in self.kernels():
            positions = kernel.positions()
            if positions is None:
                continue
            assert positions.dtype == torch.int64
            carried = (kernel.taps() != 0).any(0).nonzero()[:, 0]
            torch.testing.assert_close(positions, carried, rtol=0, atol=0)

    def test_rate(self) -> None:
        """At half rate a band-limited kernel keeps every other tap, twice as large.

        From the second resolution on: below it, the upper modes have no place.
        """
        for kernel in self.kernels(dtype=torch.float64):
            if not kernel.band_limited:
                _refuses_rate(kernel)
            elif kernel.span % 2:
                _refuses_odd_span(kernel)
            else:
                assert kernel.taps(2).shape == (self.channels, kernel.span // 2)
                if kernel.resolution >= 1:
                    assert_close(kernel.taps(2), 2 * kernel.taps()[:, ::2])
                    assert_close(kernel.future_taps(2), 2 * kernel.future_taps()[:, 1::2])

    def test_state_dict(self) -> None:
        """A kernel that loads another's state has its taps, to the bit."""
        others = self.kernels()
        for kernel, other in zip(self.kernels(), others, strict=True):
            other.reset_parameters()
            file = io.BytesIO()
            torch.save(kernel.state_dict(), file)
            file.seek(0)
            other.load_state_dict(torch.load(file, weights_only=True))
            assert torch.equal(other.taps(), kernel.taps())
            assert torch.equal(other.future_taps(), kernel.future_taps())

    def test_copies(self) -> None:
        """Deep copies and pickled copies have equal taps and parameters of their own."""
        for kernel in self.kernels():
            taps = kernel.taps().detach()
            for other in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
                assert torch.equal(other.taps(), taps)
                other.reset_parameters()
                assert torch.equal(kernel.taps(), taps)

    def test_meta_device(self) -> None:
        """A kernel made without memory has shapes, and taps once it is given memory and reset."""
        for kernel in self.kernels(device="meta"):
            assert all(tensor.is_meta for tensor in kernel.state_dict().values())
            assert kernel.taps().is_meta
            assert kernel.taps().shape == (self.channels, kernel.span)
            real = kernel.to_empty(device="cpu")
            real.reset_parameters()
            assert real.taps().isfinite().all()
            assert (real.taps() != 0).any()

    def test_reset_parameters(self) -> None:
        """A reset leaves no parameter as it was, in place."""
        for kernel in self.kernels():
            before = list(kernel.parameters())
            with torch.no_grad():
                for parameter in before:
                    parameter.fill_(77.0)
            kernel.reset_parameters()
            after = list(kernel.parameters())
            assert all(new is old for new, old in zip(after, before, strict=True))
            assert all((parameter != 77.0).all() for parameter in after)

    def test_inside_a_causal_layer(self) -> None:
        """Branches, merged layer and direct convolution agree in a causal MRConv."""
        self._holds_in_a_layer(causal=True)

    def test_inside_a_two_sided_layer(self) -> None:
        """Branches, merged layer and direct convolution agree in a two-sided MRConv."""
        self._holds_in_a_layer(causal=False)

    def _holds_in_a_layer(self, *, causal: bool) -> None:
        for kernel_size in sorted({size for size, _ in self.sizes}):
            torch.manual_seed(kernel_size)
            layer = MRConv(
                self.channels,
                4 * kernel_size,
                kernel_size=kernel_size,
                kernel=self.make,
                causal=causal,
                dtype=torch.float64,
            )
            settled(layer)
            x = torch.randn(2, self.channels, 4 * kernel_size + 3, dtype=torch.float64)
            expected = layer_output(layer, x)
            for y in (layer(x), layer.by_branches(x), layer.reparameterize()(x)):
                assert_close(y, expected)


def _both_sides(kernel: Kernel) -> tuple[Tensor, Tensor]:
    return kernel.taps(), kernel.future_taps()


def _refuses_rate(kernel: Kernel) -> None:
    owner = type(kernel).__name__
    # a kernel of parts may leave the refusal to the first part that cannot be thinned
    sentence = (
        "rate must be 1, because its taps are not band-limited; got rate=2. Use kernel='fourier', "
        "or resample the input to the training rate."
    )
    message = _refusal(kernel)
    assert message.endswith(sentence), f"{owner} says: {message}"


def _refuses_odd_span(kernel: Kernel) -> None:
    message, size = _refusal(kernel), kernel.span
    assert message == (
        f"{type(kernel).__name__}: rate must divide the span of {size} taps at resolution "
        f"{kernel.resolution}; got rate=2. Choose a kernel_size divisible by 2."
    ), message


def _refusal(kernel: Kernel) -> str:
    try:
        kernel.taps(2)
    except ArgumentError as error:
        return str(error)
    raise AssertionError(f"{type(kernel).__name__}.taps(2) did not refuse.")
