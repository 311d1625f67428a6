"""How wide the maps of a network are, and which kernel size belongs to each stage."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from ..._checks import check_count
from ...errors import ShapeError

__all__ = ["kernel_sizes_for", "map_widths"]

LEAST = 25  # taps of the first kernel: as many as a square of 5 x 5 pixels has
MOST_RESOLUTIONS = 5


def kernel_sizes_for(widths: Sequence[int]) -> list[int]:
    """Kernel size l_0 of each stage, from the widths of its maps.

    The smallest whole number of rows of the last stage that has at least 25 taps and leaves at most
    5 resolutions, L / l_0 <= 2^4 for L = W^2 pixels; never more than L.

    Args:
        widths: W of each stage, in pixels, the last one's map the narrowest.

    Returns:
        l_0 of each stage, in samples.

    Raises:
        ArgumentError: If a width is below 1.

    Source: Cunningham et al. 2024, appendix D.6: 196, 49, 28, 28 at 224 pixels, "the smallest
    kernel of at least 25 with at most 5 resolutions". That it is counted in rows of the last stage
    is ours: it is what gives 28 in place of 25, and it gives whole rows at other image sizes.

    Example:
        >>> kernel_sizes_for([56, 28, 14, 7])
        [196, 49, 28, 28]
        >>> kernel_sizes_for([64, 32, 16, 8])
        [256, 64, 32, 32]
    """
    for width in widths:
        check_count("kernel_sizes_for", "width", width)
    row = min(widths, default=1)
    sizes = []
    for pixels in (width**2 for width in widths):
        least = max(LEAST, _ceil(pixels, 2 ** (MOST_RESOLUTIONS - 1)))
        sizes.append(min(row * _ceil(least, row), pixels))
    return sizes


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def map_widths(
    model: nn.Module, layers: Iterable[nn.Module], channels: int, image_size: int
) -> list[int]:
    """Widths of the maps that layers of a network get, found by a forward pass without numbers.

    Args:
        model: Any network of images.
        layers: Parts of it that take (B, D, H, W).
        channels: Of the images.
        image_size: Their height and width, in pixels.

    Returns:
        W before each layer.

    Raises:
        ShapeError: If the network cannot run on such images.
    """
    widths: dict[int, int] = {}
    layers = list(layers)

    def note(layer: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        widths[id(layer)] = arguments[0].shape[-1]

    hooks = [layer.register_forward_pre_hook(note) for layer in layers]
    named = (*model.named_parameters(), *model.named_buffers())
    images = torch.empty(1, channels, image_size, image_size, device="meta")
    try:
        empty = {name: tensor.to("meta", images.dtype) for name, tensor in named}
        torch.func.functional_call(model, empty, (images,))
    except RuntimeError as error:
        raise ShapeError(
            f"convert: image_size must be one that the model runs on; got {image_size}: {error}. "
            "Pass a larger image_size."
        ) from None
    finally:
        for hook in hooks:
            hook.remove()
    return [widths[id(layer)] for layer in layers]
