"""A proof's sums on a GPU: matrices stay there, the witness goes in, what is said of rounds comes out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache, cached_property, partial
from queue import SimpleQueue
from threading import Lock
from types import TracebackType
from typing import Final, Self

import numpy as np

from base.memory import Kept
from base.randomness import Secrets
from gpu import hashing, rows
from gpu.device import Array, Device, Secret, Stream
from gpu.elementwise import ScalarField
from gpu.ntt import Domain
from gpu.sparse import first_unsatisfied, transposed
from gpu.sumcheck import ProductSumCheck, R1csSumCheck, SumCheck, Voice, Weights, to_words
from kernels import FrArray
from prover.backends.gpu import backend, joined
from prover.blocks import Csr
from prover.constraint_system import ConstraintSystem
from prover.spartan.commitment import Linked, other_values, words_for
from prover.spartan.layout import places
from prover.spartan.queries import Places, opening, siblings
from prover.spartan.rounds import LABEL, Rounds
from prover.witness import DeviceWitness, Witness
from verifier.spartan import merkle
from verifier.spartan.code import Code
from verifier.spartan.commitment import SALTS, TAILS, bound
from verifier.spartan.field import FR
from verifier.spartan.shape import Part, Shape
from verifier.spartan.transcript import ABSORB, ASKING, CHALLENGE, Transcript, frame

_PROOFS_AT_ONCE: Final = 2
"""While one is computed, the next one's witness is brought."""

_SYSTEMS: Final = 4
"""Constraint systems that stay."""

_MOST_KEPT: Final = 1 << 33
"""Bytes of commitments."""

_NO_ENTRIES: Final = np.zeros(0, np.uint32)


def voice(device: Device, count: int) -> Voice:
    """The transcript's, of rounds that say so many numbers."""
    message, question = frame(LABEL, FR.element_bytes * count), frame(ASKING, len(LABEL)) + LABEL.encode()
    return Voice(device, ABSORB, CHALLENGE, message, question)


class ResidentSystem:
    """What proofs of a constraint system read on ``device``: ``rows``, A, B and C one under the other, to be
    multiplied at once; ``columns``, their sum by the variables' places; the transform of code words."""

    def __init__(self, device: Device, system: ConstraintSystem, shape: Shape, threads: int) -> None:
        self.device = device
        height = 1 << shape.log_rows
        blocks = (matrices for _, matrices in system.matrices(threads))
        below = Csr(np.zeros(height - system.constraints + 1, np.int64), _NO_ENTRIES, _NO_ENTRIES, ())
        matrices = [[*parts, below] for parts in zip(*blocks, strict=True)]
        self._coefficients = [sum(len(part.pool) for part in parts) for parts in matrices]
        self.rows = joined(device, [part for parts in matrices for part in parts])
        by_variable = device.upload(places(system, shape).astype(np.uint32))
        self.columns = transposed(device, self.rows, height, by_variable, 1 << shape.variables)
        codes = [shape.code, *(level.code for level in shape.folding.levels)]
        self.domains = {code: Domain(device, code.log_length) for code in codes}
        self.field = ScalarField(device)
        self.leaf_key, self.node_key = map(self._bytes, (merkle.LEAF_KEY, merkle.NODE_KEY))
        self.voice = voice(device, ProductSumCheck.said)
        device.synchronize()

    def _bytes(self, data: bytes) -> Array:
        return self.device.upload(np.frombuffer(data, np.uint8))

    def encode(self, words: Array, code: Code, salts: Array | None = None) -> Array:
        """Rows of coefficients, canonical, become code words in bit-reversed order; the tree's nodes."""
        device = self.device
        self.domains[code].ntt(words, order="to_bit_reversed")
        nodes = device.zeros((2 * code.length, 32), np.uint8)
        hashing.columns(device, words, self.leaf_key, nodes[code.length :], salts, turned=True)
        hashing.tree(device, nodes, self.node_key)
        return nodes

    def combined(self, factors: Sequence[int]) -> Array:
        """The pool of ``columns``, the coefficients of each matrix times its factor."""
        own = self.columns.pool
        pool, numbers = self.device.empty(own.shape, np.uint64), self.device.bring(to_words(factors))
        first = 0
        for index, count in enumerate(self._coefficients):
            part = slice(first, first + count)
            self.field.mul(own[part], numbers[index], pool[part])
            first = part.stop
        return pool


def _resident_bytes(system: ConstraintSystem, shape: Shape) -> int:
    """Of a ``ResidentSystem`` while its columns are sorted, but for the pools of coefficients."""
    entries, height = int(system.survey.nonzeros.sum()), 1 << shape.log_rows
    words = 5 * entries + 3 * height + 2 * (1 << shape.variables) + system.variables
    return 4 * words + FR.element_bytes * 2 * shape.code.length


