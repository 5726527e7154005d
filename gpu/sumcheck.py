"""Multilinear polynomials over Fr on the device, and rounds of sum-checks: source/sumcheck.cu.

Tables are uint64[tables, 2^v, 4], Montgomery; the first variable is the index's highest bit. The transcript
is on the device, too: nothing waits for the host between rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device, Secret
from zenserve.gpu.elementwise import ScalarField
from zenserve.gpu.hashing import Context

_THREADS: Final = 256
SUMS: Final = 1 << 9
"""Blocks of a round: they fill the card."""

_LOG_LAST: Final = 8
"""Variables that one block binds one after the other, without launches."""

_LAST_THREADS: Final = 128

_R: Final = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
_RADIX: Final = 1 << 256
_RADIX_INVERSE: Final = pow(_RADIX, -1, _R)


class Weights:
    """The values of eq(point, x), as products of two tables of the square root's size; ``point``:
    uint64[variables, 4], Montgomery."""

    def __init__(self, device: Device, point: Array) -> None:
        self._device, self.variables = device, len(point)
        self.low_bits = len(point) - len(point) // 2
        split = len(point) - self.low_bits
        self._high, self.low = (device.empty((2 << n, 4), np.uint64) for n in (split, self.low_bits))
        threads, numbers = max(32, min(512, 1 << self.low_bits)), (np.int32(split), np.int32(len(point)))
        _module(device).launch("eq_suffixes", 2, threads, point, *numbers, self._high, self.low)

    def last(self, count: int) -> tuple[Array, Array, int]:
        """Of the last ``count`` coordinates: tables ``high`` and ``low``, and of how many ``low`` is."""
        bits = min(count, self.low_bits)
        rest = 1 << (count - bits)
        return self._high[rest : 2 * rest], self.low[1 << bits : 2 << bits], bits

    def table(self, out: Array) -> None:
        """``out``: uint64[2^variables, 4]"""
        high, low, bits = self.last(self.variables)
        n = 1 << self.variables
        numbers = np.int32(bits), np.int64(n)
        _module(self._device).launch("eq_product", -(-n // _THREADS), _THREADS, high, low, *numbers, out)

    def dot(self, values: Array, sums: Array, out: Array) -> None:
        """``out``, uint64[4], becomes the sum of eq(point, i) values[i], of ``sums``, uint64[SUMS, 4]."""
        high, low, bits = self.last(self.variables)
        blocks = max(1, min(SUMS, len(values) // _THREADS))
        numbers, module = (np.int32(bits), np.int64(len(values))), _module(self._device)
        module.launch("weighted_sum", blocks, _THREADS, values, high, low, *numbers, sums)
        module.launch("add_partial", 1, _THREADS, sums, np.int64(blocks), out)


class Voice:
    """The derivation of challenges from rounds, as in ``zenserve.verifier.spartan.transcript``, on
    ``device``, for all proofs.

    ``absorb`` and ``challenge``: the contexts of both hashes. ``frame``: the header of a round's numbers in
    their message; ``question``: the message that draws a challenge. Both follow the state and have at most 32
    bytes.
    """

    def __init__(self, device: Device, absorb: str, challenge: str, frame: bytes, question: bytes) -> None:
        self.lengths = np.int32(len(frame)), np.int32(len(question))
        self.array = device.zeros((4, 32), np.uint8)
        for index, context in enumerate((absorb, challenge)):
            Context(device, context).key(self.array[index])
        for index, text in enumerate((frame, question), 2):
            device.copy(np.frombuffer(text, np.uint8), self.array[index][: len(text)])
        device.synchronize()


@dataclass(frozen=True)
class Rounds:
    """``said`` in each, as integers; the ``point`` that was drawn; the ``values`` of the tables there, if all
    variables were bound; the transcript's ``state`` after the last, and what is ``beside``, 32 bytes each."""

    said: list[list[int]]
    point: list[int]
    values: list[int]
    state: bytes
    beside: bytes


