"""Field elements from the operating system's randomness, in memory that can be erased.

Toxic waste and blinding factors live in numpy buffers only: a Python integer cannot be overwritten.
Erasure is best effort: it reaches the arrays registered here, not registers, swap or crash dumps.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from zenserve import kernels
from zenserve.base.parallel import run
from zenserve.kernels import FrArray

_TOP_LIMB_MASK = np.uint64(2 ** (kernels.fr.modulus.bit_length() - 192) - 1)

_LARGE_BYTES = 1 << 22


class Erasable(Protocol):
    """An array, wherever it is."""

    def fill(self, value: Any, /) -> None: ...


Array = TypeVar("Array", bound=Erasable)


def random_elements(count: int) -> FrArray:
    """``count`` independent uniform elements of Fr: uint64[count, 4], Montgomery.

    Rejection sampling on 255 bits. The limbs are drawn in Montgomery form directly: x -> x·2^256 permutes
    Fr, so a uniform representative is a uniform element.
    """
    elements = np.empty((count, 4), dtype=np.uint64)
    pending = np.ones(count, dtype=np.bool_)
    with open("/dev/urandom", "rb", buffering=0) as source, Secrets() as secret:
        while pending.any():
            draw = secret(np.empty((int(pending.sum()), 4), dtype=np.uint64))
            if source.readinto(draw.data) != draw.nbytes:
                raise OSError("the operating system returned too little randomness")
            draw[:, 3] &= _TOP_LIMB_MASK
            elements[pending] = draw
            pending = ~kernels.fr.is_canonical(elements)
    return elements


class Secrets:
    """Arrays that are zeroed when the ``with`` block ends, however it ends.

    ``with Secrets() as secret: tau = secret(random_elements(1))``
    """

    def __init__(self) -> None:
        self._arrays: list[Erasable] = []

    def __call__(self, array: Array) -> Array:
        """Register ``array`` and hand it back."""
        self._arrays.append(array)
        return array

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.erase()

    def erase(self, threads: int = 1) -> None:
        """Zero what was registered so far, and let go of it."""
        with ExitStack() as all_of_them:  # whichever fails: those of a device may
            for array in self._arrays:
                if threads > 1 and isinstance(array, np.ndarray) and array.nbytes >= _LARGE_BYTES:
                    parts = np.array_split(array, threads)
                    all_of_them.callback(run, [partial(part.fill, 0) for part in parts], threads)
                else:
                    all_of_them.callback(array.fill, 0)
        self._arrays.clear()
