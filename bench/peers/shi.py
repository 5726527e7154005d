"""A port to PyTorch of forward bounds as Shi et al. have them ("Robustness verification for transformers",
ICLR 2020), of ``examples.sentences``: what Faith (Feng et al., PPoPP 2022) is measured beside. All words of
a sentence are one batch here, where theirs take one after the other.

Each entry lies between two linear functions of what moved, a slope and an offset each. A layer takes both
through what is positive of its weights and what is negative: four products. Products of two bounded tensors
are between planes of McCormick's through two corners; a softmax is exponentials, their sum, its reciprocal,
and products. Ends are by the functions alone. Nothing is rounded outward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from bench.peers.operators import Lines, between, planes, reach, relu, through

HEADS = 4

Ends = tuple[Tensor, Tensor]


class Shi:
    """``matrices`` and ``offsets`` of ``examples.sentences.network.Reader``."""

    def __init__(self, reader: Any, device: str, dtype: torch.dtype) -> None:
        self.layers, self.dtype, self.device = reader.layers, dtype, device
        self.weights = {name: self._sides(each.T) for name, each in reader.matrices.items()}
        self.offsets = {name: self._there(each) for name, each in reader.offsets.items()}
        self.said, self.start = self._there(reader.matrices["said"]), self._there(reader.offsets["said"])

    def _there(self, array: Any) -> Tensor:
        return torch.tensor(array, dtype=self.dtype, device=self.device)

    def _sides(self, matrix: Any) -> Ends:
        weight = self._there(matrix)
        return weight.clamp(min=0), weight.clamp(max=0)

    def margins(self, x: Tensor, words: Tensor, radius: Tensor, label: int) -> Tensor:
        """[n]: of the sentence x [count, 128], where of each sample one of ``words`` moves by ``radius``."""
        last = self._stream(x, words, radius)[0]
        mean = Lines(last.low.mean(2), last.low_offset.mean(1), last.high.mean(2), last.high_offset.mean(1))
        step = (self.said[label] - self.said[1 - label])[:, None]
        lead = through(mean, (step.clamp(min=0), step.clamp(max=0)))
        return reach(lead, radius)[0][:, 0] + self.start[label] - self.start[1 - label]

    def inside(self, x: Tensor, words: Tensor, radius: Tensor) -> Ends:
        """Ends of what the last ReLU reads, [n, count, 512]."""
        return reach(self._stream(x, words, radius)[1], radius)

    def _stream(self, x: Tensor, words: Tensor, radius: Tensor) -> tuple[Lines, Lines]:
        """What the last layer makes, and what its ReLU reads."""
        count, width = x.shape
        slope = torch.zeros(len(words), width, count, width, dtype=self.dtype, device=self.device)
        own = torch.arange(len(words), device=self.device)
        slope[own, :, words] = torch.eye(width, dtype=self.dtype, device=self.device)
        offset = x.expand(len(words), count, width)
        stream = Lines(slope, offset, slope, offset)
        for layer in range(self.layers):

            def dense(name: str, of: Lines, layer: int = layer) -> Lines:
                return _by(through(of, self.weights[f"{layer}/{name}"]), self.offsets[f"{layer}/{name}"])

            query, key, value = (dense(name, stream) for name in ("query", "key", "value"))
            stream = dense("norm", _plus(stream, dense("mixed", attention(query, key, value, radius))))
            inside = dense("inside", stream)
            stream = dense("last", _plus(stream, dense("outside", relu(inside, radius)[0])))
        return stream, inside


def attention(query: Lines, key: Lines, value: Lines, radius: Tensor) -> Lines:
    def heads(of: Lines) -> Lines:
        return _moved(of, lambda part: part.unflatten(-1, (HEADS, -1)).transpose(-2, -3))

    query, key, value = heads(query), heads(key), heads(value)
    size = query.low_offset.shape[-1]
    scores = planes(query, _moved(key, lambda part: part.transpose(-1, -2)), radius, torch.matmul)
    shares = softmax(Lines(*(size**-0.5 * each for each in scores)), radius)
    read = planes(shares, value, radius, torch.matmul)
    return _moved(read, lambda part: part.transpose(-2, -3).flatten(-2))


def softmax(x: Lines, radius: Tensor) -> Lines:
    """A row's largest upper end is subtracted first, which changes no share."""
    largest = reach(x, radius)[1].amax(dim=-1, keepdim=True)
    exponentials = exp(_by(x, -largest), radius)
    inverse = reciprocal(Lines(*(each.sum(dim=-1, keepdim=True) for each in exponentials)), radius)
    return planes(exponentials, inverse, radius, torch.mul)


def exp(x: Lines, radius: Tensor) -> Lines:
    """Below a tangent, at the middle or so near the lower end that it is positive; above the chord."""
    low, high = reach(x, radius)
    at = torch.minimum((low + high) / 2, low + 0.99)
    slope, first, last = at.exp(), low.exp(), high.exp()
    return between(x, slope, slope * (1 - at), *_chord(low, high, first, last, first))


def reciprocal(x: Lines, radius: Tensor) -> Lines:
    """Of what is positive: below the tangent at the middle, above the chord."""
    low, high = reach(x, radius)
    inverse, first, last = 2 / (low + high), 1 / low, 1 / high
    return between(x, -inverse * inverse, 2 * inverse, *_chord(low, high, first, last, -first * first))


def _chord(low: Tensor, high: Tensor, first: Tensor, last: Tensor, tangent: Tensor) -> Ends:
    """Slope and offset; of a point the tangent's."""
    slope = torch.where(high > low, (last - first) / (high - low).clamp(min=1e-30), tangent)
    return slope, first - slope * low


def _moved(of: Lines, move: Callable[[Tensor], Tensor]) -> Lines:
    """Slopes have an axis more, behind that of samples."""

    def each(slope: Tensor) -> Tensor:
        return move(slope.flatten(0, 1)).unflatten(0, slope.shape[:2])

    return Lines(each(of.low), move(of.low_offset), each(of.high), move(of.high_offset))


def _by(of: Lines, offset: Tensor) -> Lines:
    return of._replace(low_offset=of.low_offset + offset, high_offset=of.high_offset + offset)


def _plus(one: Lines, other: Lines) -> Lines:
    return Lines(*(a + b for a, b in zip(one, other, strict=True)))
