"""The device memory of proofs on a GPU: the resident arrays of a constraint system, and the arrays that
proofs write to.

Between two points where the host takes part, all proofs of a system launch the same kernels. The first proof
records them, and each later proof launches the recording at once: arrays keep their addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from zenserve.gpu import hashing, rows
from zenserve.gpu.device import Array, Device, Secret
from zenserve.gpu.elementwise import ScalarField
from zenserve.gpu.ntt import Domain
from zenserve.gpu.sparse import find_unsatisfied, transposed, workers_for
from zenserve.gpu.sumcheck import SUMS, ProductSumCheck, R1csSumCheck, Voice, Weights
from zenserve.kernels import FrArray
from zenserve.prover.backends.gpu import joined
from zenserve.prover.blocks import Csr
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.spartan.commitment import words_for
from zenserve.prover.spartan.layout import places
from zenserve.prover.spartan.rounds import LABEL
from zenserve.verifier.spartan import merkle
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.commitment import SALTS, TAILS
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.transcript import ABSORB, ASKING, CHALLENGE, frame

_NO_ENTRIES: Final = np.zeros(0, np.uint32)
_PLACES: Final = 8
"""As long as an element."""


def voice(device: Device, count: int) -> Voice:
    """The transcript's, of rounds that say so many numbers."""
    message, question = frame(LABEL, FR.element_bytes * count), frame(ASKING, len(LABEL)) + LABEL.encode()
    return Voice(device, ABSORB, CHALLENGE, message, question)


class ResidentSystem:
    """The arrays on ``device`` that proofs of a constraint system read: ``rows``, A, B and C stacked, to be
    multiplied at once; ``columns``, their sum by the variables' places; the transform of code words."""

    def __init__(self, device: Device, system: ConstraintSystem, shape: Shape, threads: int) -> None:
        self.device, self.system, self.shape = device, system, shape
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
        self.tails, self.salts = (hashing.Context(device, context) for context in (TAILS, SALTS))
        self.voice = voice(device, ProductSumCheck.said)
        device.synchronize()

    def _bytes(self, data: bytes) -> Array:
        return self.device.upload(np.frombuffer(data, np.uint8))

    def encode(self, words: Array, nodes: Array, code: Code, salts: Array | None = None) -> None:
        """Rows of coefficients, canonical, become code words in bit-reversed order; ``nodes`` their tree."""
        self.domains[code].ntt(words, order="to_bit_reversed")
        hashing.columns(self.device, words, self.leaf_key, nodes[code.length :], salts, turned=True)
        hashing.tree(self.device, nodes, self.node_key)

    def combine(self, factors: Array, pool: Array) -> None:
        """``pool`` becomes that of ``columns``, each matrix times its factor, the first of ``factors``."""
        first = 0
        for index, count in enumerate(self._coefficients):
            part = slice(first, first + count)
            self.field.mul(self.columns.pool[part], factors[index], pool[part])
            first = part.stop


def resident_bytes(system: ConstraintSystem, shape: Shape) -> int:
    """Of a ``ResidentSystem`` while its columns are sorted, but for the pools of coefficients."""
    entries, height = int(system.survey.nonzeros.sum()), 1 << shape.log_rows
    words = 5 * entries + 3 * height + 2 * (1 << shape.variables) + system.variables
    return 4 * words + FR.element_bytes * 2 * shape.code.length


def workspace_bytes(system: ConstraintSystem, shape: Shape) -> int:
    """Of a ``Workspace``, with the code words of lasting commitments.

    The witness; by place that, the combined matrices, and what both are folded to; the products, what they
    are folded to, and the rows' weights; of each part code words, salts, a tree and what its
    tails are made of; the mask, the row that is combined and what it is folded to; of that row code words and
    trees; what both products carry.
    """
    code, levels = shape.code, shape.folding.levels
    count = system.variables + 4 * (1 << shape.variables) + 7 * (1 << shape.log_rows)
    for part in shape.parts:
        mask = part is shape.parts[-1]
        count += (part.rows + mask + 3) * code.length + part.rows * part.tail
    count += 7 * code.degree + code.length + sum((level.rows + 2) * level.code.length for level in levels)
    count += 3 * workers_for(int(system.survey.nonzeros.sum()))
    return FR.element_bytes * count


class Room(NamedTuple):
    """Of a part: ``words``, uint64[rows, n, 4], its code words, their columns in bit-reversed order;
    ``nodes``, uint8[2 n, 32], their tree; ``salts``, uint8[n, 32], where it has its own."""

    words: Array
    nodes: Array
    salts: Array


