"""Draws the figures of the documentation, each for light and for dark pages.

Needs the extra report. About a minute on one core:

    python docs/figures/make_figures.py
"""

import functools
import io
import math
import re
from pathlib import Path

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from torch import Tensor

import mrconv
from mrconv.convolution import long_convolution
from mrconv.report.palette import DARK, FAINT, INK, MUTED, resolution_colors

FOLDER = Path(__file__).parent
TAPS, KERNEL_SIZE, RESOLUTIONS = 128, 16, 4
FORMS = {
    "dilated": "16 numbers a resolution",
    "fourier": "18 numbers a resolution",
    "sparse": "16 numbers a resolution",
    "fourier+sparse": "36 numbers a resolution",
}
SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Roboto", "Inter", "Helvetica Neue", "Arial", "DejaVu Sans"],
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "mrconv",
    "mathtext.fontset": "dejavusans",
}
COLORS = resolution_colors(RESOLUTIONS)


def target() -> Tensor:
    """An impulse response whose oscillation slows down with age, as memories often do.  (1, K)."""
    t = torch.arange(TAPS, dtype=torch.float32)
    phase = 2 * math.pi * 2.6 * torch.log2(1 + t / 9) + 0.4
    return (torch.exp(-t / 40) * phase.cos())[None]


@functools.cache
def imitation(kernel: str) -> mrconv.MRConv:
    """A layer of one channel, trained on white noise to do what the target does; in eval mode."""
    torch.manual_seed(1)
    layer = mrconv.MRConv(1, TAPS, kernel_size=KERNEL_SIZE, kernel=kernel, skip=False)
    wanted, steps = target(), 600
    optimizer = torch.optim.Adam(layer.parameters(), lr=2e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-2, total_steps=steps)
    for _ in range(steps):
        x = torch.randn(16, 1, 2 * TAPS)
        loss = (layer(x) - long_convolution(x, wanted)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return layer.eval()


def bare(ax: Axes, low: float, high: float) -> None:
    """A panel of nothing but its curves and a line at zero."""
    ax.set(xlim=(-2, TAPS + 1), ylim=(low, high), yticks=[], xticks=[])
    ax.set_facecolor("none")
    ax.spines[:].set_visible(False)


def curve(ax: Axes, taps: Tensor, color: str, smooth: bool) -> None:
    """Taps as a line where the kernel is smooth, as stems where most are zero."""
    values = taps.tolist()
    ax.plot([0, len(values) - 1], [0, 0], color=FAINT, linewidth=0.9, zorder=1)
    if smooth:
        ax.plot(range(len(values)), values, color=color, linewidth=1.7, zorder=3)
        return
    lags = [lag for lag, value in enumerate(values) if value != 0]
    heights = [values[lag] for lag in lags]
    ax.vlines(lags, 0, heights, color=color, linewidth=1.3, zorder=3)
    ax.plot(lags, heights, "o", color=color, markersize=2.3, markeredgewidth=0, zorder=4)


def kernels() -> Figure:
    """Sub-kernels of four forms and their merged sums, fitted to one impulse response."""
    figure = Figure(figsize=(9.6, 6.3), facecolor="none")
    axes = figure.subplots(RESOLUTIONS + 1, len(FORMS))
    figure.subplots_adjust(0.105, 0.07, 0.985, 0.905, wspace=0.09, hspace=0.08)
    wanted = target()[0]
    for column, (form, size) in enumerate(FORMS.items()):
        layer = imitation(form)
        with torch.no_grad():
            parts = [taps[0] for taps in layer.weighted_taps()]
            merged = layer.merged_taps()[0][0]
        smooth = form.startswith("fourier")
        top = axes[0, column]
        title = " + ".join(word.capitalize() for word in form.split("+"))
        top.text(0, 1.42, title, transform=top.transAxes, fontsize=12, fontweight="bold", color=INK)
        top.text(0, 1.17, size, transform=top.transAxes, fontsize=9, color=MUTED)
        for i, part in enumerate(parts):
            bare(axes[i, column], -1.05, 1.25)
            curve(axes[i, column], part[: KERNEL_SIZE << i], COLORS[i], smooth)
        last = axes[-1, column]
        bare(last, -1.05, 1.25)
        last.plot(wanted.tolist(), color=FAINT, linewidth=4.5, solid_capstyle="round", zorder=0)
        curve(last, merged, INK, smooth)
        missed = float((merged - wanted).norm() / wanted.norm())
        last.text(TAPS, 0.85, f"misses {missed:.0%}", ha="right", fontsize=9, color=MUTED)
        last.set_xticks([0, 32, 64, 96, 127])
        last.tick_params(labelsize=8, labelcolor=MUTED, color=FAINT, length=3)
        last.spines["bottom"].set(visible=True, color=FAINT)
    for i in range(RESOLUTIONS):
        name(axes[i, 0], f"resolution {i}", f"{KERNEL_SIZE << i} taps", COLORS[i])
    name(axes[-1, 0], "merged", f"{TAPS} taps", INK)
    figure.text(0.55, 0.008, "lag in samples", ha="center", fontsize=9, color=MUTED)
    return figure


def name(ax: Axes, first: str, second: str, color: str) -> None:
    """Two words at the left of a row."""
    ax.text(-0.04, 0.5, first, transform=ax.transAxes, ha="right", va="center", color=color,
            fontsize=10, fontweight="bold")  # fmt: skip
    ax.text(-0.04, 0.26, second, transform=ax.transAxes, ha="right", va="center", color=MUTED,
            fontsize=8.5)  # fmt: skip


def box(ax: Axes, x: float, y: float, width: float, height: float, text: str, color: str) -> None:
    """A labelled station of the signal; x and y are its centre."""
    corner = (x - width / 2, y - height / 2)
    style = "round,pad=0,rounding_size=0.07"
    patch = FancyBboxPatch(corner, width, height, style, facecolor="none", edgecolor=color, lw=1.2)
    ax.add_patch(patch)
    ax.text(x, y, text, ha="center", va="center", fontsize=9, color=color)


def arrow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], head: bool = True
) -> None:
    """A piece of the signal's way."""
    style = "-|>,head_width=2.2,head_length=4" if head else "-"
    look = {"color": MUTED, "lw": 1.1, "shrinkA": 0, "shrinkB": 0}
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle=style, **look))


