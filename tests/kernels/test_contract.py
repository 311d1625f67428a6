"""Every kernel of the library keeps the contract."""

from mrconv.kernels import (
    DenseKernel,
    DilatedKernel,
    FourierKernel,
    HyenaKernel,
    ImplicitKernel,
    InterpolatedKernel,
    ModalKernel,
    MultiresKernel,
    S4DKernel,
    S4Kernel,
    SirenKernel,
    SparseKernel,
    kernel_factory,
)
from mrconv.testing import KernelContract


class _OfClass(KernelContract):
    cls = None

    def make(self, channels, kernel_size, resolution, *, device=None, dtype=None):
        return self.cls(channels, kernel_size, resolution, device=device, dtype=dtype)


class TestDense(_OfClass):
    cls = DenseKernel


class TestDilated(_OfClass):
    cls = DilatedKernel


class TestFourier(_OfClass):
    cls = FourierKernel


class TestHyena(_OfClass):
    cls = HyenaKernel


class TestImplicit(_OfClass):
    cls = ImplicitKernel


class TestInterpolated(_OfClass):
    cls = InterpolatedKernel


class TestInterpolatedOfManyPieces(KernelContract):
    def make(self, channels, kernel_size, resolution, *, device=None, dtype=None):
        sizes = (channels, kernel_size, resolution)
        return InterpolatedKernel(*sizes, points=3, decay=0.7, device=device, dtype=dtype)


class TestModal(_OfClass):
    cls = ModalKernel
    # without a span of one sample, where decays and angles have no effect on the past
    sizes = tuple(size for size in KernelContract.sizes if size != (1, 0))


class TestS4D(KernelContract):
    def make(self, channels, kernel_size, resolution, *, device=None, dtype=None):
        sizes = (channels, kernel_size, resolution)
        return S4DKernel(*sizes, order=6, device=device, dtype=dtype)


class TestMultires(KernelContract):
    def make(self, channels, kernel_size, resolution, *, device=None, dtype=None):
        sizes = (channels, kernel_size, resolution)
        return MultiresKernel(*sizes, filter_size=3, device=device, dtype=dtype)


class TestS4(KernelContract):
    def make(self, channels, kernel_size, resolution, *, device=None, dtype=None):
        sizes = (channels, kernel_size, resolution)
        return S4Kernel(*sizes, order=4, systems=2, device=device, dtype=dtype)


class TestSiren(KernelContract):
    def make(self, channels, kernel_size, resolution, *, device=None, dtype=None):
        sizes = (channels, kernel_size, resolution)
        return SirenKernel(*sizes, width=6, omega=5.0, device=device, dtype=dtype)


class TestSparse(_OfClass):
    cls = SparseKernel


class _OfName(KernelContract):
    name = ""

    def make(self, channels, kernel_size, resolution, *, device=None, dtype=None):
        make = kernel_factory(self.name)
        return make(channels, kernel_size, resolution, device=device, dtype=dtype)


class TestFourierSparse(_OfName):
    name = "fourier+sparse"


class TestThree(_OfName):
    name = "dense+dilated+implicit"


class TestModalSparse(_OfName):
    name = "modal+sparse"
    sizes = TestModal.sizes
