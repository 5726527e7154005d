"""Proofs and keys on a GPU: keys stay on the device, the witness goes in, sums come out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from gpu import device
from gpu.device import Array
from gpu.fixed_base import FixedBase, multiply_each
from gpu.msm import Bases, msm, plan
from gpu.ntt import Domain
from gpu.sparse import Matrix, first_unsatisfied
from kernels import FrArray, Group, WordArray, fp, fp2, g1
from kernels import Progress as Fraction
from prover import qap
from prover.progress import Progress
from prover.proving_key import WITNESS_SECTIONS, ProvingKey
from prover.randomness import Secrets
from prover.statement import Csr, Statement

_SHARE_FULL: Final = 0.2
"""So many of a network's witness values fill the field, the others are small: bases are laid out for that."""

_PIECE: Final = 1 << 20
"""Points of a key that are made at a time, between reports of progress."""


@dataclass(frozen=True)
class _Sum:
    """Bases, and the variables that they belong to: uint32[len(bases)]."""

    bases: Bases
    variables: Array

    @classmethod
    def of(cls, points: WordArray, variables: NDArray[np.integer]) -> _Sum:
        return cls(_resident(points, _SHARE_FULL), device.upload(variables.astype(np.uint32)))

    def over(self, z: Array) -> Array:
        return msm(self.bases, z, self.variables)


def _resident(points: WordArray, full: float = 1) -> Bases:
    """The bases of sums whose scalars fill the field in the share ``full``."""
    layout = plan(len(points), 8 * math.prod(points.shape[1:]), expected=int(full * len(points)))
    return Bases(device.upload(points), layout)


class Resident:
    """What proofs with one key read, on the device: the rows of its statement, and its points."""

    def __init__(self, key: ProvingKey, statement: Statement, threads: int) -> None:
        self.domain = Domain(qap.log_domain_size(statement))
        self.rows = _matrices(statement, threads)
        self.quotient = _resident(key.quotient)
        self.witness = {
            name: _Sum.of(getattr(key, name), key.variables(name, statement)) for name in WITNESS_SECTIONS
        }
        self.committed, self.known, self.linked = [], [], []
        for index, part in enumerate(statement.segment_ranges):
            own, variables = key.committed(part), key.present(part)
            self.committed.append(_Sum.of(key.segments[own], variables))
            self.known.append(_Sum.of(key.knowledge[own], variables))
            self.linked.append(_resident(key.linked(index)[:-1], _SHARE_FULL))  # without the blinding point


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
        base = FixedBase(device.upload(group.generator), len(scalars))

        def multiply(piece: slice, out: WordArray) -> None:
            with Secrets() as secret:
                points = device.empty(out.shape, np.uint64)
                base.multiply(secret(device.upload(scalars[piece])), points)
                out[...] = device.download(points)

        return _in_pieces(multiply, (len(scalars), *group.shape), progress)

    def multiply(
        self, group: Group, points: WordArray, scalar: FrArray, threads: int, progress: Fraction | None
    ) -> WordArray:
        def multiply(piece: slice, out: WordArray) -> None:
            with Secrets() as secret:
                factor = secret(device.upload(scalar[None]))
                out[...] = device.download(secret(multiply_each(device.upload(points[piece]), factor)))

        return _in_pieces(multiply, points.shape, progress)


def _in_pieces(
    work: Callable[[slice, WordArray], None], shape: tuple[int, ...], progress: Fraction | None
) -> WordArray:
    """``work`` writes each slice of an array of this shape."""
    out = np.empty(shape, dtype=np.uint64)
    for start in range(0, len(out), _PIECE):
        piece = slice(start, start + _PIECE)
        work(piece, out[piece])
        if progress is not None:
            progress(min(start + _PIECE, len(out)) / len(out))
    return out


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
        inside = self._secret(_affine(msm(self._resident.linked[segment], values)))
        blind = self._secret(g1.mul(self._key.linked(segment)[-1:], blinding))
        return g1.add(inside[None], blind)[0]

    def quotient_sum(self) -> WordArray:
        self._load(slice(0, len(self._host)))
        self._sums["quotient"] = msm(self._resident.quotient, self._quotient())
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
        point: WordArray = field.mul(np.stack([x, y]), inverses)
        return point
