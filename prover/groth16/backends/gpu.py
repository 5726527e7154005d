"""Proofs and keys on a GPU: keys stay on the device, the witness goes in, sums come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from queue import SimpleQueue
from threading import Lock
from types import TracebackType
from typing import Final, Self
from weakref import WeakKeyDictionary

import numpy as np

from base.progress import Progress
from base.randomness import Secrets
from gpu import device, modules, msm, ntt, points
from gpu.device import Array
from gpu.fixed_base import FixedBase, multiply_each
from gpu.sparse import first_unsatisfied
from kernels import Field, FrArray, Group, WordArray, fp, fp2, g1, g2
from kernels import Progress as Fraction
from prover.constraint_system import ConstraintSystem
from prover.groth16.backends.resident import PROOFS_AT_ONCE, Resident
from prover.groth16.proving_key import ProvingKey

_PIECE: Final = 1 << 20
"""Points of a key that are made at a time, between reports of progress."""


class GpuBackend:
    """``Backend`` on the current device, which has each key for as long as the caller.

    Threads may prove at once, with one key or several: what one waits for, another one computes. There is
    memory for ``PROOFS_AT_ONCE``, each with a stream of its own; others wait until one is done. Made when a
    GPU is first used, which compiles for some seconds what this machine has not compiled before.
    """

    name = "gpu"

    def __init__(self) -> None:
        self.residents: WeakKeyDictionary[ProvingKey, Resident] = WeakKeyDictionary()
        self._loading = Lock()
        self._streams: SimpleQueue[device.Stream] = SimpleQueue()
        for _ in range(PROOFS_AT_ONCE):
            self._streams.put(device.Stream())
        both = map(points.source, ("Fp", "Fp2"))
        modules.prepare([*msm.sources(), *both, ntt.source(), ("scan",), ("sparse",)])

    def prove(
        self, key: ProvingKey, statement: ConstraintSystem, z: FrArray, threads: int, report: Progress
    ) -> GpuSession:
        resident = self.load(key, statement, threads, report)
        return GpuSession(resident, self._streams, key, statement, z, report)

    def load(self, key: ProvingKey, statement: ConstraintSystem, threads: int, report: Progress) -> Resident:
        """What ``prove`` needs on the device. Other keys make way where it would be slower beside them.

        Raises ``ResourceError`` (``resource.gpu_memory``).
        """
        with self._loading:
            if key not in self.residents:
                report("load key", 0.0)
                resident = Resident(key, statement)
                if self.residents and resident.wanted_bytes > device.free_bytes():
                    self._make_room()
                resident.settle(threads)
                self.residents[key] = resident
            return self.residents[key]

    def _make_room(self) -> None:
        """Give up all keys, once no proof is under way: until then it holds on to what it uses."""
        streams = [self._streams.get() for _ in range(PROOFS_AT_ONCE)]
        self.residents.clear()
        device.release()
        for stream in streams:
            self._streams.put(stream)

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
    """``Session``: sums over the complete witness are under way before the first is read.

    All its work is on a stream of its own, from ``streams``, where it goes back: it waits for one.
    """

    def __init__(
        self,
        resident: Resident,
        streams: SimpleQueue[device.Stream],
        key: ProvingKey,
        statement: ConstraintSystem,
        z: FrArray,
        report: Progress,
    ) -> None:
        self._resident = resident
        self._streams = streams
        self._key = key
        self._statement = statement
        self._host = z
        self._report = report
        self._sums: dict[str, list[Array]] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stream = self._streams.get()
            stack.callback(self._streams.put, stream)
            stack.enter_context(stream)
            self._secret = stack.enter_context(Secrets())
            self._z = self._secret(device.empty(self._host.shape, np.uint64))
            self._leaving = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.close()

    def committed(self, segment: int) -> tuple[WordArray, WordArray]:
        self._load(self._statement.segment_ranges[segment])
        sums = [part[segment].over(self._z) for part in (self._resident.committed, self._resident.known)]
        commitment, known = (_total(g1, points) for points in sums)
        return commitment, known

    def linked(self, segment: int, blinding: FrArray) -> WordArray:
        values = self._z[self._statement.segment_ranges[segment]]
        inside = self._secret(_total(g1, self._resident.linked[segment].over(values)))
        blind = self._secret(g1.mul(self._key.linked(segment)[-1:], blinding))
        point: WordArray = g1.add(inside[None], blind)[0]
        return point

    def quotient_sum(self) -> WordArray:
        self._load(slice(0, len(self._host)))
        with Secrets() as secret:
            self._sums["quotient"] = self._resident.quotient.over(self._quotient(secret))
        for name, part in self._resident.witness.items():
            self._sums[name] = part.over(self._z)
        return self._sum("quotient")

    def witness_sum(self, section: str) -> WordArray:
        return self._sum(section)

    def _load(self, variables: slice) -> None:
        device.copy(self._host[variables], self._z[variables])

    def _quotient(self, keep: Secrets) -> Array:
        """−2 h on the odd coset, registered with ``keep``, once every constraint is known to hold."""
        self._report("constraints", 0.0)
        domain, count = self._resident.domain, self._statement.constraints
        with Secrets() as secret:
            a = keep(device.empty((domain.size, 4), np.uint64))
            b, c = (secret(device.empty((domain.size, 4), np.uint64)) for _ in range(2))
            for matrix, out in zip(self._resident.rows, (a, b, c), strict=True):
                matrix.multiply(self._z, out[: matrix.rows])
                out[matrix.rows :].fill(0)
            row = first_unsatisfied(a[:count], b[:count], c[:count])
            if row is not None:
                raise self._statement.unsatisfied(row)
            self._report("constraints", 1.0)
            domain.quotient(a, b, c)
        self._report("quotient", 1.0)
        return a

    def _sum(self, name: str) -> WordArray:
        point = self._secret(_total(g2 if name == "b_g2" else g1, self._sums[name]))
        self._report(f"msm_{name}", 1.0)
        return point


def _total(group: Group, parts: Sequence[Array]) -> WordArray:
    """The sum of XYZZ points on the device, once they are computed: affine, on the host."""
    with Secrets() as secret:
        total = np.zeros(group.shape, dtype=np.uint64)
        for part in parts:
            total = group.add(secret(total[None]), secret(_affine(device.download(part)))[None])[0]
    return total


def _affine(xyzz: WordArray) -> WordArray:
    """X / ZZ, Y / ZZZ; infinity, where ZZ = 0, is all zero."""
    field: Field = fp if xyzz.shape == (4, 6) else fp2
    with Secrets() as secret:
        inverses = secret(field.inverse(secret(xyzz)[2:]))
        point: WordArray = field.mul(xyzz[:2], inverses)
    return point
