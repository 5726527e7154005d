"""Fr for a verifier on this machine: long vectors are the kernels' work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, overload

import numpy as np

import kernels
from kernels import FrArray, fr, multilinear
from verifier.spartan.field import FR, Field


@dataclass(frozen=True)
class KernelField(Field):
    """``verifier.spartan.field.FR``, and as exact."""

    def eq(self, point: Sequence[int]) -> Sequence[int]:
        return _Integers(fr.to_canonical(multilinear.eq(fr.from_ints(point))))

    def are_canonical(self, data: bytes) -> bool:
        return bool(fr.is_canonical(np.frombuffer(data, dtype="<u8").reshape(-1, 4)).all())

    def encode(self, coefficients: Sequence[int], log_length: int) -> Sequence[int]:
        """Of a code of rate 1/4 at most."""
        domain = kernels.Domain(log_length)
        row = np.zeros((1, domain.size // 4, 4), dtype=np.uint64)
        row[0, : len(coefficients)] = fr.from_ints(coefficients)
        return _Integers(domain.encode(row)[0])


class _Integers(Sequence[int]):
    """Canonical elements, uint64[n, 4], each made an integer when it is asked for."""

    def __init__(self, words: FrArray) -> None:
        self._words = words

    def __len__(self) -> int:
        return len(self._words)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            return _Integers(self._words[index])
        return int.from_bytes(self._words[index].astype("<u8").tobytes(), "little")

    def __iter__(self) -> Iterator[int]:
        return iter(FR.from_bytes(self._words.astype("<u8").tobytes()))


KERNEL_FR: Final = KernelField(FR.modulus, FR.generator, FR.two_adicity)
