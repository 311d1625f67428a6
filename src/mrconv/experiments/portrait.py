"""What shows a model: sections of a page on layers, kernels and gains, and one picture."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..models import SequenceModel
from ..models.summary import summarize
from ..nn import LongConv, MRConv
from ..nn.kernel_conv import KernelConv
from ..nn.reparameterize import with_skip
from ..report import Page, gain_norms, layer_kernels
from ..report.spectrum_panels import time_scales

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["add_portrait", "time_scales_of"]


def add_portrait(page: Page, model: SequenceModel, channel: int = 0) -> Page:
    """Adds what a model is made of: a table of layers, kernels, and the weight of each time scale.

    Args:
        page: Where sections are added.
        model: In eval mode, in any form.
        channel: Whose kernels are drawn.

    Returns:
        The page.
    """
    _add_table(page, model)
    layers = [module for module in model.modules() if isinstance(module, MRConv)]
    merged = [module for module in model.modules() if isinstance(module, LongConv)]
    if layers and len({tuple(layer.spans) for layer in layers}) == 1:
        _add_kernels(page, layers, channel)
        _add_gains(page, layers)
    elif merged and len({layer.causal for layer in merged}) == 1:
        rows = [
            (
                f"layer {i + 1}",
                [_taps(layer, channel)],
                _taps(layer, channel),
            )
            for i, layer in enumerate(merged)
        ]
        page.section("Kernels", f"The taps of channel {channel} in each layer.")
        page.figure(layer_kernels(rows, causal=merged[0].causal), "taps of each merged layer")
    return page


def time_scales_of(model: SequenceModel) -> "Figure":
    """Weight of each time scale, where layers have branches, and frequencies of the kernels.

    Args:
        model: In eval mode; its layers are MRConv, KernelConv or LongConv.

    Returns:
        A picture of one or two panels. A skip, which passes all frequencies alike, is left out
        of the kernels but for merged ones, which hold it. Where the model takes frames, a tap
        stands for all samples of one: kernels are that much longer, frequencies end lower.

    Raises:
        ArgumentError: If the model has no such layer.
        MissingExtraError: If matplotlib is not installed.
    """
    kinds = (MRConv, KernelConv, LongConv)
    layers = [module for module in model.modules() if isinstance(module, kinds)]
    if not layers:
        raise ArgumentError(
            "inspect: picture must be of a model with long convolutions; got "
            f"{model.backbone.mixer!r}. Choose a model of mrconv, merged or not."
        )
    taps = [_whole_taps(layer) for layer in layers]
    branched = [layer for layer in layers if isinstance(layer, MRConv)]
    alike = len(branched) == len(layers) and len({tuple(one.spans) for one in branched}) == 1
    frame, rate = model.expects.frame, model.expects.sample_rate
    return time_scales(
        taps,
        _squares(branched) if alike else None,
        [frame * span for span in branched[0].spans] if alike else (),
        sample_rate=None if rate is None else rate / frame,
    )


def _whole_taps(layer: MRConv | KernelConv | LongConv) -> NDArray[np.float64]:
    """Merged taps of all channels without the skip.                          (D, K)"""
    taps = layer.taps if isinstance(layer, LongConv) else layer.merged_taps()[0]
    if not isinstance(layer, LongConv) and layer.skip is not None:
        taps = with_skip(taps, -layer.skip, layer.causal)
    return taps.detach().double().numpy()


def _squares(layers: list[MRConv]) -> list[list[float]]:
    """Squared norm of the gains over channels, by layer and resolution."""
    return [layer.gain.detach().square().sum(-1).float().tolist() for layer in layers]


def _taps(layer: LongConv, channel: int) -> NDArray[np.float32]:
    return layer.taps[channel].detach().float().numpy()


def _add_table(page: Page, model: SequenceModel) -> None:
    summary = summarize(model)
    page.section(
        "Layers",
        f"{summary.parameters:,} parameters; one output can depend on {summary.receptive_field:,} "
        f"samples; {summary.operations / 1e6:,.0f} million operations for {summary.length:,} "
        "samples.",
    )
    page.table(
        ("layer", "form", "kernel", "resolutions", "taps", "parameters", "operations (M)"),
        [
            (
                layer.name,
                layer.kind,
                layer.kernel,
                layer.resolutions,
                layer.num_taps,
                layer.parameters,
                round(layer.operations / 1e6, 2),
            )
            for layer in summary.layers
        ],
    )


def _add_kernels(page: Page, layers: list[MRConv], channel: int) -> None:
    page.section(
        "Kernels",
        f"What each time scale adds to the kernel of channel {channel}, layer by layer, and the "
        "one kernel they merge to. Inference runs the last row only.",
    )
    columns = []
    for i, layer in enumerate(layers):
        parts = [taps[channel].detach().float().numpy() for taps in layer.weighted_taps()]
        merged = layer.merged_taps()[0][channel].detach().float().numpy()
        columns.append((f"layer {i + 1}", parts, merged))
    figure = layer_kernels(columns, layers[0].spans, causal=layers[0].causal)
    page.figure(figure, "kernels of every layer and resolution, and their merged sum")


def _add_gains(page: Page, layers: list[MRConv]) -> None:
    page.section(
        "Weight of each time scale",
        "Squared norm of the gains over channels, as a share of each layer: which kernel lengths "
        "a layer listens to. Branches are normalised, so gains are comparable.",
    )
    names = [str(i + 1) for i in range(len(layers))]
    page.figure(
        gain_norms(_squares(layers), layers[0].spans, names),
        "heat map of squared gain norms by layer and resolution",
    )
