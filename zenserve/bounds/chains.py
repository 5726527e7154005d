"""Sums that follow each other, as one: how far their forms may be off together.

A form's rest goes through a layer's absolute values; through two layers in turn it goes through |W2| |W1|,
where what it can be is |W2 W1|: a small part of it, and layer by layer the less. So of layers that take
all places of an image alike (dense ones, convolutions of one place, factors of channels, residual sums of
these) products are known, back to the tensors that are none of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Final, NamedTuple, Self

import numpy as np

from zenserve.bounds.arrays import Array, Namespace, beside, gamma, times

SOURCES: Final = 64
"""Of a chain at most."""


class Product(NamedTuple):
    """A matrix ``through`` [out, in], or factors [channels], made of others. ``size``: what the absolute
    values of all that was added up come to; ``terms``: of the longest of those sums, one in another."""

    through: Array
    size: Array
    terms: int = 1

    @classmethod
    def of(cls, matrix: Array) -> Self:
        return cls(matrix, abs(matrix))

    def after(self, first: Product) -> Product:
        inner = first.through.shape[0] if self.through.ndim == first.through.ndim == 2 else 1
        through, size = _times(self.through, first.through), _times(self.size, first.size)
        return Product(through, size, self.terms + first.terms + inner)

    def plus(self, other: Product) -> Product:
        one, two = self, other
        if one.through.ndim != two.through.ndim:
            one, two = (Product(_matrix(each.through), _matrix(each.size), each.terms) for each in (one, two))
        return Product(one.through + two.through, one.size + two.size, max(one.terms, two.terms) + 1)

    @property
    def columns(self) -> int:
        return int(self.through.shape[-1])

    @property
    def magnitude(self) -> Array:
        """No less than the absolute values in exact arithmetic, with what adding up by them may round off."""
        terms = self.terms + self.columns + SOURCES
        magnitude: Array = (abs(self.through) + gamma(terms) * self.size) * (1 + 2 * gamma(terms))
        return magnitude


def _times(second: Array, first: Array) -> Array:
    if second.ndim == 1 and first.ndim == 2:
        return second[:, np.newaxis] * first
    made: Array = second @ first if first.ndim == 2 else second * first
    return made


def _matrix(product: Array) -> Array:
    return product if product.ndim == 2 else np.diag(product)


@dataclass(frozen=True, eq=False)
class Chain:
    """From ``sources`` to a tensor: by which ``magnitudes`` [out, in], or [channels], of each, at most.
    ``terms``: of the sums on the longest way, all together."""

    sources: tuple[str, ...]
    magnitudes: tuple[Array, ...]
    terms: int

    @classmethod
    def of(cls, products: Mapping[str, Product], terms: int) -> Self:
        return cls(tuple(products), tuple(each.magnitude for each in products.values()), terms)

    def rest(self, rests: Mapping[str, Array]) -> Array:
        """[n, *shape]: how far the tensor is off at most where its sources are by so much."""
        read = [rests[name] for name in self.sources]
        if self._beside is not None:
            return _through(self._beside, beside(read, 1))
        return reduce(add, map(_through, self.magnitudes, read))

    def on(self, xp: Namespace) -> Self:
        return replace(self, magnitudes=tuple(xp.asarray(each) for each in self.magnitudes))

    @cached_property
    def _beside(self) -> Array | None:
        """All matrices beside each other, for all sources at once, where there are several."""
        if len(self.magnitudes) == 1 or any(each.ndim == 1 for each in self.magnitudes):
            return None
        return beside(self.magnitudes, 1)


def _through(magnitude: Array, rest: Array) -> Array:
    """[n, out, *places] of rest[n, in, *places]."""
    columns = rest.reshape(*rest.shape[:2], -1)
    if magnitude.ndim == 1:
        made = magnitude[:, np.newaxis] * columns
    elif columns.shape[-1] == 1:
        made = times(columns[..., 0], magnitude.T)[..., np.newaxis]
    else:
        made = times(magnitude, columns)
    return made.reshape(len(rest), -1, *rest.shape[2:])
