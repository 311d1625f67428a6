"""Every kernel of the library keeps the contract."""

from mrconv.kernels import (
    DenseKernel,
    DilatedKernel,
    FourierKernel,
    ImplicitKernel,
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


class TestImplicit(_OfClass):
    cls = ImplicitKernel


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
