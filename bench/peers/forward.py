"""A port of forward bounds of ``examples.sentences`` to PyTorch, as one writes them there: a lower and an
upper line of each entry, positive and negative parts of weights, all words of a sentence as one batch.

The lines are those that bounds/ has, so that margins are the same but for rounding, which is not looked at
here. Of a sample one word's embedding moves by at most a radius in l_2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor


class Lines(NamedTuple):
    """Slopes [n, d, ...] and offsets [n, ...] of the line below and of the line above."""

    low: Tensor
    low_offset: Tensor
    high: Tensor
    high_offset: Tensor

    def moved(self, of: Any) -> Lines:
        """``of`` each tensor, whose first axis is of samples: slopes have one more."""
        return Lines(*(of(each.flatten(0, 1)).unflatten(0, each.shape[:2]) if place % 2 == 0 else of(each)
                       for place, each in enumerate(self)))  # fmt: skip

    def plus(self, other: Lines) -> Lines:
        return Lines(*(one + two for one, two in zip(self, other, strict=True)))


class Forward:
    """``matrices`` and ``offsets`` by the names of their nodes, as ``examples.sentences.network.Reader`` has
    them."""

    def __init__(self, reader: Any, device: str, dtype: torch.dtype) -> None:
        def there(array: Any) -> Tensor:
            return torch.tensor(array, dtype=dtype, device=device)

        self.layers = reader.layers
        self.weights = {name: (there(each.T).clamp(min=0), there(each.T).clamp(max=0))
                        for name, each in reader.matrices.items()}  # fmt: skip
        self.offsets = {name: there(each) for name, each in reader.offsets.items()}

    def margins(self, x: Tensor, words: Tensor, radius: Tensor, label: int) -> Tensor:
        """[n]: of the sentence x [count, 128], where of each sample one of ``words`` moves by ``radius``."""
        count, width = x.shape
        slope = torch.zeros(len(words), width, count, width, dtype=x.dtype, device=x.device)
        eye = torch.eye(width, dtype=x.dtype, device=x.device)
        slope[torch.arange(len(words), device=x.device), :, words] = eye
        offset = x.expand(len(words), count, width)
        lines = Lines(slope, offset, slope, offset)
        for layer in range(self.layers):
            lines = self._layer(lines, radius, layer)
        mean = Lines(*(each.mean(dim=-2) for each in lines))
        positive, negative = self.weights["said"]
        step = (positive + negative)[:, label] - (positive + negative)[:, 1 - label]
        offset = self.offsets["said"][label] - self.offsets["said"][1 - label]
        above, below = step.clamp(min=0), step.clamp(max=0)
        low = mean.low @ above + mean.high @ below
        return mean.low_offset @ above + mean.high_offset @ below + offset - radius * low.norm(dim=1)

    def _dense(self, x: Lines, name: str) -> Lines:
        (positive, negative), offset = self.weights[name], self.offsets[name]
        return Lines(
            x.low @ positive + x.high @ negative,
            x.low_offset @ positive + x.high_offset @ negative + offset,
            x.high @ positive + x.low @ negative,
            x.high_offset @ positive + x.low_offset @ negative + offset,
        )

    def _layer(self, x: Lines, radius: Tensor, layer: int) -> Lines:
        def heads(name: str) -> Lines:
            return self._dense(x, f"{layer}/{name}").moved(
                lambda each: each.unflatten(-1, (4, -1)).transpose(-2, -3)
            )

        query, key, value = heads("query"), heads("key"), heads("value")
        key = Lines(*(each.transpose(-1, -2) for each in key))
        scores = product(query, key, radius, matrices=True, factor=32**-0.5)
        shares, known = softmax(scores, radius)
        mixed = product(shares, value, radius, matrices=True, within=(known, None))
        joined = mixed.moved(lambda each: each.transpose(-2, -3).flatten(-2))
        first = self._dense(x.plus(self._dense(joined, f"{layer}/mixed")), f"{layer}/norm")
        bent = relu(self._dense(first, f"{layer}/inside"), radius)
        return self._dense(first.plus(self._dense(bent, f"{layer}/outside")), f"{layer}/last")


def reach(x: Lines, radius: Tensor) -> tuple[Tensor, Tensor]:
    wide = radius.reshape(-1, *(1 for _ in x.low_offset.shape[1:]))
    return x.low_offset - wide * x.low.norm(dim=1), x.high_offset + wide * x.high.norm(dim=1)


def between(x: Lines, below: Tensor, below_offset: Tensor, above: Tensor, above_offset: Tensor) -> Lines:
    """Of what lies between two lines of x."""

    def by(line: Tensor, upper: Tensor, lower: Tensor) -> Tensor:
        return line.clamp(min=0) * upper + line.clamp(max=0) * lower

    return Lines(
        by(below[:, None], x.low, x.high),
        by(below, x.low_offset, x.high_offset) + below_offset,
        by(above[:, None], x.high, x.low),
        by(above, x.high_offset, x.low_offset) + above_offset,
    )


def relu(x: Lines, radius: Tensor) -> Lines:
    low, high = reach(x, radius)
    width = (high - low).clamp(min=1e-30)
    chord = (high.clamp(min=0) - low.clamp(min=0)) / width
    keeps = (high > -low).to(low.dtype)
    below = torch.where(low >= 0, 1.0, torch.where(high <= 0, 0.0, keeps))
    return between(x, below, torch.zeros_like(low), chord, high.clamp(min=0) - chord * high)


def convex(x: Lines, low: Tensor, high: Tensor, of: Any, slope: Any) -> tuple[Lines, Tensor, Tensor]:
    """The tangent in the middle and the chord."""
    middle, (least, most) = (low + high) / 2, (of(low), of(high))
    tangent = slope(middle)
    chord = torch.where(high > low, (most - least) / (high - low).clamp(min=1e-30), tangent)
    made = between(x, tangent, of(middle) - tangent * middle, chord, least - chord * low)
    return made, torch.minimum(least, most), torch.maximum(least, most)


def softmax(x: Lines, radius: Tensor) -> tuple[Lines, tuple[Tensor, Tensor]]:
    """And within what intervals say it is."""
    low, high = reach(x, radius)
    largest = high.amax(dim=-1, keepdim=True)
    x = x._replace(low_offset=x.low_offset - largest, high_offset=x.high_offset - largest)
    exponentials, least, most = convex(x, low - largest, high - largest, torch.exp, torch.exp)
    sums = Lines(*(each.sum(dim=-1, keepdim=True) for each in exponentials))
    least, most = _within(reach(exponentials, radius), (least, most))
    under, over = _within(reach(sums, radius), (least.sum(-1, keepdim=True), most.sum(-1, keepdim=True)))
    inverse, *known = convex(sums, under, over, torch.reciprocal, lambda each: -1 / (each * each))
    small, large = _within(reach(inverse, radius), (known[0], known[1]))
    made = product(exponentials, inverse, radius, within=((least, most), (small, large)))
    return made, (least * small, (most * large).clamp(max=1.0))


def product(
    x: Lines, y: Lines, radius: Tensor, *, matrices: bool = False, factor: float = 1.0, within: Any = None
) -> Lines:
    """``w x + m y - m w``, give or take the product of both radii."""
    times = torch.matmul if matrices else torch.mul
    (left, a), (right, b) = (
        _around(each, radius, known) for each, known in zip((x, y), within or (None, None), strict=True)
    )

    def parts(one: Tensor, other: Tensor, wide: bool) -> tuple[Tensor, ...]:
        w, m = (right[:, None], left[:, None]) if wide else (right, left)
        return (
            *(times(one, part) for part in (w.clamp(min=0), w.clamp(max=0))),
            *(times(part, other) for part in (m.clamp(min=0), m.clamp(max=0))),
        )

    rest, both = times(a, b), times(left, right)
    low, low_offset = parts(x.low, y.low, True), parts(x.low_offset, y.low_offset, False)
    high, high_offset = parts(x.high, y.high, True), parts(x.high_offset, y.high_offset, False)
    return Lines(
        factor * (low[0] + high[1] + low[2] + high[3]),
        factor * (low_offset[0] + high_offset[1] + low_offset[2] + high_offset[3] - both - rest),
        factor * (high[0] + low[1] + high[2] + low[3]),
        factor * (high_offset[0] + low_offset[1] + high_offset[2] + low_offset[3] - both + rest),
    )


def _around(x: Lines, radius: Tensor, known: Any) -> tuple[Tensor, Tensor]:
    low, high = reach(x, radius) if known is None else _within(reach(x, radius), known)
    return (low + high) / 2, (high - low) / 2


def _within(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return torch.maximum(one[0], other[0]), torch.minimum(one[1], other[1])
