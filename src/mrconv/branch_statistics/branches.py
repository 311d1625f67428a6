"""All branches of a layer over one block of channels, whichever way each is treated."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from .combs import Combs
from .plan import Plan
from .rows import F64, Rows
from .tails import Tails

__all__ = ["Branches", "Products"]


class Products(NamedTuple):
    """What the statistics leave for the backward pass."""

    combs: Tensor
    """G v of the branches of few taps, float64.         (R', D, widest)"""
    toeplitz: Tensor
    """A k of the other branches side by side, float64.         (D, T)"""
    tails: Tensor
    """Their tails side by side.                             (B, D, T)"""

    def of(self, block: slice) -> "Products":
        """Those of a block of channels."""
        return Products(self.combs[:, block], self.toeplitz[block], self.tails[:, block])


class Branches:
    """R branches; rows (R, c) of what follows are in the layer's order.

    Args:
        plan: How each is treated.
        packed: Their values side by side.                           (c, V)
    """

    def __init__(self, plan: Plan, packed: Tensor) -> None:
        self.plan = plan
        self.values = plan.split(packed)
        self.tails = Tails([self.values[i] for i in plan.many])
        self.combs: Combs | None = None
        if plan.few:
            padded = [pad(self.values[i], (0, plan.widest - plan.counts[i])) for i in plan.few]
            self.combs = Combs(torch.stack(padded), [plan.spacings[i] for i in plan.few])

    def totals(self) -> Tensor:
        """sum_s k[s], float64.                                      (R, c)."""
        return torch.stack([value.sum(-1, dtype=F64) for value in self.values])

    def moments(self, rows: Rows, products: Products) -> tuple[Tensor, Tensor]:
        """Sum z' and sum z'^2 of every branch, float64; fills ``products``."""
        plan, lags = self.plan, rows.lags()
        sums, energies = self.tails.moments(
            rows, lags, plan.split_tails(products.toeplitz), plan.split_tails(products.tails)
        )
        if self.combs is None:
            return torch.stack(sums), torch.stack(energies)
        few_sums, few_energies, product = self.combs.moments(rows, lags)
        products.combs.copy_(product)
        return self._in_order(few_sums, sums), self._in_order(few_energies, energies)

    def merged(self, scale: Tensor) -> Tensor:
        """sum_i scale_i k_i.                                    (c, reach)."""
        merged = scale.new_zeros(scale.shape[1], self.plan.reach)
        if self.combs is not None:
            self.combs.write(merged, scale[self.plan.few, :, None] * self.combs.values)
        for i in self.plan.many:
            merged[:, : self.plan.counts[i]] += scale[i, :, None] * self.values[i]
        return merged

    def dots(self, x: Tensor) -> Tensor:
        """sum_s k_i[s] x[s] for x (c, reach).                       (R, c)."""
        many = [(x[:, : self.plan.counts[i]] * self.values[i]).sum(-1) for i in self.plan.many]
        if self.combs is None:
            return torch.stack(many)
        return self._in_order((self.combs.read(x) * self.combs.values64).sum(-1), many)

    def gradients(
        self, rows: Rows, products: Products, dsum: Tensor, denergy: Tensor, dlast: Tensor
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        """Gradients given those of sum z' and sum z'^2.

        Args:
            rows: The input.
            products: As ``moments`` filled them.
            dsum: Gradient of sum z'.                                   (R, c)
            denergy: Gradient of sum z'^2.                              (R, c)
            dlast: The gradient of the last samples is added to it.

        Returns:
            Gradients of the values, R of (c, n_i), and of lags and heads (c, reach); float64.
        """
        plan, few, many = self.plan, self.plan.few, self.plan.many
        saved = plan.split_tails(products.toeplitz), plan.split_tails(products.tails)
        taps, dlags, dheads = self.tails.gradients(rows, saved, dsum[many], denergy[many], dlast)
        found = dict(zip(many, taps, strict=True))
        if self.combs is not None:
            values, more_lags, more_heads = self.combs.gradients(
                rows, products.combs, dsum[few], denergy[few]
            )
            self.combs.add_last_gradient(rows, denergy[few], dlast)
            dlags, dheads = dlags + more_lags, dheads + more_heads
            found.update(
                {i: value[:, : plan.counts[i]] for i, value in zip(few, values, strict=True)}
            )
        return [found[i] for i in range(len(self.values))], dlags, dheads

    def merged_gradients(self, scale: Tensor, x: Tensor) -> list[Tensor]:
        """Gradients of the values through ``merged``, x that of the merged taps. R of (c, n_i)."""
        found = []
        for i, (count, spacing) in enumerate(
            zip(self.plan.counts, self.plan.spacings, strict=True)
        ):
            found.append(scale[i, :, None] * x[:, : count * spacing : spacing])
        return found

    def _in_order(self, few: Tensor, many: list[Tensor]) -> Tensor:
        order = [*self.plan.few, *self.plan.many]
        joined = torch.cat([few, torch.stack(many)]) if many else few
        if order == sorted(order):
            return joined
        return joined[torch.tensor(order, device=few.device).argsort()]