def thumbnail(ax: Axes, x: float, y: float, width: float, taps: Tensor, color: str) -> None:
    """A kernel over the lags it spans; x is its left end, y its zero line."""
    values = (0.30 * taps / taps.abs().max()).tolist()
    at = [x + width * lag / TAPS for lag in range(len(values))]
    ax.plot([x, at[-1]], [y, y], color=FAINT, lw=0.9, zorder=1)
    ax.plot(at, [y + value for value in values], color=color, lw=1.6, zorder=2)


def merging() -> Figure:
    """The training form, branch by branch, and the one convolution that it becomes."""
    layer = imitation("fourier")
    with torch.no_grad():
        parts = [taps[0] for taps in layer.weighted_taps()]
        merged = layer.merged_taps()[0][0]
    figure = Figure(figsize=(9.6, 3.5), facecolor="none")
    ax = figure.add_axes((0.005, 0.0, 0.99, 1.0))
    ax.set(xlim=(0, 12.4), ylim=(-0.15, 4.35))
    ax.axis("off")
    rows = [3.15, 2.3, 1.45, 0.6]
    middle = (rows[0] + rows[-1]) / 2
    ax.text(0.1, 4.05, "Branches", fontsize=12, fontweight="bold", color=INK)
    ax.text(1.42, 4.05, "training: every resolution is normalised on its own", fontsize=9,
            color=MUTED)  # fmt: skip
    ax.text(0.2, middle, "u", fontsize=13, color=INK, ha="center", va="center", style="italic")
    ax.plot([0.4, 0.7], [middle, middle], color=MUTED, lw=1.1)
    ax.plot([0.7, 0.7], [rows[0], rows[-1]], color=MUTED, lw=1.1)
    for i, y in enumerate(rows):
        arrow(ax, (0.7, y), (1.0, y))
        thumbnail(ax, 1.15, y, 1.9, parts[i][: KERNEL_SIZE << i], COLORS[i])
        end = 1.15 + 1.9 * (KERNEL_SIZE << i) / TAPS
        arrow(ax, (end + 0.1, y), (3.45, y))
        box(ax, 4.05, y, 1.15, 0.46, "BatchNorm", COLORS[i])
        arrow(ax, (4.63, y), (4.88, y))
        box(ax, 5.22, y, 0.64, 0.46, "gain", COLORS[i])
        arrow(ax, (5.55, y), (6.15, y), head=False)
    ax.plot([6.15, 6.15], [rows[0], rows[-1]], color=MUTED, lw=1.1)
    arrow(ax, (6.15, middle), (6.42, middle))
    ax.text(6.62, middle, "Σ", fontsize=15, color=INK, ha="center", va="center")
    arrow(ax, (6.82, middle), (7.12, middle))
    ax.text(7.3, middle, "y", fontsize=13, color=INK, ha="center", va="center", style="italic")
    ax.plot([7.75, 7.75], [0.15, 3.6], color=FAINT, lw=1.1)
    left = 8.1
    ax.text(left, 4.05, "Merged", fontsize=12, fontweight="bold", color=INK)
    ax.text(left + 1.08, 4.05, "inference: one convolution", fontsize=9, color=MUTED)
    ax.text(left + 0.1, middle, "u", fontsize=13, color=INK, ha="center", va="center",
            style="italic")  # fmt: skip
    arrow(ax, (left + 0.3, middle), (left + 0.62, middle))
    thumbnail(ax, left + 0.75, middle, 1.9, merged, INK)
    arrow(ax, (left + 2.72, middle), (left + 3.02, middle))
    ax.text(left + 3.4, middle, "+ bias", fontsize=9, color=INK, ha="center", va="center")
    arrow(ax, (left + 3.75, middle), (left + 4.0, middle))
    ax.text(left + 4.15, middle, "y", fontsize=13, color=INK, ha="center", va="center",
            style="italic")  # fmt: skip
    ax.text(left + 2.15, 0.6, "taps = Σ gain · taps / σ,  bias = Σ shift − gain · mean / σ",
            fontsize=8.5, color=MUTED, ha="center", va="center")  # fmt: skip
    return figure


