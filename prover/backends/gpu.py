"""Proofs and keys on a GPU: keys stay on the device, the witness goes in, sums come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from gpu import device, fixed_base
from gpu.device import Array
from gpu.msm import Bases
from gpu.ntt import Domain
from gpu.sparse import Matrix, first_unsatisfied
from kernels import FrArray, Group, WordArray, fp, fp2, g1
from kernels import Progress as Fraction
from prover import qap
from prover.progress import Progress
from prover.proving_key import WITNESS_SECTIONS, ProvingKey
from prover.randomness import Secrets
from prover.statement import Csr, Statement


@dataclass(frozen=True)
class _Sum:
    """Bases, and the variables that they belong to: uint32[len(bases)]."""

    bases: Bases
    variables: Array

    @classmethod
    def of(cls, points: WordArray, variables: NDArray[np.integer]) -> _Sum:
        return cls(Bases(points), device.upload(variables.astype(np.uint32)))

    def over(self, z: Array) -> Array:
        return self.bases.msm(z, self.variables)


class Resident:
    """What proofs with one key read, on the device: the rows of its statement, and its points."""

    def __init__(self, key: ProvingKey, statement: Statement, threads: int) -> None:
        self.domain = Domain(qap.log_domain_size(statement))
        self.rows = _matrices(statement, threads)
        self.quotient = Bases(key.quotient)
        self.witness = {
            name: _Sum.of(getattr(key, name), key.variables(name, statement)) for name in WITNESS_SECTIONS
        }
        self.committed, self.known, self.linked = [], [], []
        for index, part in enumerate(statement.segment_ranges):
            own, variables = key.committed(part), key.present(part)
            self.committed.append(_Sum.of(key.segments[own], variables))
            self.known.append(_Sum.of(key.knowledge[own], variables))
            self.linked.append(Bases(key.linked(index)[:-1]))  # without the blinding point


def _matrices(statement: Statement, threads: int) -> list[Matrix]:
    """A, B and C of all rows, the anchoring ones at the end of A."""
    blocks = [matrices for _, matrices in statement.matrices(threads)]
    a, b, c = (list(parts) for parts in zip(*blocks, strict=True))
    return [_joined(part) for part in ([*a, Csr.selection(statement.anchored)], b, c)]


def _joined(parts: Sequence[Csr]) -> Matrix:
    """The rows of all ``parts``, one after the other."""
    entries = np.cumsum([0, *(len(part.columns) for part in parts)])
    pools = np.cumsum([0, *(len(part.pool) for part in parts)])
    offsets = [part.offsets[:-1] + entries[i] for i, part in enumerate(parts)]
    return Matrix(
        np.concatenate([*offsets, entries[-1:]]),
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.coefficients + np.uint32(pools[i]) for i, part in enumerate(parts)]),
        np.concatenate([part.pool_mont for part in parts]),
    )


class GpuBackend:
    """``prover.backends.Backend`` on the current device, which has each key for as long as the caller."""

    name = "gpu"

    def __init__(self) -> None:
        self.residents: WeakKeyDictionary[ProvingKey, Resident] = WeakKeyDictionary()

    def prove(
        self, key: ProvingKey, statement: Statement, z: FrArray, threads: int, report: Progress
    ) -> GpuSession:
        if key not in self.residents:
            report("load key", 0.0)
            self.residents[key] = Resident(key, statement, threads)
        return GpuSession(self.residents[key], key, statement, z, report)

    def fixed_base(
        self, group: Group, scalars: FrArray, threads: int, progress: Fraction | None
    ) -> WordArray:
        return fixed_base.multiples(group.generator, scalars, progress)

    def multiply(
        self, group: Group, points: WordArray, scalar: FrArray, threads: int, progress: Fraction | None
    ) -> WordArray:
        return fixed_base.multiply(points, scalar, progress)


GPU: Final = GpuBackend()


class GpuSession:
    """``prover.backends.Session``: sums over the complete witness are under way before the first is read."""

    def __init__(
        self, resident: Resident, key: ProvingKey, statement: Statement, z: FrArray, report: Progress
    ) -> None:
        self._resident = resident
        self._key = key
        self._statement = statement
        self._host = z
        self._report = report
        self._secret = Secrets()
        self._z = self._secret(device.empty(z.shape, np.uint64))
        self._sums: dict[str, Array] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._secret.__exit__(kind, error, trace)

    def committed(self, segment: int) -> tuple[WordArray, WordArray]:
        self._load(self._statement.segment_ranges[segment])
        sums = [part[segment].over(self._z) for part in (self._resident.committed, self._resident.known)]
        commitment, known = (_affine(point) for point in sums)
        return commitment, known

    def linked(self, segment: int, blinding: FrArray) -> WordArray:
        values = self._z[self._statement.segment_ranges[segment]]
        inside = self._secret(_affine(self._resident.linked[segment].msm(values)))
        blind = self._secret(g1.mul(self._key.linked(segment)[-1:], blinding))
        return g1.add(inside[None], blind)[0]

    def quotient_sum(self) -> WordArray:
        self._load(slice(0, len(self._host)))
        self._sums["quotient"] = self._resident.quotient.msm(self._quotient())
        for name, part in self._resident.witness.items():
            self._sums[name] = part.over(self._z)
        return self._sum("quotient")

    def witness_sum(self, section: str) -> WordArray:
        return self._sum(section)

    def _load(self, variables: slice) -> None:
        device.copy(self._host[variables], self._z[variables])

    def _quotient(self) -> Array:
        """−2 h on the odd coset, once every constraint is known to hold."""
        self._report("constraints", 0.0)
        domain, count = self._resident.domain, self._statement.constraints
        a, b, c = (self._secret(device.zeros((domain.size, 4), np.uint64)) for _ in range(3))
        for matrix, out in zip(self._resident.rows, (a, b, c), strict=True):
            matrix.multiply(self._z, out[: matrix.rows])
        row = first_unsatisfied(a[:count], b[:count], c[:count])
        if row is not None:
            raise self._statement.unsatisfied(row)
        self._report("constraints", 1.0)
        domain.quotient(a, b, c)
        return a

    def _sum(self, name: str) -> WordArray:
        point = self._secret(_affine(self._sums[name]))
        self._report(f"msm_{name}", 1.0)
        return point


def _affine(xyzz: Array) -> WordArray:
    """The point X / ZZ, Y / ZZZ on the host, once it is computed; infinity, where ZZ = 0, is all zero."""
    with Secrets() as secret:
        x, y, zz, zzz = secret(device.download(xyzz))
        field = fp if x.ndim == 1 else fp2
        inverses = secret(field.inverse(np.stack([zz, zzz])))
        return field.mul(np.stack([x, y]), inverses)
