"""A witness z = uint64[variables, 4], Montgomery, where it is made: on the host, an array, or on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zenserve.base.parallel import copied, equal
from zenserve.base.randomness import Secrets
from zenserve.kernels import FrArray

if TYPE_CHECKING:
    from zenserve.gpu.device import Device


class DeviceWitness:
    """``array`` on ``device``. Variables that are asked for come as a copy; those that are set go there.

    Whoever writes waits for nothing: what reads is later work of the same stream, or comes after ``wait``.
    """

    def __init__(self, device: Device, array: Any) -> None:
        self.device, self.array = device, array
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.dtype, self.flags = array.dtype, array.flags

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, variables: int | slice | NDArray[np.integer]) -> FrArray:
        if isinstance(variables, np.ndarray):
            first, last = int(variables.min()), int(variables.max())
            inside: FrArray = self[first : last + 1][variables - first]
            return inside
        found: FrArray = self.device.download(self.array[variables])
        return found

    def __setitem__(self, variables: int | slice, values: FrArray) -> None:
        self.device.copy(np.ascontiguousarray(values), self.array[variables])

    def fill(self, value: int) -> None:
        self.device.fill(self.array, value)

    def copy(self) -> DeviceWitness:
        twin = self.device.empty(self.shape, self.dtype)
        self.device.copy(self.array, twin)
        self.device.synchronize()
        return DeviceWitness(self.device, twin)


Witness = FrArray | DeviceWitness


def part_of(witness: Witness, variables: slice) -> Witness:
    """These variables, where they are."""
    if isinstance(witness, DeviceWitness):
        return DeviceWitness(witness.device, witness.array[variables])
    return witness[variables]


def same(a: Witness, b: Witness, threads: int) -> bool:
    """Return whether both witnesses, on the same device, are equal."""
    if isinstance(a, DeviceWitness) and isinstance(b, DeviceWitness):
        from zenserve.gpu.elementwise import ScalarField

        return ScalarField(a.device).equal(a.array, b.array)
    return equal(np.asarray(a), np.asarray(b), threads)


def duplicate(witness: Witness, secret: Secrets, threads: int) -> Witness:
    """A copy where it is, registered with ``secret``."""
    if isinstance(witness, DeviceWitness):
        return secret(witness.copy())
    return secret(copied(witness, threads))
