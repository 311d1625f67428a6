"""``mrconv bench vision``: MRConvNeXt T, S and B against ConvNeXt, and where the time goes."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from .cases import Case, Options
from .record import Row
from .timing import Turns, spread, take_turns
from .vision_models import CONTESTANTS, Contestant, Size, make_contestants, sizes_of
from .vision_shares import shares

__all__ = ["vision_cases"]

BATCHES, QUICK_BATCHES = (1, 16), (1, 2)
SECONDS, LEAST = 20.0, 5  # of one measurement

# over / under, at least; of the first also the sizes that it is for
CONVNEXT_BAR, CONVNEXT_SIZES = 0.8, ("tiny",)
BARS: dict[Contestant, float] = {"textbook branches": 2.0, "branches": 1.0}


def vision_cases(options: Options) -> list[Case]:
    """The cases of the bench.

    Args:
        options: Seed, device, pace.

    Returns:
        One for each size and batch.

    Raises:
        MissingExtraError: If timm is not installed.
    """
    from ..models import convnext  # its error comes before anything is measured

    del convnext
    batches = QUICK_BATCHES if options.quick else BATCHES
    return [_case(size, batch, options) for size in sizes_of(options) for batch in batches]


def _case(size: Size, batch: int, options: Options) -> Case:
    what = f"{size}, batch {batch}"

    def measure() -> Iterator[Row | str]:
        models, pixels = make_contestants(size, options)
        noise = torch.Generator().manual_seed(options.seed)
        x = torch.randn(batch, 3, pixels, pixels, generator=noise).to(options.device)
        calls = {str(name): _forward(model, x) for name, model in models.items()}
        turns = take_turns(calls, options.pace(SECONDS, LEAST), finish=options.finish)
        for name in CONTESTANTS:
            yield _speed_row(turns, what, name, batch)
        bar = CONVNEXT_BAR if size in CONVNEXT_SIZES and not options.quick else None
        yield turns.ratio_row(what, "ConvNeXt", "merged", bar=bar)
        for over, least in BARS.items():
            bar = None if options.quick else least
            yield turns.ratio_row(what, over, "merged", bar=bar)
        whose: tuple[Contestant, ...] = ("ConvNeXt", "merged")
        for name in whose:
            for part, share in shares(models[name], x, options).items():
                yield Row(f"share of the time, {what}, {name}: {part}", 100 * share, "%")

    return Case(what, measure)


def _forward(model: nn.Module, x: Tensor) -> Callable[[], Tensor]:
    def call() -> Tensor:
        with torch.no_grad():
            y: Tensor = model(x)
            return y

    return call


def _speed_row(turns: Turns, what: str, name: str, batch: int) -> Row:
    found = spread([batch / seconds for seconds in turns.seconds[name]])
    return Row(f"{what}: {name}", found.median, "images/s", (found.low, found.high))
