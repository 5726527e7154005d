"""The places to which ``Move`` relations take the entries of their sources."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Move, Tensor


def moved(relation: Move) -> Iterator[tuple[Tensor, list[IntArray]]]:
    """The sources that any entry is of, and where their entries stand (``readers``)."""
    start = 0
    for source in relation.sources:
        size = math.prod(source.shape[1:])
        found = readers(relation.places - start, size)
        if (found[0] >= 0).any():
            yield source, found
        start += size


def readers(places: IntArray, size: int) -> list[IntArray]:
    """Return the places of each of ``size`` entries in ``places``, flattened: int64[size] for the first place
    of each entry, int64[size] for the second, and so on; -1 where there is none."""
    flat = places.ravel()
    order = np.argsort(flat, kind="stable")
    order = order[(flat[order] >= 0) & (flat[order] < size)]
    entry = flat[order]
    rank = np.arange(len(entry)) - np.searchsorted(entry, entry)
    found = np.full((int(rank.max(initial=0)) + 1, size), -1)
    found[rank, entry] = order
    return list(found)
