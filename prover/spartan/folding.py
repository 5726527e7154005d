"""A public vector, folded (``zenserve.verifier.spartan.folding``): nothing is random here, and nothing
secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.base.randomness import Secrets
from zenserve.kernels import FrArray, fr, multilinear
from zenserve.prover.spartan.commitment import encode, to_bytes
from zenserve.prover.spartan.queries import Places, columns, opening, places, siblings, weights
from zenserve.prover.spartan.rounds import LABEL
from zenserve.verifier.spartan import merkle
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.proof import Folded
from zenserve.verifier.spartan.shape import Folding
from zenserve.verifier.spartan.transcript import Transcript


class Matrix(Protocol):
    """A vector's rows, which were committed to."""

    @property
    def root(self) -> bytes: ...

    def open(self, at: Places) -> bytes:
        """The columns there, as proofs have them."""


class Vector(Protocol):
    """Numbers, and their weights: what all claims about them together are their inner product with."""

    def commit(self, code: Code) -> Matrix:
        """To rows as long as the code's, one after the other."""

    def weigh(self, code: Code, at: Places, by: FrArray) -> None:
        """Beside what they have: the entries of each row's code word there, row by row, weighted."""

    def rounds(self, count: int, transcript: Transcript) -> list[list[int]]:
        """Of the sum of products what is said in so many rounds, which bind as many variables."""

    def told(self) -> bytes:
        """The numbers, canonical."""


class Told(NamedTuple):
    """The part of a proof about the vector: messages, and the openings after the combined rows'."""

    body: Folded
    openings: list[bytes]


class Folder:
    """Of ``vector``, of 2^variables numbers, which changes. ``message`` is the first."""

    def __init__(self, folding: Folding, vector: Vector) -> None:
        self._folding, self._vector = folding, vector
        self._made = list[Matrix]()
        self.message = self._commit()

    def fold(self, transcript: Transcript, code: Code, at: Places) -> Told:
        """Fold the vector with its weights and with a further claim: the entries, at ``at``, of the code word
        of ``code`` of each row. Return the messages and openings. ``message`` must have been absorbed."""
        messages, said, openings = [self.message], list[list[list[int]]](), list[bytes]()
        claims = len(at) << (self._folding.variables - code.log_degree)
        self._vector.weigh(code, at, weights(transcript, claims))
        for index, rounds in enumerate(self._folding.rounds):
            said.append(self._vector.rounds(rounds, transcript))
            if index < len(self._folding.levels):
                messages.append(self._commit())
                transcript.absorb("row", messages[-1])
                code = self._folding.levels[index].code
                at = places(transcript, "places", code)
                openings.append(self._made[index].open(at))
                self._vector.weigh(code, at, weights(transcript, len(at)))
        return Told(Folded(messages, said), openings)

    def _commit(self) -> bytes:
        """The next message: a root while there are levels, then the vector."""
        if len(self._made) == len(self._folding.levels):
            return self._vector.told()
        self._made.append(self._vector.commit(self._folding.levels[len(self._made)].code))
        return self._made[-1].root


class CpuVector:
    """``Vector``: ``values``, and ``weights``, which change; both uint64[2^variables, 4], Montgomery."""

    def __init__(self, values: FrArray, weights: FrArray, threads: int) -> None:
        self._values, self._weights, self._threads = values, weights, threads

    def commit(self, code: Code) -> Matrix:
        return _Matrix.of(code, self._values, self._threads)

    def weigh(self, code: Code, at: Places, by: FrArray) -> None:
        # An entry is the row's inner product with the powers of a root of unity.
        domain = kernels.Domain(code.log_length)
        for index, row in enumerate(self._weights.reshape(-1, code.degree, 4)):
            domain.add_powers(at, by[index * len(at) : (index + 1) * len(at)], row, self._threads)

    def rounds(self, count: int, transcript: Transcript) -> list[list[int]]:
        said, bound = list[list[int]](), None
        for _ in range(count):
            found = multilinear.product_round(self._weights, self._values, self._threads, bound=bound)
            if bound is not None:
                self._halve()
            said.append(fr.to_ints(np.stack(found)))
            transcript.say(LABEL, said[-1])
            (bound,) = fr.from_ints([transcript.challenge(LABEL)])
        if bound is not None:
            for table in (self._weights, self._values):
                multilinear.fold(table, bound, self._threads)
            self._halve()
        return said

    def _halve(self) -> None:
        """A variable of both was bound."""
        half = len(self._values) // 2
        self._values, self._weights = self._values[:half], self._weights[:half]

    def told(self) -> bytes:
        return to_bytes(self._values)


@dataclass(frozen=True, eq=False)
class _Matrix:
    """``words``: the code words, uint64[rows, length, 4], canonical; ``nodes``: the tree, without salts."""

    code: Code
    words: FrArray
    nodes: NDArray[np.uint8]

    @classmethod
    def of(cls, code: Code, vector: FrArray, threads: int) -> _Matrix:
        rows = vector.reshape(-1, code.degree, 4)
        words = np.empty((len(rows), code.length, 4), np.uint64)
        with Secrets() as for_now:
            encode(code, rows, words, for_now, threads)
        leaves = kernels.blake3.columns(words, merkle.LEAF_KEY, threads=threads)
        return cls(code, words, kernels.blake3.tree(leaves, merkle.NODE_KEY, threads))

    @property
    def root(self) -> bytes:
        code = self.code
        values = len(self.words) * code.degree
        return merkle.root(self.nodes[1].tobytes(), values, 0, code.log_degree, code.log_length)

    def open(self, at: Places) -> bytes:
        return opening(None, columns(self.words[:, at]), self.nodes[siblings(at, self.code.log_length)])
