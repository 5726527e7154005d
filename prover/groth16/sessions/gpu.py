"""The sums of a proof on a GPU: keys stay on the device, the witness goes in, sums come out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from queue import SimpleQueue
from threading import Lock
from types import TracebackType
from typing import Final, Self
from weakref import WeakKeyDictionary

import numpy as np

from zenserve.base.progress import Progress
from zenserve.base.randomness import Secrets
from zenserve.gpu.device import Array, Device, Stream
from zenserve.gpu.sparse import first_unsatisfied
from zenserve.kernels import Field, FrArray, Group, WordArray, fp, fp2, g1, g2
from zenserve.prover.backends.gpu import GpuBackend, backend
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16.proving_key import ProvingKey
from zenserve.prover.groth16.sessions.resident import PROOFS_AT_ONCE, ResidentKey
from zenserve.prover.witness import DeviceWitness, Witness


class ResidentKeys:
    """Keys on one device, each for as long as the caller has it, and the sessions that use them.

    Threads may prove at once, with one key or several: what one waits for, another one computes. There is
    memory for ``PROOFS_AT_ONCE``, each with a stream of its own; others wait until one is done.
    """

    def __init__(self, on: GpuBackend) -> None:
        self.keys: WeakKeyDictionary[ProvingKey, ResidentKey] = WeakKeyDictionary()
        self._device, self._kept = on.device, on.kept
        self._loading = Lock()
        self._streams: SimpleQueue[Stream] = SimpleQueue()
        for _ in range(PROOFS_AT_ONCE):
            self._streams.put(on.device.stream())

    def begin(
        self, key: ProvingKey, system: ConstraintSystem, z: Witness, threads: int, report: Progress
    ) -> GpuSession:
        resident = self.load(key, system, threads, report)
        return GpuSession(self._device, resident, self._streams, key, system, z, report)

    def load(self, key: ProvingKey, system: ConstraintSystem, threads: int, report: Progress) -> ResidentKey:
        """Return the key's data on the device, and load it if it is not there. Kept values are dropped to
        make room; so are other keys, if the key would be slower beside them.

        Raises ``ResourceError`` (``resource.gpu_memory``).
        """
        with self._loading:
            if key not in self.keys:
                report("load key", 0.0)
                resident = ResidentKey(self._device, key, system)
                self._kept.make_room(resident.wanted_bytes)
                if self.keys and resident.wanted_bytes > self._device.free_bytes():
                    self._make_room()
                resident.settle(threads)
                self.keys[key] = resident
            return self.keys[key]

    def _make_room(self) -> None:
        """Give up all keys, once no proof is under way: until then it holds on to what it uses."""
        streams = [self._streams.get() for _ in range(PROOFS_AT_ONCE)]
        self.keys.clear()
        self._device.release()
        for stream in streams:
            self._streams.put(stream)


_resident_keys = cache(ResidentKeys)
_MAKING: Final = Lock()


def resident_keys(index: int) -> ResidentKeys:
    """Return this process's resident keys on the device of this index, the same for all threads."""
    with _MAKING:
        return _resident_keys(backend(index))


class GpuSession:
    """``Session``: all sums over the complete witness are under way before the first is read.

    All its work is on a stream of its own, from ``streams``, where it goes back: it waits for one.
    """

    def __init__(
        self,
        device: Device,
        resident: ResidentKey,
        streams: SimpleQueue[Stream],
        key: ProvingKey,
        system: ConstraintSystem,
        z: Witness,
        report: Progress,
    ) -> None:
        self._device = device
        self._resident = resident
        self._streams = streams
        self._key = key
        self._statement = system
        self._host = z
        self._report = report
        self._sums: dict[str, list[Array]] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stream = self._streams.get()
            stack.callback(self._streams.put, stream)
            stack.enter_context(stream)
            self._secret = stack.enter_context(Secrets())
            if isinstance(self._host, DeviceWitness):
                self._z = self._host.array  # the caller's, and erased by him
            else:
                self._z = self._secret(self._device.empty(self._host.shape, np.uint64))
            self._leaving = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.close()

    def committed(self, segment: int) -> tuple[WordArray, WordArray]:
        self._load(self._statement.segment_ranges[segment])
        sums = [part[segment].over(self._z) for part in (self._resident.committed, self._resident.known)]
        commitment, known = (self._total(g1, points) for points in sums)
        return commitment, known

    def linked(self, segment: int, blinding: FrArray) -> WordArray:
        values = self._z[self._statement.segment_ranges[segment]]
        inside = self._secret(self._total(g1, self._resident.linked[segment].over(values)))
        blind = self._secret(g1.mul(self._key.linked(segment)[-1:], blinding))
        point: WordArray = g1.add(inside[None], blind)[0]
        return point

    def start(self) -> None:
        self._load(slice(0, len(self._host)))
        with Secrets() as secret:
            self._sums["quotient"] = self._resident.quotient.over(self._quotient(secret))
        for name, part in self._resident.witness.items():
            self._sums[name] = part.over(self._z)

    def quotient_sum(self) -> WordArray:
        return self._sum("quotient")

    def witness_sum(self, section: str) -> WordArray:
        return self._sum(section)

    def _load(self, variables: slice) -> None:
        if not isinstance(self._host, DeviceWitness):
            self._device.copy(self._host[variables], self._z[variables])

    def _quotient(self, keep: Secrets) -> Array:
        """−2 h on the odd coset, registered with ``keep``, once every constraint is known to hold."""
        self._report("constraints", 0.0)
        device, domain, count = self._device, self._resident.domain, self._statement.constraints
        with Secrets() as secret:
            a = keep(device.empty((domain.size, 4), np.uint64))
            b, c = (secret(device.empty((domain.size, 4), np.uint64)) for _ in range(2))
            for matrix, out in zip(self._resident.rows, (a, b, c), strict=True):
                matrix.multiply(self._z, out[: matrix.rows])
                device.fill(out[matrix.rows :], 0)
            row = first_unsatisfied(device, a[:count], b[:count], c[:count])
            if row is not None:
                raise self._statement.unsatisfied(row)
            self._report("constraints", 1.0)
            domain.quotient(a, b, c)
        self._report("quotient", 1.0)
        return a

    def _sum(self, name: str) -> WordArray:
        point = self._secret(self._total(g2 if name == "b_g2" else g1, self._sums[name]))
        self._report(f"msm_{name}", 1.0)
        return point

    def _total(self, group: Group, parts: Sequence[Array]) -> WordArray:
        """The sum of XYZZ points on the device, once they are computed: affine, on the host."""
        with Secrets() as secret:
            total = np.zeros(group.shape, dtype=np.uint64)
            for part in parts:
                point = secret(_affine(self._device.download(part)))
                total = group.add(secret(total[None]), point[None])[0]
        return total


def _affine(xyzz: WordArray) -> WordArray:
    """X / ZZ, Y / ZZZ; infinity, where ZZ = 0, is all zero."""
    field: Field = fp if xyzz.shape == (4, 6) else fp2
    with Secrets() as secret:
        inverses = secret(field.inverse(secret(xyzz)[2:]))
        point: WordArray = field.mul(xyzz[:2], inverses)
    return point