def lags() -> Figure:
    """Which lags each resolution covers: causal, two-sided, concatenated."""
    figure = Figure(figsize=(9.6, 2.9), facecolor="none")
    causal, both, tiled = figure.subplots(1, 3, width_ratios=(33.5, 74, 33.5))
    figure.subplots_adjust(0.01, 0.2, 0.99, 0.80, wspace=0.08)
    size, colors = 4, COLORS
    spans = [size << i for i in range(RESOLUTIONS)]
    end = spans[-1]
    pieces = [size, size, 2 * size, 4 * size]
    starts = [0, size, 2 * size, 4 * size]
    for i, (span, color) in enumerate(zip(spans, colors, strict=True)):
        y = RESOLUTIONS - i
        bar(causal, 0, span, y, color)
        bar(both, 0, span, y, color)
        bar(both, -span, span, y, color, light=True)
        bar(tiled, starts[i], pieces[i], y, color)
        both.text(span + 0.9, y, f"l{chr(0x2080 + i)} = {span}", va="center", fontsize=8.5,
                  color=color)  # fmt: skip
    panels = (
        (causal, "causal=True", "every kernel starts at lag 0", 0),
        (both, "causal=False", "a kernel of its own for the future", -end),
        (tiled, 'combine="concat"', "pieces end to end", 0),
    )
    for ax, title, text, low in panels:
        ax.set_facecolor("none")
        room = 9 if ax is both else 0.5  # for the names at the right
        ax.set(xlim=(low - 1, end + room), ylim=(0.35, RESOLUTIONS + 0.6), yticks=[])
        ax.set_xticks([tick for tick in (-32, -16, 0, 16, 32) if tick >= low])
        ax.tick_params(labelsize=8, labelcolor=MUTED, color=FAINT, length=3)
        ax.spines[:].set_visible(False)
        ax.spines["bottom"].set(visible=True, color=FAINT)
        ax.text(0, 1.17, title, transform=ax.transAxes, fontsize=10, fontweight="bold", color=INK,
                family="monospace")  # fmt: skip
        ax.text(0, 1.045, text, transform=ax.transAxes, fontsize=9, color=MUTED)
    both.axvline(0, color=MUTED, lw=0.9, ls=(0, (2, 2)))
    both.set_xlabel("lag in samples: present 0, past to the right, future to the left", fontsize=9,
                    color=MUTED)  # fmt: skip
    return figure


def bar(ax: Axes, start: int, span: int, y: float, color: str, light: bool = False) -> None:
    """The lags start..start + span - 1 of one kernel."""
    ax.barh(y, span, 0.56, left=start, color="none" if light else color, edgecolor=color, lw=1.2)


def save(figure: Figure, title: str) -> None:
    """Writes NAME-light.svg and NAME-dark.svg, equal but for the colours."""
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", metadata=nothing)
    light = re.sub(r"(\.\d\d)\d+", r"\1", buffer.getvalue())
    light = re.sub(r"<metadata>.*?</metadata>\s*", "", light, flags=re.DOTALL)
    dark = re.sub(r"#[0-9a-f]{6}\b", lambda found: DARK.get(found[0], found[0]), light)
    (FOLDER / f"{title}-light.svg").write_text(light, encoding="utf-8")
    (FOLDER / f"{title}-dark.svg").write_text(dark, encoding="utf-8")


def main() -> None:
    """Draws all of them."""
    torch.set_num_threads(1)
    with matplotlib.rc_context(SETTINGS):
        for draw in (lags, merging, kernels):
            save(draw(), draw.__name__)


if __name__ == "__main__":
    main()