class Level(NamedTuple):
    """Rounds that fold the combined row. Given are the weights of columns of ``code``, under which it was
    told before, and their places: uint64[queries, 4], and uint32[queries], filled with zeros."""

    code: Code
    check: ProductSumCheck

    def given(self) -> tuple[Array, Array]:
        count = self.code.queries
        return self.check.given[:count], self.check.given[count:].view(np.uint32).reshape(-1)[:count]

    def letter(self, weights: FrArray, places: NDArray[np.uint32]) -> tuple[FrArray, FrArray]:
        """Return the weights and padded places as they are uploaded, on the host."""
        padded = np.zeros((-(-len(places) // _PLACES), _PLACES), np.uint32)
        padded.reshape(-1)[: len(places)] = places
        return weights, padded.view(np.uint64)


class Folded(NamedTuple):
    """The combined row, or what it was folded to, as rows of ``code``."""

    code: Code
    words: Array
    nodes: Array


class Workspace:
    """The arrays that proofs of a constraint system write to, one proof at a time. They are zeros before each
    proof, and ``erase`` makes them zeros again.

    If the workspace ``stays`` for other proofs, the launches are recorded when they are first requested.
    """

    def __init__(self, resident: ResidentSystem, *, stays: bool) -> None:
        self.resident, self._device, self.stays = resident, resident.device, stays
        self._arrays, self._launches = list[Array](), dict[tuple[object, ...], Callable[[], None]]()
        system, shape = resident.system, resident.shape
        self._starts = [each.start for each in system.segment_ranges] + [system.first_private]
        code, parts, height = shape.code, shape.parts, 1 << shape.log_rows
        self.z = self._elements(system.variables)
        self.by_place = self._elements(2, 1 << shape.variables)  # the combined matrices, and the witness
        self._products = self._elements(3, height)
        self._weights = self._elements(height)
        self.seeds = self._array((len(parts) + 1, 32), np.uint8)  # the mask's is the last
        self.bound_seeds = self._array((len(parts), 32), np.uint8)
        self._streams = [self._stream(part.rows * part.tail) for part in parts]
        self.mask, self._mask_stream = self._elements(code.degree), self._stream(code.degree)
        lasting = [segment.linked and segment.lasting for segment in system.segments]
        self.rooms = {index: self.room(index) for index, last in enumerate([*lasting, False]) if not last}
        # Of all parts that are made here: the first one's.
        self._salts = next(room.salts for index, room in self.rooms.items() if not parts[index].linked)
        # Behind what is given there stand the pads. Beside, the first row that does not hold is told, and the
        # mask's product.
        self.outer = R1csSumCheck(self._device, self._products, self._keep, given=1 + 3 * shape.log_rows)
        self.inner = ProductSumCheck(self._device, self.by_place, self._keep, given=3 + 2 * shape.variables)
        self.factor, self._sums = self._elements(1), self._elements(SUMS)
        self._pool = self._elements(len(resident.columns.pool))
        self._row_weights = self._elements(1 << shape.row_variables)
        self._combined = self._elements(2, code.degree)  # its weights, and the row
        self._spread = self._elements(code.length)
        self.levels = list(self._folding())
        self.folded = [self._rows_under(level.code, level.rows) for level in shape.folding.levels]
        self.told = self._elements(1 << shape.folding.told)
        self.erase()

    @property
    def nbytes(self) -> int:
        return workspace_bytes(self.resident.system, self.resident.shape)

    def erase(self) -> None:
        self.launch(self._erase)

    def launch(self, call: Callable[..., None], *which: int) -> None:
        """``call`` of ``which``, as it was recorded if it was made before."""
        key, made = (call.__name__, *which), partial(call, *which)
        if not self.stays:
            made()
        elif key in self._launches:
            self._launches[key]()
        else:
            self._launches[key] = self._device.recorded(made)

    def room(self, index: int, keep: Secret | None = None) -> Room:
        """For a part."""
        shape, keep = self.resident.shape, keep or self._keep
        part, code = shape.parts[index], shape.code
        count, salted = part.rows + (index == len(shape.parts) - 1), shape.salted[index]
        return Room(
            keep(self._device.empty((count, code.length, 4), np.uint64)),
            keep(self._device.zeros((2 * code.length, 32), np.uint8)),
            keep(self._device.empty((code.length if salted else 0, 32), np.uint8)),
        )

    def rows(self, index: int) -> Array:
        """Of a part, by place: uint64[rows, degree, 4]."""
        part = self.resident.shape.parts[index]
        return self._rows(part.first, part.rows)

    def commit(self, index: int) -> None:
        """To a part, by its values and its seed; with the last one, the witness is complete."""
        self.bind(index)
        self.lay_out(index, self.rooms[index])
        if index == len(self.resident.shape.parts) - 1:
            self._evaluate()

    def bind(self, index: int) -> None:
        """``zenserve.verifier.spartan.commitment.bound``, of values that there are."""
        if size := self.resident.shape.parts[index].size:
            values = self.z[self._starts[index] :][:size]
            hashing.of_elements(self._device, values, self.seeds[index], self.bound_seeds[index])

    def lay_out(self, index: int, room: Room) -> None:
        """Values and tails by place, and their code words."""
        resident, seed, own = self.resident, self.bound_seeds[index], self.rows(index)
        shape, part, code = resident.shape, resident.shape.parts[index], resident.shape.code
        rows.lay_out(self._device, self.z[self._starts[index] :][: part.size], code.degree - part.tail, own)
        self._fill_tails(seed, self._streams[index], part.tail, own)
        if index == len(shape.parts) - 1:
            mask = self.mask.reshape(1, code.degree, 4)
            self._fill_tails(self.seeds[-1], self._mask_stream, code.degree, mask)
            rows.extend(self._device, mask, room.words[part.rows :])
        rows.extend(self._device, own, room.words[: part.rows])
        salts = room.salts
        if shape.salted[index]:
            resident.salts.expand(seed, salts.reshape(-1))
        else:
            salts = self._salts
        resident.encode(room.words, room.nodes, code, salts)

    def _evaluate(self) -> None:
        """A z, B z and C z, and the first row that does not hold."""
        device, system, known = self._device, self.resident.system, self.resident.shape.known
        device.copy(self.z[:known], self.by_place[1][:known])
        self.resident.rows.multiply(self.z, self._products.reshape(-1, 4))
        a, b, c = (table[: system.constraints] for table in self._products)
        find_unsatisfied(device, a, b, c, self.outer.beside[:1])

    def sum_rows(self) -> None:
        self.outer.launch(self.resident.voice, self.outer.given[1 + self.outer.rounds :])

    def sum_places(self) -> None:
        """And what follows from the point that was drawn."""
        device, resident, shape = self._device, self.resident, self.resident.shape
        Weights(device, self.outer.point).table(self._weights)
        resident.combine(self.inner.given, self._pool)
        resident.columns.multiply(self._weights, self.by_place[0], self._pool)
        self.inner.launch(resident.voice, self.inner.given[3:])
        high, low = self.inner.point[: shape.row_variables], self.inner.point[shape.row_variables :]
        Weights(device, high).table(self._row_weights)
        columns = Weights(device, low)
        columns.table(self._combined[0])
        columns.dot(self.mask, self._sums, self.inner.beside)

    def combine(self) -> None:
        """The mask and all rows, weighted."""
        device, parts = self._device, self.resident.shape.parts
        first, last = parts[0].first, parts[-1].first + parts[-1].rows
        weights = self._row_weights[first:last]
        self.resident.field.mul(weights, self.factor[0], weights)
        device.copy(self.mask, self._combined[1])
        rows.combine(device, self._rows(first, last - first), weights, self._combined[1])
        self._tell(0, self._combined)

    def fold(self, index: int) -> None:
        """A level's rounds, and what is told behind them; beside, the top of its tree."""
        device, resident, level = self._device, self.resident, self.levels[index]
        tables = self.levels[index - 1].check.left if index else self._combined
        spread = self._spread[: level.code.length]
        rows.scatter(device, *level.given(), spread)
        resident.domains[level.code].ntt(spread, order="from_bit_reversed")
        resident.field.add(tables[0], spread[: len(tables[0])], tables[0])
        level.check.launch(resident.voice)
        if index < len(self.folded):
            self._tell(index + 1, level.check.left)
            if index + 1 < len(self.folded):
                top = self.folded[index + 1].nodes[1]
                device.copy(top.view(np.uint64), level.check.beside)

    def _tell(self, index: int, tables: Array) -> None:
        """The row's code words, or itself."""
        if index == len(self.folded):
            self.resident.field.to_canonical(tables[1], self.told)
            return
        code, words, nodes = self.folded[index]
        rows.extend(self._device, tables[1].reshape(len(words), code.degree, 4), words)
        self.resident.encode(words, nodes, code)

    def _folding(self) -> Iterator[Level]:
        """Yield the levels that fold the combined row, each from the tables that the level before left."""
        folding, tables = self.resident.shape.folding, self._combined
        codes = [self.resident.shape.code, *(level.code for level in folding.levels)]
        for code, count in zip(codes, folding.rounds, strict=True):
            given = code.queries + -(-code.queries // _PLACES)
            check = ProductSumCheck(self._device, tables, self._keep, rounds=count, given=given)
            yield Level(code, check)
            tables = check.left

    def _rows_under(self, code: Code, count: int) -> Folded:
        words, nodes = self._elements(count, code.length), self._array((2 * code.length, 32), np.uint8)
        return Folded(code, words, nodes)

    def _fill_tails(self, seed: Array, stream: Array, tail: int, own: Array) -> None:
        """``zenserve.prover.spartan.commitment.elements``"""
        self.resident.tails.expand(seed, stream)
        rows.fill_tails(self._device, stream.view(np.uint64).reshape(-1, 4), tail, own)

    def _rows(self, first: int, count: int) -> Array:
        degree = self.resident.shape.code.degree
        return self.by_place[1][first * degree : (first + count) * degree].reshape(count, degree, 4)

    def _erase(self) -> None:
        for array in self._arrays:
            self._device.fill(array, 0)

    def _stream(self, count: int) -> Array:
        """Return an array for the random words from which ``count`` elements are drawn."""
        wanted = words_for(count)
        return self._array(FR.element_bytes * (wanted + wanted % 2), np.uint8)

    def _elements(self, *shape: int) -> Array:
        return self._array((*shape, 4), np.uint64)

    def _array(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        return self._keep(self._device.empty(shape, dtype))

    def _keep(self, array: Array) -> Array:
        self._arrays.append(array)
        return array
