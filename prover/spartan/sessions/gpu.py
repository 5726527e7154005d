"""A proof's sums on a GPU: matrices stay there, the witness goes in, what is said of rounds comes out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache, cached_property, partial
from queue import LifoQueue
from threading import Lock
from types import TracebackType
from typing import Final, NamedTuple, Self

import numpy as np

from zenserve.base.memory import Kept
from zenserve.base.randomness import Secrets
from zenserve.gpu import rows
from zenserve.gpu.device import Array, Device, Stream
from zenserve.gpu.sumcheck import SumCheck, to_ints, to_words
from zenserve.kernels import FrArray
from zenserve.prover.backends.gpu import GpuBackend, backend
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.spartan.commitment import Linked, key_of, other_values
from zenserve.prover.spartan.queries import Places, opening, siblings
from zenserve.prover.spartan.rounds import Rounds
from zenserve.prover.spartan.sessions.workspace import (
    ResidentSystem,
    Room,
    Workspace,
    resident_bytes,
    workspace_bytes,
)
from zenserve.prover.witness import DeviceWitness, Witness
from zenserve.verifier.spartan import merkle
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.commitment import bound
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.transcript import Transcript

_PROOFS_AT_ONCE: Final = 2
"""While one is computed, the next one's witness is brought."""

_SYSTEMS: Final = 4
"""Constraint systems that stay."""


class _Turn(NamedTuple):
    """One of the proofs that are made at once."""

    which: int
    stream: Stream


class ResidentSystems:
    """The systems last used on one device, and turns for proofs: other proofs wait for a free turn."""

    def __init__(self, on: GpuBackend) -> None:
        self._device, self._kept = on.device, on.kept  # commitments, and workspaces
        self._systems: dict[tuple[bytes, Shape], ResidentSystem] = {}
        self._loading = Lock()
        self._turns = LifoQueue[_Turn]()  # proofs that do not meet are made in one place
        for which in range(_PROOFS_AT_ONCE):
            self._turns.put(_Turn(which, self._device.stream()))

    def begin(self, system: ConstraintSystem, shape: Shape, z: Witness, threads: int) -> GpuSession:
        return GpuSession(self.load(system, shape, threads), self._kept, self._turns, z)

    def load(self, system: ConstraintSystem, shape: Shape, threads: int) -> ResidentSystem:
        """Raises ``ResourceError`` (``resource.gpu_memory``)."""
        key = system.digest, shape
        with self._loading:
            found = self._systems.pop(key, None)
            while found is None and len(self._systems) >= _SYSTEMS:
                gone = self._systems.pop(next(iter(self._systems)))
                for which in range(_PROOFS_AT_ONCE):
                    self._kept.take(_place(gone, which))
            if found is None:
                self._kept.make_room(resident_bytes(system, shape))
                self._device.require(resident_bytes(system, shape), "this circuit")
                found = ResidentSystem(self._device, system, shape, threads)
            self._systems[key] = found
            return found


def _place(resident: ResidentSystem, which: int) -> tuple[object, ...]:
    """Return the key that a turn's workspace is kept by."""
    return resident.system.digest, resident.shape, which


_resident_systems = cache(ResidentSystems)
_MAKING: Final = Lock()


def resident_systems(index: int) -> ResidentSystems:
    """Return this process's resident systems on the device of this index, the same for all threads."""
    with _MAKING:
        return _resident_systems(backend(index))


class GpuRows:
    """``zenserve.prover.spartan.sessions.Rows``, of ``size`` values and tails of ``tail``. ``words``: the
    code words, their columns in bit-reversed order."""

    def __init__(
        self,
        device: Device,
        code: Code,
        size: int,
        tail: int,
        words: Array,
        salts: Array | None,
        nodes: Array,
        top: bytes = b"",
    ) -> None:
        self._device, self._code, self._size, self._tail = device, code, size, tail
        self._words, self._salts, self._nodes, self._top = words, salts, nodes, top

    @property
    def nbytes(self) -> int:
        salts = 0 if self._salts is None else self._salts.nbytes
        return int(self._words.nbytes + self._nodes.nbytes + salts)

    @cached_property
    def root(self) -> bytes:
        """Waits for the device, where the tree's ``top`` was not told."""
        code, top = self._code, self._top or self._device.download(self._nodes[1]).tobytes()
        return merkle.root(top, self._size, self._tail, code.log_degree, code.log_length)

    def open(self, at: Places) -> bytes:
        device, count, path = self._device, len(at), siblings(at, self._code.log_length)
        wanted = device.bring(np.concatenate([at, path]))
        found = rows.open_columns(device, self._salts, self._words, self._nodes, wanted, count)
        host, salted = device.download(found), 0 if self._salts is None else count
        salts, entries, nodes = np.split(host, [salted, len(host) - len(path)])
        return opening(salts if salted else None, entries.reshape(count, 32 * len(self._words)), nodes)


