"""A proving key on a GPU: its statement's rows, and its points, with as many multiples as fit."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.gpu.device import Array, Device
from zenserve.gpu.msm import Bases, Plan, msm, plan
from zenserve.gpu.ntt import Domain
from zenserve.gpu.sparse import Matrix
from zenserve.kernels import WordArray
from zenserve.prover.backends.gpu import joined
from zenserve.prover.blocks import Csr
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import qap
from zenserve.prover.groth16.proving_key import WITNESS_SECTIONS, ProvingKey

PROOFS_AT_ONCE: Final = 2
"""For so many there is room: while one is computed, the next one's witness is brought."""

_SHARE_FULL: Final = 0.2
"""So many of a network's witness values fill the field, the others are small: bases are laid out for that."""

_PIECE: Final = 1 << 20
"""Points that are brought at a time where they cannot stay."""

_SCALAR, _ENTRY = 32, 8


class Sum:
    """Points of the key, which a proof adds up times scalars.

    ``variables``: the scalars' places, one a point; None where the scalars are as many as the points.
    Until ``settle`` is called the points are on the host, and every sum brings them piece by piece.
    """

    def __init__(
        self,
        device: Device,
        points: WordArray,
        variables: NDArray[np.integer] | None = None,
        full: float = _SHARE_FULL,
    ) -> None:
        self._device = device
        self._points = points
        self._variables = None if variables is None else variables.astype(np.uint32)
        self._full = full
        self._resident: tuple[Bases, Array | None] | None = None

    @property
    def least_bytes(self) -> int:
        """Of the points alone."""
        return self._points.nbytes

    @cached_property
    def fastest(self) -> Plan:
        """The points with the multiples that make sums fastest."""
        return self._plan(len(self._points))

    @cached_property
    def barest(self) -> Plan:
        """The points alone."""
        return self._plan(len(self._points), bare=True)

    @property
    def piece(self) -> Plan:
        """The plan of the points that a sum uploads at a time."""
        return self._plan(min(_PIECE, len(self._points)), bare=True)

    @property
    def table_bytes(self) -> int:
        """The bytes of the table on the device; 0 if the points do not stay there."""
        return 0 if self._resident is None else self._resident[0].plan.table_bytes

    def settle(self, share: float) -> None:
        """Bring the points to stay, and multiples in the ``share`` from none (0) to the fastest (1)."""
        most = self.fastest.table_bytes
        budget = self.least_bytes + int(share * (most - self.least_bytes))
        self._resident = self._brought(slice(0, len(self._points)), self._plan(len(self._points), budget))

    def over(self, scalars: Array) -> list[Array]:
        """XYZZ sums on the device, to be added up. ``scalars``: uint64[n, 4] on the device."""
        if self._resident is not None:
            bases, variables = self._resident
            return [msm(bases, scalars, variables)]
        return [self._piece_over(slice(i, i + _PIECE), scalars) for i in range(0, len(self._points), _PIECE)]

    def _piece_over(self, part: slice, scalars: Array) -> Array:
        count = len(self._points[part])
        bases, variables = self._brought(part, self._plan(count, bare=True))
        return msm(bases, scalars[part] if variables is None else scalars, variables)

    def _brought(self, part: slice, layout: Plan) -> tuple[Bases, Array | None]:
        device = self._device
        variables = None if self._variables is None else device.upload(self._variables[part])
        return Bases(device, device.upload(self._points[part]), layout), variables

    def _plan(self, count: int, budget: int | None = None, *, bare: bool = False) -> Plan:
        point_bytes = 8 * math.prod(self._points.shape[1:])
        budget = count * point_bytes if bare else budget
        return plan(count, point_bytes, expected=int(self._full * count), budget_bytes=budget)


class ResidentKey:
    """The data on ``device`` that proofs with one key read.

    ``rows``: A, B and C of all rows, the anchoring ones at the end of A; sums over the key's points:
    ``quotient``, ``witness`` by section, ``committed``, ``known`` and ``linked`` by segment.

    Until ``settle`` has been called, nothing is on the device.
    """

    def __init__(self, device: Device, key: ProvingKey, system: ConstraintSystem) -> None:
        self._device = device
        self._statement = system
        self.quotient = Sum(device, key.quotient, full=1)
        self.witness = {
            name: Sum(device, getattr(key, name), key.variables(name, system)) for name in WITNESS_SECTIONS
        }
        self.committed, self.known, self.linked = [], [], []
        for index, part in enumerate(system.segment_ranges):
            own, variables = key.committed(part), key.present(part)
            self.committed.append(Sum(device, key.segments[own], variables))
            self.known.append(Sum(device, key.knowledge[own], variables))
            self.linked.append(Sum(device, key.linked(index)[:-1]))  # without the blinding point

    @property
    def wanted_bytes(self) -> int:
        """The bytes on the device for proofs at the highest speed."""
        return self.table_bytes + _other_bytes(self._statement, self._scratch_bytes)

    def settle(self, threads: int) -> None:
        """Bring all that there is room for, and wait for it.

        Multiples are given up where they do not fit; where the points alone do not, proofs stream them.
        Raises ``ResourceError`` (``resource.gpu_memory``), before it begins, without room for the rest.
        """
        device = self._device
        least = sum(each.least_bytes for each in self.sums)
        room = device.free_bytes() - _other_bytes(self._statement, self._scratch_bytes)
        if room < least:
            streamed = max(2 * each.piece.table_bytes + each.piece.scratch_bytes for each in self.sums)
            device.require(_other_bytes(self._statement, streamed), "a proof of this statement")
        self.domain = Domain(device, qap.log_domain_size(self._statement))
        self.rows = _matrices(device, self._statement, threads)
        if room >= least:
            share = min(1.0, (room - least) / max(1, self.table_bytes - least))
            for each in self.sums:
                each.settle(share)
                device.release()  # the points as they were brought
        device.synchronize()

    @property
    def sums(self) -> list[Sum]:
        return [self.quotient, *self.witness.values(), *self.committed, *self.known, *self.linked]

    @property
    def table_bytes(self) -> int:
        """Of the points, with the multiples that make sums fastest."""
        return sum(each.fastest.table_bytes for each in self.sums)

    @property
    def _scratch_bytes(self) -> int:
        """Of a sum, with the most multiples or none."""
        return max(max(each.fastest.scratch_bytes, each.barest.scratch_bytes) for each in self.sums)


def _other_bytes(system: ConstraintSystem, scratch: int) -> int:
    """The rows, the transforms' tables; and of each proof the rows' values, the scratch of a sum, the witness
    where it was made and where it is proven, and what its steps read: of each variable up to three values."""
    rows = 1 << qap.log_domain_size(system)
    entries = int(system.survey.nonzeros.sum())
    proof = _SCALAR * (6 * system.variables + 3 * rows) + scratch
    return _ENTRY * entries + 3 * 4 * rows + 2 * _SCALAR * rows + PROOFS_AT_ONCE * proof


def _matrices(device: Device, system: ConstraintSystem, threads: int) -> list[Matrix]:
    """A, B and C of all rows, the anchoring ones at the end of A."""
    last = Csr.selection(system.anchored), Csr.empty(0), Csr.empty(0)
    blocks = [*(matrices for _, matrices in system.matrices(threads)), last]
    return [joined(device, parts) for parts in zip(*blocks, strict=True)]
