"""Single operators between a lower and an upper line of each entry, as one writes them in PyTorch: what Faith
(Feng et al., PPoPP 2022) has its kernels beside. Nothing is rounded outward.

Lines are slopes [n, d, ...] and offsets [n, ...]; perturbations are within ``radius`` [n] in l_2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Lines(NamedTuple):
    low: Tensor
    low_offset: Tensor
    high: Tensor
    high_offset: Tensor


def reach(x: Lines, radius: Tensor) -> tuple[Tensor, Tensor]:
    wide = radius.reshape(-1, *(1 for _ in x.low_offset.shape[1:]))
    return x.low_offset - wide * x.low.norm(dim=1), x.high_offset + wide * x.high.norm(dim=1)


def through(x: Lines, sides: tuple[Tensor, Tensor]) -> Lines:
    """What is positive of a weight [in, out] and what is negative, of entries along the last axis."""
    positive, negative = sides
    return Lines(
        x.low @ positive + x.high @ negative,
        x.low_offset @ positive + x.high_offset @ negative,
        x.high @ positive + x.low @ negative,
        x.high_offset @ positive + x.low_offset @ negative,
    )


def dense(x: Lines, weight: Tensor, radius: Tensor) -> tuple[Lines, tuple[Tensor, Tensor]]:
    made = through(x, (weight.clamp(min=0), weight.clamp(max=0)))
    return made, reach(made, radius)


def relu(x: Lines, radius: Tensor) -> tuple[Lines, tuple[Tensor, Tensor]]:
    low, high = reach(x, radius)
    chord = (high.clamp(min=0) - low.clamp(min=0)) / (high - low).clamp(min=1e-30)
    below = torch.where(low >= 0, 1.0, torch.where(high <= 0, 0.0, (high > -low).to(low.dtype)))
    made = between(x, below, torch.zeros_like(low), chord, high.clamp(min=0) - chord * high)
    return made, reach(made, radius)


def tanh(x: Lines, radius: Tensor) -> tuple[Lines, tuple[Tensor, Tensor]]:
    """Chord and the tangent in the middle by the sign; over zero the flatter end's slope on both sides."""
    low, high = reach(x, radius)
    least, most, middle = torch.tanh(low), torch.tanh(high), (low + high) / 2
    value = torch.tanh(middle)
    tangent, chord = 1 - value * value, (most - least) / (high - low).clamp(min=1e-30)
    flat = torch.minimum(1 - least * least, 1 - most * most)
    below = torch.where(low >= 0, chord, torch.where(high <= 0, tangent, flat))
    above = torch.where(low >= 0, tangent, torch.where(high <= 0, chord, flat))
    under = torch.where(high <= 0, value - below * middle, least - below * low)
    over = torch.where(low >= 0, value - above * middle, most - above * high)
    made = between(x, below, under, above, over)
    return made, reach(made, radius)


def dot(x: Lines, y: Lines, radius: Tensor) -> tuple[Lines, tuple[Tensor, Tensor]]:
    """Products of matrices [.., m, k] and [.., k, n]."""
    made = planes(x, y, radius, torch.matmul)
    return made, reach(made, radius)


def planes(x: Lines, y: Lines, radius: Tensor, times: Callable[[Tensor, Tensor], Tensor]) -> Lines:
    """``times`` of both, which is linear in either: by McCormick's planes through two corners."""
    (a, b), (c, _) = reach(x, radius), reach(y, radius)

    def plane(w: Tensor, m: Tensor, upper: bool) -> tuple[Tensor, Tensor]:
        """``w x + m y - m w`` from one side."""
        one, other = (x, y) if not upper else (_turned(x), _turned(y))
        slope = (
            times(one.low, w.clamp(min=0)[:, None])
            + times(one.high, w.clamp(max=0)[:, None])
            + times(m.clamp(min=0)[:, None], other.low)
            + times(m.clamp(max=0)[:, None], other.high)
        )
        offset = (
            times(one.low_offset, w.clamp(min=0))
            + times(one.high_offset, w.clamp(max=0))
            + times(m.clamp(min=0), other.low_offset)
            + times(m.clamp(max=0), other.high_offset)
        )
        return slope, offset - times(m, w)

    return Lines(*plane(c, a, False), *plane(c, b, True))


def _turned(x: Lines) -> Lines:
    return Lines(x.high, x.high_offset, x.low, x.low_offset)


def between(x: Lines, below: Tensor, under: Tensor, above: Tensor, over: Tensor) -> Lines:
    def by(line: Tensor, upper: Tensor, lower: Tensor) -> Tensor:
        return line.clamp(min=0) * upper + line.clamp(max=0) * lower

    return Lines(
        by(below[:, None], x.low, x.high),
        by(below, x.low_offset, x.high_offset) + under,
        by(above[:, None], x.high, x.low),
        by(above, x.high_offset, x.low_offset) + over,
    )
