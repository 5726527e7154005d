"""A port of forward bounds of ``examples.sentences`` to PyTorch, as one writes them there: all words of a
sentence as one batch, rounding not looked at. Of a sample one word's embedding moves by at most a radius.

The bands are those that bounds/ has, and so is what layers in a row do to how far values are off: forms are
the same but for rounding. Margins are by forms, the last layers folded into the lead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

HEADS = 4

Ends = tuple[Tensor, Tensor]


class Forms(NamedTuple):
    """``slope`` [n, d, ...] times what moved, and ``offset`` [n, ...], give or take ``rest`` [n, ...]."""

    slope: Tensor
    offset: Tensor
    rest: Tensor

    def moved(self, of: Any) -> Forms:
        """``of`` each tensor, whose first axis is of samples: slopes have one more."""
        slope = of(self.slope.flatten(0, 1)).unflatten(0, self.slope.shape[:2])
        return Forms(slope, of(self.offset), of(self.rest))

    def reach(self, radius: Tensor) -> Ends:
        around = self.rest + _wide(radius, self.rest) * self.slope.norm(dim=1)
        return self.offset - around, self.offset + around

    def within(self, known: Ends) -> Forms:
        """Constants where it is known better."""
        middle, around = _around(known)
        constant = around < self.rest
        return Forms(
            torch.where(constant[:, None], 0.0, self.slope),
            torch.where(constant, middle, self.offset),
            torch.where(constant, around, self.rest),
        )


class Forward:
    """``matrices`` and ``offsets`` by the names of their nodes, as ``examples.sentences.network.Reader`` has
    them."""

    def __init__(self, reader: Any, device: str, dtype: torch.dtype) -> None:
        self.layers = reader.layers
        self.weights = {
            name: torch.tensor(each, dtype=dtype, device=device) for name, each in reader.matrices.items()
        }
        self.offsets = {
            name: torch.tensor(each, dtype=dtype, device=device) for name, each in reader.offsets.items()
        }
        # Of tensors that are sums: by which absolute values of what is none, and of outputs by which values.
        self.chains: dict[str, dict[str, Tensor]] = {}
        stream: dict[str, Tensor] = {}
        for layer in range(self.layers):
            for name in ("query", "key", "value"):
                self._chain(stream, f"{layer}/{name}")
            mixed = self._after(f"{layer}/norm", {f"{layer}/read": self.weights[f"{layer}/mixed"]})
            stream = {**self._after(f"{layer}/norm", stream), **mixed}
            self._chain(stream, f"{layer}/inside")
            outside = self._after(f"{layer}/last", {f"{layer}/bent": self.weights[f"{layer}/outside"]})
            stream = {**self._after(f"{layer}/last", stream), **outside}
        self.outputs = self._after("said", stream)

    def _after(self, name: str, parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {source: self.weights[name] @ matrix for source, matrix in parts.items()}

    def _chain(self, stream: Mapping[str, Tensor], name: str) -> None:
        self.chains[name] = {source: each.abs().T for source, each in self._after(name, stream).items()}

    def margins(self, x: Tensor, words: Tensor, radius: Tensor, label: int) -> Tensor:
        """[n]: of the sentence x [count, 128], where of each sample one of ``words`` moves by ``radius``."""
        slope, offset, rests, _ = self._last(x, words, radius)
        step = self.weights["said"][label] - self.weights["said"][1 - label]
        start = self.offsets["said"][label] - self.offsets["said"][1 - label]
        around = torch.zeros_like(radius)
        for source, matrix in self.outputs.items():
            around = around + rests[source].mean(dim=1) @ (matrix[label] - matrix[1 - label]).abs()
        lead = offset.mean(dim=1) @ step + start
        return lead - around - radius * (slope.mean(dim=2) @ step).norm(dim=1)

    def inside(self, x: Tensor, words: Tensor, radius: Tensor) -> Ends:
        """Ends of what the last ReLU reads, [n, count, 512]."""
        return self._last(x, words, radius)[-1]

    def _last(
        self, x: Tensor, words: Tensor, radius: Tensor
    ) -> tuple[Tensor, Tensor, dict[str, Tensor], Ends]:
        """Slope and offset of the last tensor of the stream, the rests of all sources, and the last ends."""
        count, width = x.shape
        slope = torch.zeros(len(words), width, count, width, dtype=x.dtype, device=x.device)
        eye = torch.eye(width, dtype=x.dtype, device=x.device)
        slope[torch.arange(len(words), device=x.device), :, words] = eye
        offset = x.expand(len(words), count, width)
        rests: dict[str, Tensor] = {}
        for layer in range(self.layers):

            def dense(name: str, s: Tensor, o: Tensor, layer: int = layer) -> tuple[Tensor, Tensor]:
                weight = self.weights[f"{layer}/{name}"].T
                return s @ weight, o @ weight + self.offsets[f"{layer}/{name}"]

            def chained(name: str, s: Tensor, o: Tensor, layer: int = layer) -> Forms:
                made = dense(name, s, o)
                rest = torch.zeros_like(made[1])
                for source, matrix in self.chains[f"{layer}/{name}"].items():
                    rest = rest + rests[source] @ matrix
                return Forms(*made, rest)

            query, key, value = (chained(name, slope, offset) for name in ("query", "key", "value"))
            read = attention(query, key, value, radius)
            rests[f"{layer}/read"] = read.rest
            mixed = dense("mixed", read.slope, read.offset)
            slope, offset = dense("norm", slope + mixed[0], offset + mixed[1])
            inside = chained("inside", slope, offset)
            bent = relu(inside, radius)
            rests[f"{layer}/bent"] = bent.rest
            outside = dense("outside", bent.slope, bent.offset)
            slope, offset = dense("last", slope + outside[0], offset + outside[1])
        return slope, offset, rests, inside.reach(radius)


def attention(query: Forms, key: Forms, value: Forms, radius: Tensor) -> Forms:
    def heads(each: Forms) -> Forms:
        return each.moved(lambda part: part.unflatten(-1, (HEADS, -1)).transpose(-2, -3))

    query, key, value = heads(query), heads(key), heads(value)
    key = key.moved(lambda part: part.transpose(-1, -2))
    size = query.offset.shape[-1]
    scores, known = product(query, key, radius, matrices=True, factor=size**-0.5)
    shares, known = softmax(scores, known, radius)
    read, _ = product(shares, value, radius, matrices=True, within=(known, None))
    return read.moved(lambda part: part.transpose(-2, -3).flatten(-2))


def band(x: Forms, slope: Tensor, low: Tensor, high: Tensor) -> Forms:
    """Of what lies between two lines of one slope."""
    return Forms(
        slope[:, None] * x.slope,
        slope * x.offset + (low + high) / 2,
        slope.abs() * x.rest + (high - low) / 2,
    )


def relu(x: Forms, radius: Tensor) -> Forms:
    low, high = x.reach(radius)
    least, most = low.clamp(min=0), high.clamp(min=0)
    slope = torch.where(high > low, (most - least) / (high - low).clamp(min=1e-30), (low > 0).to(low))
    over = least - slope * low
    made = band(x, slope, torch.where((low < 0) & (high > 0), 0.0, over), over)
    return made.within((least, most))


def convex(x: Forms, known: Ends, radius: Tensor, of: Any, touch: Any) -> tuple[Forms, Ends]:
    """The chord, and the line of its slope that touches, with the offset ``touch`` of the slope."""
    low, high = known
    first, last = of(low), of(high)
    slope = torch.where(high > low, (last - first) / (high - low).clamp(min=1e-30), 0.0)
    over = torch.maximum(first - slope * low, last - slope * high)
    made = band(x, slope, torch.where(high > low, torch.minimum(touch(slope), over), over), over)
    ends = _within(made.reach(radius), (torch.minimum(first, last), torch.maximum(first, last)))
    return made.within(ends), ends


def softmax(x: Forms, known: Ends, radius: Tensor) -> tuple[Forms, Ends]:
    """And within what it is known to be."""
    low, high = known
    largest = high.amax(dim=-1, keepdim=True)
    x = x._replace(offset=x.offset - largest)
    exponentials, known = convex(
        x, (low - largest, high - largest), radius, torch.exp, lambda slope: slope - slope * slope.log()
    )
    sums = Forms(*(each.sum(dim=-1, keepdim=True) for each in exponentials))
    under, over = _within(sums.reach(radius), (known[0].sum(-1, True), known[1].sum(-1, True)))
    inverse, small = convex(
        sums, (under, over), radius, torch.reciprocal, lambda slope: 2 * (-slope).clamp(min=0).sqrt()
    )
    return product(exponentials, inverse, radius, within=(known, small), most=1.0)


def product(
    x: Forms,
    y: Forms,
    radius: Tensor,
    *,
    matrices: bool = False,
    factor: float = 1.0,
    within: tuple[Ends | None, Ends | None] = (None, None),
    most: float = math.inf,
) -> tuple[Forms, Ends]:
    """``w x + m y - m w``, give or take the product of both radii; and its ends."""
    times = torch.matmul if matrices else torch.mul
    one, other = (
        each.reach(radius) if known is None else known for each, known in zip((x, y), within, strict=True)
    )
    (left, a), (right, b) = _around(one), _around(other)
    made = Forms(
        factor * (times(x.slope, right[:, None]) + times(left[:, None], y.slope)),
        factor * (times(x.offset, right) + times(left, y.offset) - times(left, right)),
        factor * (times(x.rest, right.abs()) + times(left.abs(), y.rest) + times(a, b)),
    )
    low, high = (factor * each for each in _multiplied(one, other, matrices=matrices))
    ends = _within(made.reach(radius), (low, high.clamp(max=most)))
    return made.within(ends), ends


def _multiplied(x: Ends, y: Ends, *, matrices: bool) -> Ends:
    """What intervals say of the product."""
    if matrices:
        x, y = (x[0][..., None], x[1][..., None]), (y[0][..., None, :, :], y[1][..., None, :, :])
    ends = [one * other for one in x for other in y]
    low = torch.minimum(torch.minimum(*ends[:2]), torch.minimum(*ends[2:]))
    high = torch.maximum(torch.maximum(*ends[:2]), torch.maximum(*ends[2:]))
    return (low.sum(dim=-2), high.sum(dim=-2)) if matrices else (low, high)


def _wide(radius: Tensor, like: Tensor) -> Tensor:
    return radius.reshape(-1, *(1 for _ in like.shape[1:]))


def _around(ends: Ends) -> Ends:
    """The middle, and how far from it."""
    return (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2


def _within(one: Ends, other: Ends) -> Ends:
    return torch.maximum(one[0], other[0]), torch.minimum(one[1], other[1])
