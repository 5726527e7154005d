"""Fr, and trees over columns, for a verifier on this machine: whole vectors are the kernels' work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.kernels import FrArray, fr, multilinear
from zenserve.verifier.spartan.field import FR, Field
from zenserve.verifier.spartan.merkle import DIGEST_BYTES, LEAF_KEY, NODE_KEY, Opened

_FEW_BYTES: Final = 1 << 10
"""Of elements that are looked at sooner than a kernel is called."""


@dataclass(frozen=True)
class KernelField(Field):
    """``zenserve.verifier.spartan.field.FR``, and as exact."""

    def eq(self, point: Sequence[int]) -> Sequence[int]:
        return _Integers(fr.to_canonical(multilinear.eq(fr.from_ints(point))))

    def combine(self, weights: Sequence[int], columns: Sequence[bytes]) -> list[int]:
        rows = _rows_of(columns)
        if len(rows) != len(weights):
            raise ValueError(f"columns of {len(rows)} elements are not combined by {len(weights)} weights")
        found = np.zeros((len(columns), 4), dtype=np.uint64)
        multilinear.combine_rows(rows, _montgomery(weights), found)
        return self.from_bytes(found.astype("<u8", copy=False).tobytes())

    def words_at(
        self, log_length: int, places: Sequence[int], weights: Sequence[int], point: Sequence[int]
    ) -> int:
        if not point:
            return super().words_at(log_length, places, weights, point)
        at, roots = np.array(places, dtype=np.uint64), _roots(log_length)
        # The powers x^(2^k) of x = root^place are roots, too.
        doublings = np.arange(len(point), dtype=np.uint64)[:, np.newaxis]
        exponents = at << doublings & np.uint64((1 << log_length) - 1)
        low, high = exponents & np.uint64(len(roots.low) - 1), exponents >> np.uint64(roots.split)
        powers = fr.mul(roots.low[low], roots.high[high])
        drawn = fr.from_ints(reversed(point))[:, np.newaxis]
        factors = fr.mul(fr.sub(powers, _ONE), np.broadcast_to(drawn, powers.shape))
        factors = fr.add(factors, _ONE)
        while len(factors) > 1:
            half = len(factors) // 2
            product = fr.mul(factors[:half], factors[half : 2 * half])
            factors = np.concatenate([product, factors[2 * half :]])
        return int(fr.to_ints(multilinear.dot(fr.from_ints(weights), factors[0]))[0])

    def tree_tops(
        self, log_leaves: int, places: Sequence[int], openings: Sequence[Opened]
    ) -> Sequence[bytes]:
        level = np.stack([_leaves(each) for each in openings], axis=1)
        given = np.stack([_digests(each.path) for each in openings], axis=1)
        nodes = np.array(places, dtype=np.int64) + (1 << log_leaves)
        while nodes[0] > 1:
            first = np.ones(len(nodes) + 1, dtype=bool)  # of its parent's children
            first[1:-1] = nodes[1:] >> 1 != nodes[:-1] >> 1
            alone, parents = first[:-1] & first[1:], np.cumsum(first[:-1]) - 1
            pairs = np.empty((2, parents[-1] + 1, *level.shape[1:]), dtype=np.uint8)
            pairs[nodes & 1, parents] = level
            told = np.flatnonzero(alone)
            pairs[~nodes[told] & 1, parents[told]] = given[: len(told)]
            given, nodes = given[len(told) :], nodes[first[:-1]] >> 1
            hashes = kernels.blake3.columns(pairs.view(np.uint64).reshape(2, -1, 4), NODE_KEY)
            level = hashes.reshape(pairs.shape[1:])
        return [top.tobytes() for top in level[0]]

    def are_canonical(self, data: bytes) -> bool:
        if len(data) <= _FEW_BYTES:
            return super().are_canonical(data)
        return bool(fr.is_canonical(np.frombuffer(data, dtype="<u8").reshape(-1, 4)).all())

    def encode(self, coefficients: Sequence[int], log_length: int) -> Sequence[int]:
        """Of a code of rate 1/4 at most."""
        domain = kernels.Domain(log_length)
        row = np.zeros((1, domain.size // 4, 4), dtype=np.uint64)
        row[0, : len(coefficients)] = fr.from_ints(coefficients)
        return _Integers(domain.encode(row)[0])


class _Roots(NamedTuple):
    """Powers of a root of unity, of which two have any other for a product: root^i, i < 2^split, and
    root^(i 2^split)."""

    split: int
    low: FrArray
    high: FrArray


@lru_cache(maxsize=32)
def _roots(log_length: int) -> _Roots:
    split = (log_length + 1) // 2
    root = FR.root_of_unity(log_length)
    low, high = (fr.from_ints([base])[0] for base in (root, pow(root, 1 << split, FR.modulus)))
    return _Roots(split, fr.powers(low, 1 << split), fr.powers(high, 1 << log_length - split))


def _rows_of(columns: Sequence[bytes]) -> FrArray:
    """uint64[rows, columns, 4], of elements as they stand there."""
    words = np.frombuffer(b"".join(columns), dtype="<u8").reshape(len(columns), -1, 4)
    return words.swapaxes(0, 1).astype(np.uint64, order="C")


def _leaves(opening: Opened) -> NDArray[np.uint8]:
    salts = _digests(opening.salts) if any(opening.salts) else None
    return kernels.blake3.columns(_rows_of(opening.columns), LEAF_KEY, salts=salts)


def _digests(parts: Sequence[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, DIGEST_BYTES)


class _Integers(Sequence[int]):
    """Canonical elements, uint64[n, 4], each made an integer when it is asked for."""

    def __init__(self, words: FrArray) -> None:
        self.words = words

    def __len__(self) -> int:
        return len(self.words)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            return _Integers(self.words[index])
        return int.from_bytes(self.words[index].astype("<u8").tobytes(), "little")

    def __iter__(self) -> Iterator[int]:
        return iter(FR.from_bytes(self.words.astype("<u8").tobytes()))


def _montgomery(values: Sequence[int]) -> FrArray:
    return fr.from_canonical(values.words) if isinstance(values, _Integers) else fr.from_ints(values)


_ONE: Final = fr.from_ints([1])[0]
KERNEL_FR: Final = KernelField(FR.modulus, FR.generator, FR.two_adicity)