class LinkedRows:
    """Of a commitment that was made before what proofs about it take, and hold: it is erased when nobody
    does. ``seed``, uint8[32], follows from its values as well; ``own``: its rows, Montgomery."""

    def __init__(self, made: GpuRows, seed: Array, own: Array) -> None:
        self._made, self.seed, self.own = made, seed, own
        self.nbytes = made.nbytes + int(own.nbytes)

    @property
    def root(self) -> bytes:
        return self._made.root

    def open(self, at: Places) -> bytes:
        return self._made.open(at)


def _erase(device: Device, secret: Secrets) -> None:
    """On whichever thread: its stream may not be that of who has the memory next."""
    with device.current():
        secret.erase()
        device.synchronize()


def _number(digest: Array) -> Array:
    """uint8[32] as uint64[1, 4]."""
    return digest.view(np.uint64).reshape(1, 4)


class GpuVector:
    """``zenserve.prover.spartan.folding.Vector``: the combined row. What is asked for in turn, one launch
    makes together.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._device = workspace, workspace.resident.device
        self._folded, self._top = 0, b""

    def commit(self, code: Code) -> GpuRows:
        made = self._workspace.folded[self._folded]
        size = len(made.words) * code.degree
        return GpuRows(self._device, code, size, 0, made.words, None, made.nodes, self._top)

    def weigh(self, code: Code, at: Places, by: FrArray) -> None:
        """The sum of weight times root^(place i), for all i: values of a polynomial of few coefficients."""
        self._given = self._workspace.levels[self._folded].letter(by, at)

    def rounds(self, count: int, transcript: Transcript) -> list[list[int]]:
        work, check = self._workspace, self._workspace.levels[self._folded].check
        check.bring(transcript.state, *self._given)
        work.launch(work.fold, self._folded)
        self._folded += 1
        found, self._top = _answered(check, transcript)
        return found.said

    def told(self) -> bytes:
        return self._device.download(self._workspace.told).tobytes()


def _answered(check: SumCheck, transcript: Transcript) -> tuple[Rounds, bytes]:
    """Return the rounds, and the values sent beside them. The transcript continues after the rounds."""
    found = check.told()
    transcript.state = found.state
    return Rounds(found.said, found.point, found.values), found.beside


class GpuSession:
    """``zenserve.prover.spartan.sessions.Session``, on a stream of its own, with a turn's workspace."""

    def __init__(self, resident: ResidentSystem, kept: Kept, turns: LifoQueue[_Turn], z: Witness) -> None:
        self._resident, self._kept, self._turns = resident, kept, turns
        self._system, self._shape, self._device = resident.system, resident.shape, resident.device
        self._host, self._made = z, 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            turn = self._turns.get()
            stack.callback(self._turns.put, turn)
            stack.enter_context(turn.stream)
            place = _place(self._resident, turn.which)
            self._work = self._workspace(place)
            stack.callback(self._leave, place)
            self._leaving = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.close()

    def _workspace(self, place: tuple[object, ...]) -> Workspace:
        """Return the workspace that is kept there, or a new one."""
        found: Workspace | None = self._kept.take(place)
        if found is None or found.resident is not self._resident:
            size = workspace_bytes(self._system, self._shape)
            stays = self._kept.admits(size, 0)
            self._kept.make_room(size)
            self._device.require(size, "a proof of this circuit")
            found = Workspace(self._resident, stays=stays)
        return found

    def _leave(self, place: tuple[object, ...]) -> None:
        """For the next proof, while there is room."""
        self._work.erase()
        if self._work.stays:
            self._kept.keep(place, self._work)

    def commit(self, variables: slice, tail: int, seed: bytes, mask: bytes | None = None) -> GpuRows:
        index = self._bring(variables, seed)
        if mask is not None:
            self._device.copy(np.frombuffer(mask, np.uint8), self._work.seeds[-1])
            self._load(slice(0, self._shape.known))
        return self._committed(index)

    def link(self, variables: slice, linked: Linked, *, lasting: bool) -> GpuRows | LinkedRows:
        index = self._bring(variables, linked.seed)
        if lasting:
            return self._lasting(index, linked)
        made = self._committed(index)
        if made.root != linked.root:
            raise other_values()
        return made

    def _lasting(self, index: int, linked: Linked) -> GpuRows | LinkedRows:
        """Kept for other proofs, whose launches differ: nothing is recorded."""
        work, device, code, part = self._work, self._device, self._shape.code, self._shape.parts[index]
        work.bind(index)
        own, seed = work.rows(index), work.bound_seeds[index]
        key = key_of(linked, code, part.tail)
        kept: LinkedRows | None = self._kept.get(key)
        if kept is not None:
            if not self._resident.field.equal(_number(kept.seed), _number(seed)):
                raise other_values()
            device.copy(kept.own, own)
            return kept
        size = FR.element_bytes * (part.rows * (code.degree + code.length) + 3 * code.length)
        keep = self._kept.admits(size, 0)
        secret = Secrets()
        with ExitStack() as failing:
            failing.callback(secret.erase)
            room = work.room(index, secret)
            work.lay_out(index, room)
            made = self._rows_of(index, room)
            if made.root != linked.root:
                raise other_values()
            copies = [secret(self._copy(each)) for each in (seed, own)] if keep else []
            failing.pop_all()
        if not keep:
            self._leaving.callback(secret.erase)
            return made
        device.synchronize()  # other streams read it
        lasting_rows = LinkedRows(made, *copies)
        self._kept.keep(key, lasting_rows, partial(_erase, device, secret))
        return lasting_rows

    def _committed(self, index: int) -> GpuRows:
        self._work.launch(self._work.commit, index)
        return self._rows_of(index, self._work.rooms[index])

    def _rows_of(self, index: int, room: Room) -> GpuRows:
        part, salted = self._shape.parts[index], self._shape.salted[index]
        salts = room.salts if salted else None
        return GpuRows(self._device, self._shape.code, part.size, part.tail, room.words, salts, room.nodes)

    def _copy(self, array: Array) -> Array:
        twin = self._device.empty(array.shape, array.dtype)
        self._device.copy(array, twin)
        return twin

    def outer(self, zero: Sequence[int], pads: FrArray, transcript: Transcript) -> Rounds:
        work, check = self._work, self._work.outer
        check.bring(transcript.state, to_words([0, *zero]), pads[: check.rounds * check.said])
        work.launch(work.sum_rows)
        found, beside = _answered(check, transcript)
        row = int.from_bytes(beside[:8], "little")
        if row < self._system.constraints:
            raise self._system.unsatisfied(row)
        return found

    def inner(
        self, outer: Sequence[int], weights: Sequence[int], pads: FrArray, transcript: Transcript
    ) -> Rounds:
        work, check = self._work, self._work.inner  # the point is there
        check.bring(transcript.state, to_words(weights), pads[: check.rounds * check.said])
        work.launch(work.sum_places)
        found, self._mask_product = _answered(check, transcript)
        return found

    def open(self, point: Sequence[int]) -> int:
        (product,) = to_ints(np.frombuffer(self._mask_product, np.uint64))
        return product

    def combine(self, factor: int) -> GpuVector:
        self._device.copy(to_words([factor]), self._work.factor)
        self._work.launch(self._work.combine)
        return GpuVector(self._work)

    def _bring(self, variables: slice, seed: bytes) -> int:
        """The next part's values and its seed; which it is."""
        index, self._made = self._made, self._made + 1
        empty = not self._shape.parts[index].size
        seeds = self._work.bound_seeds if empty else self._work.seeds
        self._load(variables)
        self._device.copy(np.frombuffer(bound(seed, b"") if empty else seed, np.uint8), seeds[index])
        return index

    def _load(self, variables: slice) -> None:
        """These of the witness, from wherever they are."""
        host = self._host.array if isinstance(self._host, DeviceWitness) else self._host
        self._device.copy(host[variables], self._work.z[variables])