class SumCheck:
    """A sum of products of ``tables``, uint64[tables, 2^v, 4], which stay as they are; so many ``rounds``,
    all unless said. What they write to is made with this, and given to ``keep``: ``launch`` may be recorded.

    To fold costs no launch of its own: a round binds the variable of the one before.
    """

    sums: int
    """Of a round."""

    said: int
    """Numbers of a round's message."""

    kernel: str

    last: str
    """The kernel of the last rounds, which one block makes, where there is one."""

    def __init__(
        self, device: Device, tables: Array, keep: Secret, *, rounds: int | None = None, given: int = 0
    ) -> None:
        self._device = device
        count, size = tables.shape[:2]
        self.variables = size.bit_length() - 1
        self.rounds = self.variables if rounds is None else rounds
        self._tables = [tables, *self._folded(keep(device.empty((count * size, 4), np.uint64)), count, size)]
        self._sums = keep(device.empty((SUMS, self.sums, 4), np.uint64))
        # What rounds say, the point, the tables' values there, what is told beside, what ``bring`` brings.
        self._values = self.rounds * (self.said + 1)
        self._beside = self._values + count
        self._told = keep(device.empty((self._beside + 2 + given, 4), np.uint64))
        self.point, self.beside = self._told[self.rounds * self.said : self._values], self._told[self._beside]
        self._begin = self._told[self._beside + 1 :]
        self.given = self._begin[1:]

    @property
    def left(self) -> Array:
        """The tables of the variables that rounds leave, uint64[tables, 2^(v - rounds), 4]."""
        return self._tables[-1]

    def bring(self, state: bytes, *given: NDArray[np.uint64]) -> None:
        """Upload the rounds' input: the transcript's ``state``, and all that is ``given``, uint64[.., 4]."""
        words = np.concatenate([np.frombuffer(state, np.uint64).reshape(1, 4), *given])
        self._device.copy(words, self._begin)
        words.fill(0)  # pads are secret

    def launch(self, voice: Voice, pads: Array | None = None) -> None:
        """The rounds, once after each ``bring``; ``pads``, uint64[rounds * said, 4], are added to what is
        said."""
        n, width, told, point = self.rounds, self.said, self._told, self.point
        equal, module, state = self._equal(), _module(self._device), self._begin

        def talk(index: int) -> tuple[object, ...]:
            pad = None if pads is None else pads[index * width :]
            eq = (None, None, None) if equal is None else (equal[0][index:], equal[1][index:], equal[2])
            return pad, *eq, voice.array, *voice.lengths, told[index * width :], state, point[index:]

        many = min(n, max(0, self.variables - self._most_last()))
        for index in range(many):
            partial = self._round(index)
            numbers = np.int64(len(partial)), np.int32(self.sums)
            module.launch("say_round", 1, _THREADS, partial, *numbers, *talk(index))
        if many < n:
            self._last(many, talk(many))
        self._end()
        if n == self.variables:
            self._device.copy(self.left.reshape(-1, 4), told[self._values : self._beside])

    def told(self) -> Rounds:
        """Of the last launch. Waits for the device."""
        n, width = self.rounds, self.said
        rows = self._device.download(self._told[: self._beside + 2])
        data = rows[: n * width].tobytes()
        numbers = [int.from_bytes(data[i : i + 32], "little") for i in range(0, len(data), 32)]
        said = [numbers[i : i + width] for i in range(0, len(numbers), width)]
        values = to_ints(rows[self._values : self._beside]) if n == self.variables else []
        point, (beside, state) = to_ints(rows[n * width : self._values]), rows[self._beside :]
        return Rounds(said, point, values, state.tobytes(), beside.tobytes())

    def _folded(self, room: Array, count: int, size: int) -> Iterator[Array]:
        """The tables that are left by each round, one after the other."""
        for _ in range(self.rounds):
            size //= 2
            yield room[: count * size].reshape(count, size, 4)
            room = room[count * size :]

    def _equal(self) -> tuple[Array, Array, Array] | None:
        """Return eq's coordinates, inverses and claim, uint64[n, 4], if rounds leave out eq; else None."""
        return None

    def _arguments(self, index: int) -> tuple[object, ...]:
        """More of a round's kernel."""
        return ()

    def _last_arguments(self) -> tuple[object, ...]:
        """More of that of the last rounds."""
        return ()

    def _most_last(self) -> int:
        """Return the most variables that may be left when one block starts to do all further rounds."""
        return _LOG_LAST

    def _bound(self, index: int) -> tuple[Array, Array, Array | None]:
        """Return a round's input tables, the tables in which it binds the previous variable, and to what."""
        if not index:
            return self._tables[0], self._tables[0], None
        return self._tables[index - 1], self._tables[index], self.point[index - 1 :]

    def _round(self, index: int) -> Array:
        """The blocks' sums, uint64[blocks, sums, 4]."""
        source, tables, bound = self._bound(index)
        half = tables.shape[1] // 2
        partial = self._sums[: max(1, min(SUMS, half // _THREADS))]
        arguments = source, tables if index else None, np.int64(half), bound, *self._arguments(index)
        _module(self._device).launch(self.kernel, len(partial), _THREADS, *arguments, partial)
        return partial

    def _last(self, index: int, talk: tuple[object, ...]) -> None:
        """All further rounds, by one block."""
        source, tables, bound = self._bound(index)
        numbers = np.int64(tables.shape[1] // 2), bound, np.int32(self.rounds - index)
        arguments = source, self._tables[max(1, index)], *numbers, *self._last_arguments(), *talk
        _module(self._device).launch(self.last, 1, _LAST_THREADS, *arguments)

    def _end(self) -> None:
        """Binds the last round's variable."""
        source, folded, bound = self._bound(self.rounds)
        count, half = folded.shape[:2]
        grid = -(-count * half // _THREADS)
        numbers = np.int64(half), np.int64(count * half)
        _module(self._device).launch("fold", grid, _THREADS, source, *numbers, bound, folded)


class R1csSumCheck(SumCheck):
    """Of eq(point, x) (a b - c), which is zero. Says the coefficients of X and X^2 of what eq leaves. Given
    is zero, the claim, then the point."""

    sums, said, kernel, last = 2, 2, "r1cs_round", "last_r1cs_rounds"

    def _equal(self) -> tuple[Array, Array, Array]:
        claim, point = self.given, self.given[1 : 1 + self.rounds]
        self._weights = Weights(self._device, point)
        return point, ScalarField(self._device).inverse(point), claim

    def _arguments(self, index: int) -> tuple[object, ...]:
        high, low, bits = self._weights.last(self.variables - 1 - index)
        return high, low, np.int32(bits)

    def _last_arguments(self) -> tuple[object, ...]:
        return (self._weights.low,)

    def _most_last(self) -> int:
        return min(_LOG_LAST, self._weights.low_bits + 1)


class ProductSumCheck(SumCheck):
    """Of a b. Says the value at 0 and the coefficient of X^2."""

    sums, said, kernel, last = 2, 2, "product_round", "last_product_rounds"


class CubicSumCheck(SumCheck):
    """Of a b c, and of as many triples as there are tables. Says the values at 0 and -1, and the coefficient
    of X^3."""

    sums, said, kernel, last = 3, 3, "cubic_round", ""

    def _arguments(self, index: int) -> tuple[object, ...]:
        return (np.int32(len(self.left) // 3),)

    def _most_last(self) -> int:
        return 0


def to_words(values: Sequence[int]) -> NDArray[np.uint64]:
    """uint64[n, 4], Montgomery, on the host."""
    data = b"".join((value * _RADIX % _R).to_bytes(32, "little") for value in values)
    return np.frombuffer(data, np.uint64).reshape(-1, 4)


def to_ints(words: NDArray[np.uint64]) -> list[int]:
    data = words.tobytes()
    parts = (data[i : i + 32] for i in range(0, len(data), 32))
    return [int.from_bytes(part, "little") * _RADIX_INVERSE % _R for part in parts]


def _module(device: Device) -> modules.Module:
    return modules.load(device, "sumcheck")
