"""The small experiment on images: a narrow ConvNeXt with 7 x 7 and with long convolutions."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from .._checks import needs_extra
from ..data import MNIST5k
from ..merging import merge
from ..train.optim import param_groups
from .grid import Cell
from .vision_fields import pictures

__all__ = [
    "DATA",
    "NETS",
    "QUICK",
    "STANDARD",
    "DataName",
    "Images",
    "NetName",
    "Sizes",
    "make_net",
    "training_cells",
]

DataName = Literal["MNIST-5k", "digits"]
NetName = Literal["ConvNeXt", "MRConvNeXt"]
NETS: tuple[NetName, ...] = ("ConvNeXt", "MRConvNeXt")


@dataclass(frozen=True)
class Sizes:
    """Everything about the training but seed, data and net.

    Args:
        depths: Blocks of each stage.
        dims: Channels of each stage.
        epochs: Passes over the training images.
        batch_size: Images a step.
        lr: Largest learning rate, of all but the kernels.
        kernel_lr: Of the kernels.
        weight_decay: Of the weights.
        seeds: How many.
        most: Training images at most.
    """

    depths: tuple[int, ...] = (1, 1, 2, 1)
    dims: tuple[int, ...] = (16, 32, 48, 64)
    epochs: int = 20
    batch_size: int = 50
    lr: float = 3e-3
    kernel_lr: float = 1e-3
    weight_decay: float = 0.05
    seeds: int = 3
    most: int = 4000


STANDARD = Sizes()
QUICK = Sizes(depths=(1, 1, 1, 1), dims=(4, 4, 8, 8), epochs=1, seeds=2, most=100)


class Images(NamedTuple):
    """Images of one gray level, (N, 1, H, H), and their labels, (N,)."""

    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor

    @property
    def pixels(self) -> int:
        """H, their height and width."""
        return self.train_x.shape[-1]


def _mnist() -> Images:
    """4,000 images to train; validation and test together, since nothing is chosen by either."""
    splits = MNIST5k().load()
    x = torch.cat([splits.validation.x, splits.test.x])
    y = torch.cat([splits.validation.y, splits.test.y])
    return Images(_square(splits.train.x, 28), splits.train.y, _square(x, 28), y)


def _square(x: Tensor, pixels: int) -> Tensor:
    return x.reshape(-1, 1, pixels, pixels)


def _digits() -> Images:
    """1,797 images of scikit-learn: 1,197 to train, 600 to test, by one fixed permutation."""
    with needs_extra("table", "vision"):
        from sklearn.datasets import load_digits
    found = load_digits()
    order = torch.randperm(len(found.target), generator=torch.Generator().manual_seed(0))
    x = _square(torch.tensor(found.data, dtype=torch.float32), 8)[order]
    x = (x - x.mean()) / x.std()
    y = torch.tensor(found.target)[order]
    return Images(x[:1197], y[:1197], x[1197:], y[1197:])


DATA: dict[DataName, Callable[[], Images]] = {"MNIST-5k": _mnist, "digits": _digits}


def make_net(net: NetName, pixels: int, sizes: Sizes, seed: int) -> nn.Module:
    """A network that starts from a seed; all but the depthwise convolutions start equal.

    Args:
        net: Which.
        pixels: Height and width of the images.
        sizes: Depths and channels.
        seed: Of the parameters.

    Returns:
        In training mode. Its stem keeps all pixels, later stages halve the map.
    """
    from ..models import convnext
    from ..models.convnext.convert import convert

    del convnext  # imported for the sentence on a missing timm
    from timm.models.convnext import ConvNeXt

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        plain = ConvNeXt(
            in_chans=1,
            num_classes=10,
            depths=sizes.depths,
            dims=sizes.dims,
            patch_size=1,
            ls_init_value=None,
        )
        return plain if net == "ConvNeXt" else convert(plain, image_size=pixels)


def training_cells(sizes: Sizes) -> list[Cell]:
    """One cell for each data set, seed and network.

    Args:
        sizes: Of networks and training.

    Returns:
        In the order in which they run.
    """
    return [
        _cell(sizes, data, net, seed)
        for data in DATA
        for seed in range(sizes.seeds)
        for net in NETS
    ]


def _cell(sizes: Sizes, data: DataName, net: NetName, seed: int) -> Cell:
    settings = {"data": data, "net": net, "seed": seed, **asdict(sizes)}

    def run() -> dict[str, Any]:
        images = DATA[data]()
        model = make_net(net, images.pixels, sizes, seed)
        start = time.perf_counter()
        _train(model, images, sizes, seed)
        seconds = time.perf_counter() - start
        seen = pictures(model.eval(), images.test_x) if seed == 0 else {}
        return {**_measured(model, images), "seconds": seconds, **seen}

    return Cell(f"{data}, seed {seed}: {net}", settings, run)


def _train(model: nn.Module, images: Images, sizes: Sizes, seed: int) -> None:
    """AdamW with a warm-up of one epoch and a cosine down to 0."""
    groups = param_groups(
        model, lr=sizes.lr, kernel_lr=sizes.kernel_lr, weight_decay=sizes.weight_decay
    )
    optimizer = torch.optim.AdamW(groups)
    count = min(len(images.train_y), sizes.most)
    steps = math.ceil(count / sizes.batch_size)

    def factor(step: int) -> float:
        warm = min(1.0, (step + 1) / steps)
        return warm * 0.5 * (1 + math.cos(math.pi * step / (steps * sizes.epochs)))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    model.train()
    for rows in _batches(count, sizes, seed):
        logits = model(images.train_x[rows])
        loss = nn.functional.cross_entropy(logits, images.train_y[rows], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def _batches(count: int, sizes: Sizes, seed: int) -> Iterator[Tensor]:
    """Rows of every step, the same ones for both networks."""
    drawn = torch.Generator().manual_seed(seed)
    for _ in range(sizes.epochs):
        yield from torch.randperm(count, generator=drawn).split(sizes.batch_size)


def _measured(model: nn.Module, images: Images) -> dict[str, float]:
    """Accuracy in per cent of the merged network, parameters, and operations of an image."""
    from ..models.convnext.operations import count_operations

    parameters = sum(parameter.numel() for parameter in model.parameters())
    merged = merge(model.eval())
    with torch.no_grad():
        found = torch.cat([merged(x).argmax(-1) for x in images.test_x.split(100)])
    return {
        "accuracy": 100 * float((found == images.test_y).double().mean()),
        "parameters": parameters,
        "operations": count_operations(merged, images.test_x[:1]),
    }
