"""Multilinear polynomials over Fr on the device, and rounds of sum-checks: source/sumcheck.cu.

Tables are uint64[tables, 2^v, 4], Montgomery; the first variable is the index's highest bit. The transcript
is on the device, too: nothing waits for the host between rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpu import modules
from gpu.device import Array, Device
from gpu.elementwise import ScalarField
from gpu.hashing import derivation_key

_THREADS: Final = 256
_LOG_BLOCKS: Final = 9
"""Of a round: they fill the card."""

_LOG_LAST: Final = 8
"""Variables that one block binds one after the other, without launches."""

_LAST_THREADS: Final = 128

_R: Final = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
_RADIX: Final = 1 << 256
_RADIX_INVERSE: Final = pow(_RADIX, -1, _R)


Keep = Callable[[Array], Array]
"""Is given what is derived from a sum-check's tables, to erase it one day, and hands it back."""


class Weights:
    """The values of eq(point, x), as products of two tables of the square root's size."""

    def __init__(self, device: Device, point: Sequence[int]) -> None:
        self._device, self.variables = device, len(point)
        self.low_bits = len(point) - len(point) // 2
        split = len(point) - self.low_bits
        self._high, self.low = (self._suffixes(part) for part in (point[:split], point[split:]))

    def last(self, count: int) -> tuple[Array, Array, int]:
        """Of the last ``count`` coordinates: tables ``high`` and ``low``, and of how many ``low`` is."""
        bits = min(count, self.low_bits)
        rest = 1 << (count - bits)
        return self._high[rest : 2 * rest], self.low[1 << bits : 2 << bits], bits

    def table(self) -> Array:
        """uint64[2^variables, 4]"""
        high, low, bits = self.last(self.variables)
        n = 1 << self.variables
        out = self._device.empty((n, 4), np.uint64)
        _module(self._device).launch(
            "eq_product", -(-n // _THREADS), _THREADS, high, low, np.int32(bits), np.int64(n), out
        )
        return out

    def dot(self, values: Array, keep: Keep) -> int:
        """The sum of eq(point, i) values[i], uint64[2^variables, 4]."""
        device, (high, low, bits) = self._device, self.last(self.variables)
        blocks = max(1, min(1 << _LOG_BLOCKS, len(values) // _THREADS))
        sums = keep(device.empty((blocks + 1, 1, 4), np.uint64))
        numbers = np.int32(bits), np.int64(len(values))
        _module(device).launch("weighted_sum", blocks, _THREADS, values, high, low, *numbers, sums[1:])
        _module(device).launch("add_partial", 1, _THREADS, sums[1:], np.int64(blocks), sums)
        (total,) = to_ints(device.download(sums[0]))
        return total

    def _suffixes(self, point: Sequence[int]) -> Array:
        device = self._device
        out = device.empty((2 << len(point), 4), np.uint64)
        coordinates = device.bring(to_words(point)) if point else None
        threads = max(32, min(512, 1 << max(0, len(point) - 1)))
        _module(device).launch("eq_suffixes", 1, threads, coordinates, np.int32(len(point)), out)
        return out


class Voice:
    """How challenges follow from rounds: ``verifier.spartan.transcript``, on ``device``, for all proofs.

    ``absorb`` and ``challenge``: the contexts of both hashes. ``frame``: what stands before a round's numbers
    in their message; ``question``: the message that asks for a challenge, both behind the state and of at
    most 32 bytes.
    """

    def __init__(self, device: Device, absorb: str, challenge: str, frame: bytes, question: bytes) -> None:
        self.lengths = np.int32(len(frame)), np.int32(len(question))
        self.array = device.zeros((4, 32), np.uint8)
        for index, context in enumerate((absorb, challenge)):
            device.copy(derivation_key(device, context), self.array[index])
        for index, text in enumerate((frame, question), 2):
            device.copy(np.frombuffer(text, np.uint8), self.array[index][: len(text)])
        device.synchronize()


@dataclass(frozen=True)
class Rounds:
    """``said`` in each, as integers; the ``point`` that was drawn; the ``values`` of the tables there, if all
    variables were bound; the transcript's ``state`` after the last, 32 bytes."""

    said: list[list[int]]
    point: list[int]
    values: list[int]
    state: bytes


class SumCheck:
    """A sum of products of ``tables``, uint64[tables, 2^v, 4], which stay as they are.

    To fold costs no launch of its own: a round binds the variable of the one before.
    """

    sums: int
    """Of a round."""

    said: int
    """Numbers of a round's message."""

    kernel: str

    last: str
    """The kernel of the last rounds, which one block makes, where there is one."""

    def __init__(self, device: Device, tables: Array, keep: Keep) -> None:
        self._device, self.tables, self._keep = device, tables, keep
        count, size = tables.shape[:2]
        self.variables = size.bit_length() - 1
        # All that is folded, one after the other; what a round sums up.
        self._folded = keep(device.empty((count * size, 4), np.uint64))
        self._sums = keep(device.empty((1 << _LOG_BLOCKS, self.sums, 4), np.uint64))

    def run(self, voice: Voice, state: bytes, pads: Array | None = None, rounds: int | None = None) -> Rounds:
        """So many rounds, all unless said; then ``tables`` are those of the variables that are left. The
        transcript begins with ``state``; ``pads``, uint64[rounds * said, 4], are added to what is said."""
        device, width, count = self._device, self.said, len(self.tables)
        n = self.variables if rounds is None else rounds
        told = self._keep(device.empty((n * (width + 1) + count + 1, 4), np.uint64))
        point, ends, state_now = told[n * width :], told[n * (width + 1) :], told[n * (width + 1) + count :]
        device.copy(np.frombuffer(state, np.uint64), state_now[0])
        equal, module = self._equal(), _module(device)

        def talk(index: int) -> tuple[object, ...]:
            pad = None if pads is None else pads[index * width :]
            eq = (None, None, None) if equal is None else (equal[0][index:], equal[1][index:], equal[2])
            return pad, *eq, voice.array, *voice.lengths, told[index * width :], state_now, point[index:]

        many = min(n, max(0, self.variables - self._most_last()))
        for index in range(many):
            partial = self._round(index, point[index - 1 :] if index else None)
            numbers = np.int64(len(partial)), np.int32(self.sums)
            module.launch("say_round", 1, _THREADS, partial, *numbers, *talk(index))
        if many < n:
            self._last(n - many, point[many - 1 :] if many else None, talk(many))
        self._end(point[n - 1 :])
        self.variables -= n
        if not self.variables:
            device.copy(self.tables.reshape(-1, 4), ends[:count])
        rows = device.download(told)
        data = rows[: n * width].tobytes()
        numbers_said = [int.from_bytes(data[i : i + 32], "little") for i in range(0, len(data), 32)]
        said = [numbers_said[i : i + width] for i in range(0, len(numbers_said), width)]
        drawn = to_ints(rows[n * width : n * (width + 1)])
        values = [] if self.variables else to_ints(rows[-1 - count : -1])
        return Rounds(said, drawn, values, rows[-1].tobytes())

    def _equal(self) -> tuple[Array, Array, Array] | None:
        """Where rounds leave out eq: its coordinates, their inverses, and the claim; uint64[n, 4]."""
        return None

    def _arguments(self, index: int) -> tuple[object, ...]:
        """More of a round's kernel."""
        return ()

    def _last_arguments(self) -> tuple[object, ...]:
        """More of that of the last rounds."""
        return ()

    def _most_last(self) -> int:
        """How many variables are left, at most, when one block makes all further rounds."""
        return _LOG_LAST

    def _round(self, index: int, bound: Array | None) -> Array:
        """The blocks' sums, uint64[blocks, sums, 4]."""
        source = self.tables
        folded = None if bound is None else self._next()
        half = self.tables.shape[1] // 2
        blocks = max(1, min(1 << _LOG_BLOCKS, half // _THREADS))
        partial, more = self._sums[:blocks], self._arguments(index)
        numbers = folded, np.int64(half), bound
        _module(self._device).launch(self.kernel, blocks, _THREADS, source, *numbers, *more, partial)
        return partial

    def _last(self, rounds: int, bound: Array | None, talk: tuple[object, ...]) -> None:
        """These rounds, by one block."""
        half = self.tables.shape[1] // (2 if bound is None else 4)
        numbers = np.int64(half), bound, np.int32(rounds)
        _module(self._device).launch(
            self.last, 1, _LAST_THREADS, self.tables, self._folded, *numbers, *self._last_arguments(), *talk
        )
        for _ in range(rounds - (bound is None)):
            self._next()

    def _end(self, bound: Array) -> None:
        """Binds the last round's variable."""
        source, folded = self.tables, self._next()
        count, half = folded.shape[:2]
        grid = -(-count * half // _THREADS)
        numbers = np.int64(half), np.int64(count * half)
        _module(self._device).launch("fold", grid, _THREADS, source, *numbers, bound, folded)

    def _next(self) -> Array:
        """The room of the tables that the bound variable leaves."""
        count, size = self.tables.shape[:2]
        room = self._folded[: count * size // 2]
        self._folded = self._folded[count * size // 2 :]
        self.tables = room.reshape(count, size // 2, 4)
        return self.tables


class R1csSumCheck(SumCheck):
    """Of eq(point, x) (a b - c), which is zero. Says the coefficients of X and X^2 of what eq leaves."""

    sums, said, kernel, last = 2, 2, "r1cs_round", "last_r1cs_rounds"

    def __init__(self, device: Device, tables: Array, point: Sequence[int], keep: Keep) -> None:
        super().__init__(device, tables, keep)
        self._weights, self._point = Weights(device, point), point

    def _equal(self) -> tuple[Array, Array, Array]:
        numbers = self._device.bring(to_words([0, *self._point]))
        return numbers[1:], ScalarField(self._device).inverse(numbers[1:]), self._keep(numbers[:1])

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
        return (np.int32(len(self.tables) // 3),)

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
