"""Passes on a card that are launched at once, as they were recorded with the first region of their kind.

An operation takes the host longer to launch than a card to do, but for the largest batches.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from zenserve.bounds.arrays import Array, Namespace, dot, host
from zenserve.bounds.ball import Region
from zenserve.bounds.network import Network
from zenserve.bounds.propagation import Bounds, Method
from zenserve.prover import backends

_KEPT: Final = 8
"""Recordings of one network: each holds all of its pass's memory."""


class There:
    """A network on a card, for as long as it is anywhere, and what was recorded of it."""

    def __init__(self, network: Network, xp: Namespace) -> None:
        self.network = network.on(xp)
        self._recorded = dict[Hashable, _Recorded]()
        self._alone = Lock()

    @staticmethod
    def of(network: Network, xp: Namespace) -> There:
        """On the current device, which ``ZENSERVE_BACKEND`` says."""
        held, index = _THERE.setdefault(network, {}), backends.chosen().index
        if index not in held:
            held[index] = There(network, xp)
        return held[index]

    def records(self, method: Method) -> bool:
        """Return whether a pass can be recorded, which requires that it asks nothing of the host. Integers
        ask whether they are exact, ``crown`` asks which lines it needs."""
        return method != "crown" and not any(each.whole for each in self.network.operations)

    def least(self, region: Region, lines: Array, method: Method) -> Array:
        """``Bounds.least`` for a region and lines of the host, on the host."""

        def made(there: Region, at: Array) -> Array:
            return Bounds(self.network, there, method).least(at)

        return self._launched(method, made, region, lines)

    def centres(self, region: Region, lines: Array) -> Array:
        """``lines`` times what the network makes of each region's least input."""

        def made(there: Region, at: Array) -> Array:
            return dot(at, self.network.run(there.interval().low))

        return self._launched("centres", made, region, lines)

    def _launched(
        self, what: str, made: Callable[[Region, Array], Array], region: Region, lines: Array
    ) -> Array:
        kind = (what, lines.shape, region.kind)
        with self._alone:
            if kind not in self._recorded:
                while len(self._recorded) >= _KEPT:
                    del self._recorded[next(iter(self._recorded))]
                self._recorded[kind] = _Recorded(made, region, lines)
            return self._recorded[kind](region, lines)


_THERE: Final = WeakKeyDictionary[Network, dict[int | None, There]]()


class _Recorded:
    """A recorded pass, whose inputs and results keep their places on the card. An array that equals the last
    one ``_sent`` to its place is not sent again."""

    def __init__(self, made: Callable[[Region, Array], Array], region: Region, lines: Array) -> None:
        from zenserve.gpu import device

        xp = device.namespace()
        there, at, found = region.on(xp), xp.asarray(lines), xp.empty(lines.shape[:2])

        def call() -> None:
            found[...] = made(there, at)

        self._read, self._found = (*there.arrays, at), found
        self._sent = [np.empty(0)] * len(self._read)
        self._device = device.Device.of(found)
        self._launch = self._device.recorded(call)

    def __call__(self, region: Region, lines: Array) -> Array:
        for place, new in enumerate((*region.arrays, lines)):
            if not np.array_equal(_once(new), self._sent[place]):
                self._sent[place] = _once(new).copy()
                self._device.copy(np.array(new, self._read[place].dtype), self._read[place])
        self._launch()
        return host(self._found)


def _once(array: Array) -> Array:
    """Return the first entry of an array that was broadcast along the first axis, as a sentence is to all of
    its words; any other array as it is."""
    return array[:1] if array.ndim and array.strides[0] == 0 else array