def _session_bytes(system: ConstraintSystem, shape: Shape) -> int:
    """Of a ``GpuSession``: what is derived from the witness stays until all is erased.

    The witness; by place that, the combined matrices, and what both are folded to; the products, what they
    are folded to, and the rows' weights; of each part code words, salts, a tree and what its tails are made
    of; the mask, and the row that is combined.
    """
    code = shape.code
    count = system.variables + 4 * (1 << shape.variables) + 7 * (1 << shape.log_rows) + 3 * code.degree
    for part in shape.parts:
        mask = part is shape.parts[-1]
        count += (part.rows + mask + 3) * code.length + part.rows * part.tail
    return FR.element_bytes * count


class ResidentSystems:
    """Those on one device that were used last, and streams for proofs: others wait until one is done."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._systems: dict[tuple[bytes, Shape], ResidentSystem] = {}
        self._loading = Lock()
        self._kept = Kept(_MOST_KEPT, device.free_bytes)
        self._streams: SimpleQueue[Stream] = SimpleQueue()
        for _ in range(_PROOFS_AT_ONCE):
            self._streams.put(device.stream())

    def begin(self, system: ConstraintSystem, shape: Shape, z: Witness, threads: int) -> GpuSession:
        return GpuSession(self.load(system, shape, threads), self._kept, self._streams, system, shape, z)

    def load(self, system: ConstraintSystem, shape: Shape, threads: int) -> ResidentSystem:
        """Raises ``ResourceError`` (``resource.gpu_memory``)."""
        key = system.digest, shape
        with self._loading:
            found = self._systems.pop(key, None)
            while found is None and len(self._systems) >= _SYSTEMS:
                self._systems.pop(next(iter(self._systems)))
            if found is None:
                self._kept.make_room(_resident_bytes(system, shape))
                self._device.require(_resident_bytes(system, shape), "this circuit")
                found = ResidentSystem(self._device, system, shape, threads)
            self._systems[key] = found
            return found


_resident_systems = cache(ResidentSystems)
_MAKING: Final = Lock()


def resident_systems(index: int) -> ResidentSystems:
    """Those of this process on the device of this index, whichever thread asks first."""
    with _MAKING:
        return _resident_systems(backend(index).device)


class GpuRows:
    """``prover.spartan.sessions.Rows``, of ``size`` values and tails of ``tail``. ``words``: the code words,
    their columns in bit-reversed order."""

    def __init__(
        self,
        device: Device,
        code: Code,
        size: int,
        tail: int,
        words: Array,
        salts: Array | None,
        nodes: Array,
    ) -> None:
        self._device, self._code, self._size, self._tail = device, code, size, tail
        self._words, self._salts, self._nodes = words, salts, nodes

    @property
    def nbytes(self) -> int:
        salts = 0 if self._salts is None else self._salts.nbytes
        return int(self._words.nbytes + self._nodes.nbytes + salts)

    @cached_property
    def root(self) -> bytes:
        """Waits for the device."""
        code, top = self._code, self._device.download(self._nodes[1]).tobytes()
        return merkle.root(top, self._size, self._tail, code.log_degree, code.log_length)

    def open(self, at: Places) -> bytes:
        device, count, words = self._device, len(at), len(self._words)
        path = siblings(at, self._code.log_length)
        wanted = device.bring(np.concatenate([at, path]))
        salts = 0 if self._salts is None else count
        columns = salts + count * words
        found = device.empty((columns + len(path), 32), np.uint8)  # one download for all three
        if self._salts is not None:
            rows.gather(device, self._salts, wanted[:count], found[:count])
        rows.gather_columns(device, self._words, wanted[:count], found[salts:columns])
        rows.gather(device, self._nodes, wanted[count:], found[columns:])
        host = device.download(found)
        by_place = host[salts:columns].reshape(count, 32 * words)
        return opening(host[:salts] if salts else None, by_place, host[columns:])


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
    """``prover.spartan.folding.Vector``: its weights and its numbers are ``tables``, uint64[2, n, 4].

    It is public: nothing is erased.
    """

    def __init__(self, resident: ResidentSystem, tables: Array) -> None:
        self._resident, self._device = resident, resident.device
        self._check = ProductSumCheck(resident.device, tables, lambda made: made)

    def commit(self, code: Code) -> GpuRows:
        device, numbers = self._device, self._check.tables[1]
        own = numbers.reshape(-1, code.degree, 4)
        words = device.empty((len(own), code.length, 4), np.uint64)
        rows.extend(device, own, words)
        nodes = self._resident.encode(words, code)
        return GpuRows(device, code, len(numbers), 0, words, None, nodes)

    def weigh(self, code: Code, at: Places, by: FrArray) -> None:
        """The sum of weight times root^(place i), for all i: values of a polynomial of few coefficients."""
        device, resident = self._device, self._resident
        given, wanted = device.bring(by), device.bring(at)
        for index, row in enumerate(self._check.tables[0].reshape(-1, code.degree, 4)):
            values = device.empty((code.length, 4), np.uint64)
            rows.scatter(device, given[index * len(at) :], wanted, values)
            resident.domains[code].ntt(values, order="from_bit_reversed")
            resident.field.add(row, values[: code.degree], row)

    def rounds(self, count: int, transcript: Transcript) -> list[list[int]]:
        found = self._check.run(self._resident.voice, transcript.state, rounds=count)
        transcript.state = found.state
        return found.said

    def told(self) -> bytes:
        plain = self._resident.field.to_canonical(self._check.tables[1])
        return self._device.download(plain).tobytes()


class GpuSession:
    """``prover.spartan.sessions.Session``, on a stream of its own, from ``streams``, where it goes back."""

    def __init__(
        self,
        resident: ResidentSystem,
        kept: Kept,
        streams: SimpleQueue[Stream],
        system: ConstraintSystem,
        shape: Shape,
        z: Witness,
    ) -> None:
        self._resident, self._kept, self._streams = resident, kept, streams
        self._system, self._shape = system, shape
        self._host, self._device, self._made = z, resident.device, 0
        self._salts: Array | None = None

    def __enter__(self) -> Self:
        device = self._device
        with ExitStack() as stack:
            stream = self._streams.get()
            stack.callback(self._streams.put, stream)
            needed = _session_bytes(self._system, self._shape)
            self._kept.make_room(needed)
            device.require(needed, "a proof of this circuit")
            stack.enter_context(stream)
            self._secret: Secret = stack.enter_context(Secrets())
            if isinstance(self._host, DeviceWitness):
                self._z = self._host.array  # the caller's, and erased by him
            else:
                self._z = self._zeros(self._system.variables)
            # The combined matrices, and the witness, by place.
            self._by_place = self._zeros(2, 1 << self._shape.variables)
            self._leaving = stack.pop_all()
        device.synchronize()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.close()

    def commit(self, variables: slice, tail: int, seed: bytes, mask: bytes | None = None) -> GpuRows:
        code, part = self._shape.code, self._next()
        values = self._load(variables)
        own, bound_seed = self._rows(part.first, part.rows), self._bound(seed, values)
        self._lay_out(values, bound_seed, tail, own)
        told = self._salts is None
        if self._salts is None:
            self._salts = self._salts_of(bound_seed, self._secret)
        salts = self._salts
        if mask is None:
            return self._encode(part, own, salts, told, self._secret)
        self._mask = self._empty(code.degree)
        last = self._mask.reshape(1, code.degree, 4)
        self._fill_tails(self._seed(mask), code.degree, last)
        made = self._encode(part, own, salts, told, self._secret, last)
        self._evaluate()  # the witness is complete, and the host has the pads to commit to
        return made

    def link(self, variables: slice, linked: Linked, *, lasting: bool) -> GpuRows | LinkedRows:
        device, code, part = self._device, self._shape.code, self._next()
        values = self._load(variables)
        own, bound_seed = self._rows(part.first, part.rows), self._bound(linked.seed, values)
        key = linked, code.log_degree, part.tail  # however many columns are opened
        kept: LinkedRows | None = self._kept.get(key)
        if kept is not None:
            if not self._resident.field.equal(_number(kept.seed), _number(bound_seed)):
                raise other_values()
            device.copy(kept.own, own)
            return kept
        self._lay_out(values, bound_seed, part.tail, own)
        size = FR.element_bytes * (part.rows * (code.degree + code.length) + 3 * code.length)
        keep = lasting and self._kept.admits(size, _session_bytes(self._system, self._shape))
        secret = Secrets()
        with ExitStack() as failing:
            failing.callback(secret.erase)
            made = self._encode(part, own, self._salts_of(bound_seed, secret), True, secret)
            if made.root != linked.root:
                raise other_values()
            copies = [secret(self._copy(each)) for each in (bound_seed, own)] if keep else []
            failing.pop_all()
        if not keep:
            self._leaving.callback(secret.erase)
            return made
        device.synchronize()  # other streams read it
        lasting_rows = LinkedRows(made, *copies)
        self._kept.keep(key, lasting_rows, partial(_erase, device, secret))
        return lasting_rows

    def _copy(self, array: Array) -> Array:
        twin = self._device.empty(array.shape, array.dtype)
        self._device.copy(array, twin)
        return twin

    def _lay_out(self, values: Array, seed: Array, tail: int, own: Array) -> None:
        """Values and their tails, by place."""
        rows.lay_out(self._device, values, self._shape.code.degree - tail, own)
        self._fill_tails(seed, tail, own)

    def _salts_of(self, seed: Array, secret: Secret) -> Array:
        salts = hashing.expand(self._device, seed, SALTS, 32 * self._shape.code.length)
        return secret(salts).reshape(-1, 32)

    def _encode(
        self, part: Part, own: Array, salts: Array, told: bool, secret: Secret, mask: Array | None = None
    ) -> GpuRows:
        """``told``: whether openings have the salts."""
        device, code = self._device, self._shape.code
        words = secret(device.empty((part.rows + (mask is not None), code.length, 4), np.uint64))
        rows.extend(device, own, words[: part.rows])
        if mask is not None:
            rows.extend(device, mask, words[part.rows :])
        nodes = self._resident.encode(words, code, salts)
        return GpuRows(device, code, part.size, part.tail, words, salts if told else None, nodes)

    def outer(self, zero: Sequence[int], pads: FrArray, transcript: Transcript) -> Rounds:
        row = first_unsatisfied(
            self._device, *(table[: self._system.constraints] for table in self._products)
        )
        if row is not None:
            raise self._system.unsatisfied(row)
        check = R1csSumCheck(self._device, self._products, zero, self._secret)
        return self._rounds(check, pads, transcript)

    def inner(
        self, outer: Sequence[int], weights: Sequence[int], pads: FrArray, transcript: Transcript
    ) -> Rounds:
        rows_at = Weights(self._device, outer).table()
        self._resident.columns.multiply(rows_at, self._by_place[0], self._resident.combined(weights))
        return self._rounds(ProductSumCheck(self._device, self._by_place, self._secret), pads, transcript)

    def open(self, point: Sequence[int]) -> int:
        split = self._shape.row_variables
        self._row_weights = Weights(self._device, point[:split])
        self._column_weights = Weights(self._device, point[split:])
        return self._column_weights.dot(self._mask, self._secret)

    def combine(self, factor: int) -> GpuVector:
        device, parts = self._device, self._shape.parts
        first, last = parts[0].first, parts[-1].first + parts[-1].rows
        weights = self._row_weights.table()[first:last]
        self._resident.field.mul(weights, device.bring(to_words([factor]))[0], weights)
        tables = self._empty(2, self._shape.code.degree)
        device.copy(self._column_weights.table(), tables[0])
        device.copy(self._mask, tables[1])
        rows.combine(device, self._rows(first, last - first), weights, tables[1])
        return GpuVector(self._resident, tables)

    def _evaluate(self) -> None:
        """A z, B z and C z."""
        device, known = self._device, self._load(slice(0, self._shape.known))
        device.copy(known, self._by_place[1][: len(known)])
        self._products = self._empty(3, 1 << self._shape.log_rows)
        self._resident.rows.multiply(self._z, self._products.reshape(-1, 4))

    def _rounds(self, check: SumCheck, pads: FrArray, transcript: Transcript) -> Rounds:
        own = self._secret(self._device.bring(pads[: check.variables * check.said]))
        found = check.run(self._resident.voice, transcript.state, own)
        transcript.state = found.state
        return Rounds(found.said, found.point, found.values)

    def _next(self) -> Part:
        self._made += 1
        return self._shape.parts[self._made - 1]

    def _load(self, variables: slice) -> Array:
        """These of the witness, brought where they are not there."""
        if not isinstance(self._host, DeviceWitness):
            self._device.copy(self._host[variables], self._z[variables])
        return self._z[variables]

    def _bound(self, seed: bytes, values: Array) -> Array:
        """``verifier.spartan.commitment.bound``"""
        if not len(values):
            return self._seed(bound(seed, b""))
        return self._secret(hashing.of_elements(self._device, values, self._seed(seed)))

    def _seed(self, seed: bytes) -> Array:
        return self._secret(self._device.bring(np.frombuffer(seed, np.uint8)))

    def _fill_tails(self, seed: Array, tail: int, own: Array) -> None:
        """``prover.spartan.commitment.elements``"""
        wanted = words_for(len(own) * tail)
        stream = self._secret(hashing.expand(self._device, seed, TAILS, 32 * (wanted + wanted % 2)))
        rows.fill_tails(self._device, stream.view(np.uint64).reshape(-1, 4), tail, own)

    def _rows(self, first: int, count: int) -> Array:
        """By place, uint64[count, degree, 4]."""
        degree = self._shape.code.degree
        return self._by_place[1][first * degree : (first + count) * degree].reshape(count, degree, 4)

    def _empty(self, *shape: int) -> Array:
        return self._secret(self._device.empty((*shape, 4), np.uint64))

    def _zeros(self, *shape: int) -> Array:
        return self._secret(self._device.zeros((*shape, 4), np.uint64))
