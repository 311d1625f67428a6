"""The paper's ablations on small tasks: each is data, the variants of a mixer."""

from collections.abc import Mapping
from typing import Any

from .ablation import Ablation, Variant
from .ablation_rows import Bar
from .published import ABLATIONS
from .small_tasks import TASKS

__all__ = ["COMBINE", "DESIGN", "KERNELS", "KERNEL_SIZE", "NORM", "sum_of_fourier"]

#: Kernel sizes of the published design ablation, at which the other tables vary something else.
SIZES: Mapping[str, int] = {"listops": 2, "image": 32}
#: One kernel of the layer's whole reach.
WHOLE: Mapping[str, int] = {"listops": 256, "image": 784}


def sum_of_fourier(task: str) -> dict[str, Any]:
    """MRConv as the paper has it: Fourier kernels, BatchNorm, a sum with learned gains."""
    return {"kernel": "fourier", "kernel_size": SIZES[task]}


def _design(task: str) -> tuple[Variant, ...]:
    """Each step changes one setting, so that all have gains, shifts and skips alike."""
    size, none = SIZES[task], {"norm": "none"}
    return (
        Variant("dense", {"kernel": "dense", "kernel_size": WHOLE[task], **none}),
        Variant("+ multi-resolution", {"kernel": "dense", "kernel_size": size, **none}),
        Variant("+ Fourier", {**sum_of_fourier(task), **none}),
        Variant("+ BatchNorm", sum_of_fourier(task)),
    )


def _sizes(*sizes: int) -> tuple[Variant, ...]:
    return tuple(
        Variant(f"l_0 = {size}", {"kernel": "fourier", "kernel_size": size}) for size in sizes
    )


def _kernels(size: int, fourier: int) -> tuple[Variant, ...]:
    return (
        Variant("dilated", {"kernel": "dilated", "kernel_size": size}),
        Variant("Fourier", {"kernel": "fourier", "kernel_size": fourier}),
        Variant("Fourier + sparse", {"kernel": "fourier+sparse", "kernel_size": size}),
        Variant("implicit", {"kernel": "implicit", "kernel_size": size}),
    )


def _norms(task: str) -> tuple[Variant, ...]:
    return (
        Variant("batch", sum_of_fourier(task)),
        Variant("constant", {**sum_of_fourier(task), "norm": "constant"}),
        Variant("none", {**sum_of_fourier(task), "norm": "none"}),
    )


def _combinations(task: str) -> tuple[Variant, ...]:
    mixer = sum_of_fourier(task)
    return (
        Variant("sum, learned gains", mixer),
        Variant("sum, fixed gains", {**mixer, "gains": "fixed"}),
        Variant("concatenation, learned gains", {**mixer, "combine": "concat"}),
        Variant("concatenation, fixed gains", {**mixer, "combine": "concat", "gains": "fixed"}),
    )


#: The paper's table 2. "dense" is an MRConv of one resolution, a kernel as long as the layer's
#: reach, without a norm: it differs from the next step in the number of resolutions only.
DESIGN = Ablation(
    "design",
    {"listops": _design("listops"), "image": _design("image")},
    ABLATIONS["design"],
    seeds={"listops": 3},
    bar=Bar("listops", "+ BatchNorm", "dense", "MRConv less one dense kernel", 3),
    remarks=(
        "Each step changes one setting and keeps those before it. The first is one dense kernel of "
        "the layer's whole reach, without a norm, and with gain, shift and skip as the others have "
        "them.",
    ),
)

#: The paper's table 9: l_0, Fourier kernels.
KERNEL_SIZE = Ablation(
    "kernel-size",
    {"listops": _sizes(1, 2, 4, 8), "image": _sizes(8, 16, 32)},
    ABLATIONS["kernel-size"],
)

#: The paper's table 11; kernel sizes of images as its numbers of parameters imply, on ListOps those
#: of the Fourier kernels.
KERNELS = Ablation(
    "kernels",
    {"listops": _kernels(2, 2), "image": _kernels(16, 32)},
    ABLATIONS["kernels"],
    remarks=(
        "Kernel sizes: 2 on ListOps; on images 16, and 32 for Fourier kernels. Widths and depths "
        "of the published models differ from line to line.",
    ),
)

#: The authors' replies to the reviewers, and for "none" the last step but one of table 2.
NORM = Ablation(
    "norm",
    {"listops": _norms("listops"), "image": _norms("image")},
    ABLATIONS["norm"],
    remarks=(
        "Published on images: batch and constant at the greater depth of the replies to the "
        "reviewers, none at that of the design ablation.",
    ),
)

#: The paper's table 8, measured on Path-X, which is not repeated here.
COMBINE = Ablation(
    "combine",
    {"listops": _combinations("listops"), "image": _combinations("image")},
    dict.fromkeys(("listops", "image"), ABLATIONS["combine"]["pathx"]),
    quoted=dict.fromkeys(("listops", "image"), "Path-X of 16,384 samples"),
    remarks=(
        f"The published numbers are of Path-X, another task than {TASKS['listops'].title} and "
        f"{TASKS['image'].title}: only the order of the lines can be compared, if that.",
    ),
)
