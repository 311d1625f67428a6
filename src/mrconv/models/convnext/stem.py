"""The first convolution of a converted network, which tells what images it takes."""

import copy

from torch import Tensor, nn

from ...errors import ShapeError

__all__ = ["CheckedStem"]


class CheckedStem(nn.Conv2d):
    """A Conv2d of the same weights that refuses images which the network behind it cannot read.

    Args:
        conv: The stem's first convolution; its parameters are copied.
        least: Smallest height and width, in pixels, that leave a pixel to the last stage.
    """

    def __init__(self, conv: nn.Conv2d, least: int) -> None:
        super().__init__(
            conv.in_channels,
            conv.out_channels,
            conv.kernel_size,  # type: ignore[arg-type]
            conv.stride,  # type: ignore[arg-type]
            conv.padding,  # type: ignore[arg-type]
            bias=conv.bias is not None,
            device="meta",
        )
        self.weight, self.bias = copy.deepcopy(conv.weight), copy.deepcopy(conv.bias)
        self.least = least
        self.train(conv.training)

    def forward(self, input: Tensor) -> Tensor:
        """Checks the images, then convolves.

        Args:
            input: Images.                                        (B, C, H, H)

        Returns:
            Maps.                                                 (B, D, h, h)

        Raises:
            ShapeError: If they are not square, too small, or of another number of channels.
        """
        if input.ndim != 4 or input.shape[1] != self.in_channels:
            raise ShapeError(
                f"MRConvNeXt: images must be (batch, {self.in_channels}, size, size); "
                f"got {tuple(input.shape)}. Pass such images, or build the model with another "
                "in_chans."
            )
        height, width = input.shape[2:]
        if height != width:
            raise ShapeError(
                "MRConvNeXt: images must be square, because a kernel runs over whole rows of one "
                f"length; got {height} x {width}. Crop or pad them."
            )
        if width < self.least:
            raise ShapeError(
                f"MRConvNeXt: images must be at least {self.least} pixels wide, the stem's patch "
                f"times what later stages halve; got {width}. Enlarge them."
            )
        return super().forward(input)
