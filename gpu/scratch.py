"""Memory that is taken piece by piece, and erased and given back at once."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Final, Self

import numpy as np

from zenserve.gpu.device import Array, Device

_BLOCK: Final = 1 << 20
"""Words that are allocated at a time, and more where more are asked for: to erase a block is one launch."""

_ALIGNED: Final = 4
"""Words that pieces begin at a multiple of: those of an element."""


class Scratch:
    """Arrays for secrets, not initialised. In its context; all of them are erased on leaving, however."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._blocks: list[Array] = []
        self._used = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for block in self._blocks:
            self._device.fill(block, 0)
        self._blocks.clear()

    def integers(self, *shape: int) -> Array:
        """int64[*shape]"""
        return self._words(math.prod(shape)).reshape(shape)

    def elements(self, *shape: int) -> Array:
        """uint64[*shape, 4]"""
        return self._words(4 * math.prod(shape)).view(np.uint64).reshape(*shape, 4)

    def brought(self, host: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Array:
        """A copy of ``host``, of int64, for the current stream's work."""
        array = self.integers(*host.shape)
        self._device.copy(host, array)
        return array

    def _words(self, count: int) -> Array:
        if not self._blocks or self._used + count > len(self._blocks[-1]):
            self._blocks.append(self._device.empty(max(count, _BLOCK), np.int64))
            self._used = 0
        first, self._used = self._used, self._used + -(-count // _ALIGNED) * _ALIGNED
        return self._blocks[-1][first : first + count]
