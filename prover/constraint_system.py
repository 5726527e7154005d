"""Rank-1 constraint systems as lists of blocks.

A statement is a relation over the variables ``z = (1 | public | challenges | segments | private)``: row i of
every block demands ``(A_i · z) (B_i · z) = C_i · z`` over Fr. Each segment ends with a blinding variable that
belongs to the proof system and that no row reads.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.base.parallel import in_turn, run
from zenserve.base.processors import usable_cores
from zenserve.base.randomness import Secrets
from zenserve.errors import StatementError
from zenserve.kernels import FrArray
from zenserve.prover import adaptivity
from zenserve.prover.blocks import NOT_SHORT, Block, Csr, RowValues
from zenserve.prover.folding import ends_with_horner
from zenserve.prover.witness import Witness


@dataclass(frozen=True)
class Segment:
    """``size`` variables that a proof commits to before its challenges are drawn.

    ``linked``: every proof also shows that a commitment from outside (``groth16.commitment``) opens to them.
    ``lasting``: other proofs are about the same values, and whoever makes them holds these anyway: weights.
    """

    name: str
    size: int
    linked: bool = False
    lasting: bool = False


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass over all coefficients finds.

    ``digest``: the system's; ``nonzeros``: int64[blocks, 3], the entries of A, B and C in each block;
    ``in_a``, ``in_b``: how many variables A and B read, those with an anchoring row in A included;
    ``absent``: the variables behind the inputs that occur in no row, ascending.
    """

    digest: bytes
    nonzeros: NDArray[np.int64]
    in_a: int
    in_b: int
    absent: NDArray[np.int64]


@dataclass(frozen=True)
class ConstraintSystem:
    """Constraint blocks over ``1 | public | challenges | segment_1 .. segment_m | private``, in that order.

    A segment takes ``size + 1`` variables, the last one for blinding. ``layout`` names groups of variables,
    for messages. ``folded``: how many more public inputs begin the last segment; the last challenge then is
    their fold Σ x_i c^i at the first, which the verifier computes (docs/groth16.md, "Folded inputs"), and
    the last rows of the last block must demand that the segment has it (``zenserve.prover.folding``).

    A statement with challenges is refused where a prover could choose, once a challenge is known, what a
    constraint on it reads: ``StatementError`` (``statement.adaptive``, the message names the variable;
    ``zenserve.prover.adaptivity`` has the rule). ``statement.challenge_without_segment`` where there is
    nothing to draw challenges from; ``statement.link_without_challenge``, since it is the challenge that ties
    a proof to the very commitment it was made for; ``statement.size`` for sizes that are no natural numbers;
    ``statement.fold`` for folded inputs that no segment begins with, or that no rows fold.
    """

    public: int
    private: int
    blocks: tuple[Block, ...]
    challenges: int = 0
    segments: tuple[Segment, ...] = ()
    layout: Mapping[str, NDArray[np.int64]] = field(default_factory=dict, compare=False)
    folded: int = 0

    def __post_init__(self) -> None:
        sizes = [segment.size for segment in self.segments]
        sizes += [self.public, self.private, self.challenges, self.folded]
        if not all(isinstance(size, int) and size >= 0 for size in sizes):
            raise StatementError("statement.size", "every part's size must be an integer, at least 0")
        if self.folded and not self._folds_what_is_committed:
            raise StatementError(
                "statement.fold",
                "folded inputs, two at least, take two challenges and begin the last segment, which is not"
                " linked; the last rows of the last block are those of zenserve.prover.folding.horner",
            )
        if not self.challenges:
            if any(segment.linked for segment in self.segments):
                raise StatementError(
                    "statement.link_without_challenge",
                    "a statement with a linked segment takes a challenge, even if no constraint reads it",
                )
            return
        if not self.segments:
            raise StatementError(
                "statement.challenge_without_segment",
                "challenges are drawn from the commitments to segments: declare a segment",
            )
        adaptive = self._analysis.adaptive
        if adaptive is not None:
            raise StatementError(
                "statement.adaptive",
                f"a constraint on a challenge reads {self.variable_name(adaptive)}, which the prover may "
                "still choose when the challenge is known: put it into a segment",
            )

    @property
    def _folds_what_is_committed(self) -> bool:
        last = self.segments[-1] if self.segments else None
        if last is None or last.linked or last.size < self.folded or self.challenges < 2 or self.folded < 2:
            return False
        inputs, first = np.arange(self.folded) + self.folded_inputs.start, 1 + self.public
        return bool(self.blocks) and ends_with_horner(
            self._checked(self.blocks[-1]), inputs, at=first, fold=self.instance - 1
        )

    @cached_property
    def _analysis(self) -> adaptivity.Analysis:
        drawn = self.instance - (self.folded > 0)
        sizes = adaptivity.Sizes(
            self.public, drawn, self.instance, self.first_private, self.variables, self.constraints
        )
        return adaptivity.analyse(sizes, self.matrices(usable_cores()))

    @property
    def fixed(self) -> NDArray[np.bool_]:
        """Which variables have their values before the challenges are drawn: bool[variables]."""
        return self._analysis.fixed

    @property
    def instance(self) -> int:
        """How many variables the verifier knows: the constant one, public inputs and challenges."""
        return 1 + self.public + self.challenges

    @property
    def variables(self) -> int:
        return self.first_private + self.private

    @property
    def first_private(self) -> int:
        return self.instance + sum(segment.size + 1 for segment in self.segments)

    @cached_property
    def segment_ranges(self) -> tuple[slice, ...]:
        """The variables of each segment, its blinding variable last."""
        ends = np.cumsum([self.instance, *(segment.size + 1 for segment in self.segments)]).tolist()
        return tuple(slice(start, end) for start, end in itertools.pairwise(ends))

    @property
    def folded_inputs(self) -> slice:
        """The variables of the public inputs that are folded."""
        start = self.segment_ranges[-1].start if self.folded else 0
        return slice(start, start + self.folded)

    def fold(self, z: FrArray, at: FrArray) -> FrArray:
        """Σ x_i c^i of the folded inputs at c: uint64[4] both, Montgomery."""
        fr = kernels.fr
        total = np.zeros((1, 4), np.uint64)
        for value in z[self.folded_inputs][::-1]:
            total = fr.add(fr.mul(total, at), value[None])
        return np.asarray(total[0])

    def public_index(self, variable: int) -> int:
        """Which of the public inputs it is, folded ones counted behind the others."""
        folded = self.folded_inputs
        is_folded = folded.start <= variable < folded.stop
        return self.public + variable - folded.start if is_folded else variable - 1

    @cached_property
    def anchored(self) -> NDArray[np.int64]:
        """The variables s that get a row A = z_s, B = C = 0 after the constraints (docs/groth16.md)."""
        blinding = np.array([part.stop - 1 for part in self.segment_ranges], dtype=np.int64)
        return np.concatenate([np.arange(self.instance), blinding])

    @property
    def constraints(self) -> int:
        return sum(block.rows for block in self.blocks)

    @property
    def digest(self) -> bytes:
        """SHA-256 over the sizes and every coefficient: what a key is made for. 32 bytes."""
        return self.survey.digest

    @cached_property
    def survey(self) -> Survey:
        """Raises ``StatementError`` as ``matrices`` does."""
        hasher = hashlib.sha256(b"zenserve r1cs 2")
        sizes = [self.public, self.challenges, self.private, len(self.segments), len(self.blocks)]
        sizes += [value for segment in self.segments for value in (segment.size, segment.linked)]
        sizes += [self.folded] if self.folded else []
        _absorb(hasher, (np.array(sizes, dtype="<u8"),))
        nonzeros = np.zeros((len(self.blocks), 3), dtype=np.int64)
        in_a, in_b, in_c = (np.zeros(self.variables, dtype=np.bool_) for _ in range(3))
        in_a[self.anchored] = True
        for index, (_, matrices) in enumerate(self.matrices(threads=usable_cores())):
            for matrix in matrices:
                pool = b"".join((value % kernels.fr.modulus).to_bytes(32, "little") for value in matrix.pool)
                _absorb(
                    hasher,
                    (
                        matrix.offsets.astype("<u8"),
                        matrix.columns.astype("<u4"),
                        matrix.coefficients.astype("<u4"),
                        np.frombuffer(pool, dtype=np.uint8),
                    ),
                )
            nonzeros[index] = [len(matrix.columns) for matrix in matrices]
            for matrix, occurs in zip(matrices, (in_a, in_b, in_c), strict=True):
                occurs[matrix.columns] = True
        absent = np.flatnonzero(~(in_a | in_b | in_c))
        return Survey(hasher.digest(), nonzeros, int(in_a.sum()), int(in_b.sum()), absent)

    def matrices(self, threads: int = 1) -> Iterator[tuple[int, tuple[Csr, Csr, Csr]]]:
        """Each block's first row and its A, B and C, checked against this statement.

        With more ``threads`` as many of the blocks that follow are made while the caller reads one.
        Raises ``StatementError``: ``statement.block_shape`` where the rows differ from what the block says,
        ``statement.column`` where a matrix names a variable that the statement does not have,
        ``statement.blinding`` where it names one that blinds a segment. Once ``survey`` has been through all
        blocks they are not checked again.
        """
        known = "survey" in self.__dict__
        made = in_turn(
            (block.matrices if known else partial(self._checked, block) for block in self.blocks), threads
        )
        yield from zip(self._starts, made, strict=True)

    def _checked(self, block: Block) -> tuple[Csr, Csr, Csr]:
        matrices = block.matrices()
        for matrix in matrices:
            if matrix.rows != block.rows:
                raise StatementError(
                    "statement.block_shape",
                    f"block {block.name!r} has {block.rows} rows, one of its matrices {matrix.rows}",
                )
            if len(matrix.columns) and int(matrix.columns.max()) >= self.variables:
                raise StatementError(
                    "statement.column",
                    f"block {block.name!r} uses variable {matrix.columns.max()}, "
                    f"the statement has {self.variables}",
                )
            if np.isin(matrix.columns, self.anchored[self.instance :]).any():
                raise StatementError(
                    "statement.blinding", f"block {block.name!r} uses a variable that blinds a segment"
                )
        return matrices

    def evaluate(self, z: FrArray, threads: int = 1, *, out: RowValues | None = None) -> RowValues:
        """A·z, B·z, C·z over all blocks in order, each uint64[constraints, 4] in Montgomery form.

        Arrays that are given as ``out`` may be longer: zeros follow. ``threads`` share the blocks.
        Raises ``StatementError`` (``statement.witness_shape``) where ``z`` does not fit.
        """
        self.check_shape(z)
        shorts = kernels.fr.shorten(z, threads)
        mostly_short = 2 * np.count_nonzero(shorts == NOT_SHORT) < len(z)
        a, b, c = out or (np.empty((self.constraints, 4), dtype=np.uint64) for _ in range(3))
        calls: list[Callable[[], object]] = [
            partial(values[self.constraints :].fill, 0) for values in (a, b, c)
        ]
        for block, start, share in zip(self.blocks, self._starts, self._shares(threads), strict=True):
            part = slice(start, start + block.rows)
            calls.append(
                partial(
                    block.evaluate,
                    z,
                    (a[part], b[part], c[part]),
                    share,
                    shorts=shorts if mostly_short else None,
                )
            )
        try:
            run(calls, threads)
        except BaseException:
            for values in (a, b, c):
                values.fill(0)
            raise
        finally:
            shorts.fill(0)
        return a, b, c

    def check(self, z: FrArray, threads: int = 1) -> None:
        """Raises ``StatementError`` (``statement.unsatisfied``) where ``z`` fails a row: the first one is
        named.
        """
        with Secrets() as secret:
            a, b, c = (secret(values) for values in self.evaluate(z, threads))
            row = kernels.fr.first_unsatisfied(a, b, c, threads)
        if row is not None:
            raise self.unsatisfied(row)

    @property
    def _starts(self) -> list[int]:
        """Each block's first row."""
        return [0, *itertools.accumulate(block.rows for block in self.blocks)][:-1]

    def _shares(self, threads: int) -> list[int]:
        """How many of ``threads`` each block gets, by its entries: one, but for those with far more."""
        if threads == 1:
            return [1] * len(self.blocks)
        entries = self.survey.nonzeros.sum(axis=1)
        shares = np.rint(threads * entries / max(1, int(entries.sum())))
        return [max(1, int(share)) for share in shares]

    def check_shape(self, z: Witness) -> None:
        """``StatementError`` (``statement.witness_shape``) unless z is a contiguous uint64[variables, 4]."""
        if z.shape != (self.variables, 4) or z.dtype != np.uint64 or not z.flags.c_contiguous:
            raise StatementError(
                "statement.witness_shape",
                f"the witness is {z.dtype}{list(z.shape)}, "
                f"this statement takes contiguous uint64[{self.variables}, 4]",
                field="witness",
            )

    def unsatisfied(self, row: int) -> StatementError:
        """What to raise where a witness fails this row."""
        return StatementError(
            "statement.unsatisfied",
            f"the witness does not satisfy constraint {self.row_name(row)}",
            field="witness",
        )

    def row_name(self, row: int) -> str:
        """The block and offset of global row ``row``, for error messages. Blocks of one name count on."""
        before: Counter[str] = Counter()
        for block in self.blocks:
            if row < block.rows:
                return f"{block.name}[{before[block.name] + row}]"
            before[block.name] += block.rows
            row -= block.rows
        raise IndexError(row)

    def variable_name(self, index: int) -> str:
        """Where ``layout`` has variable ``index``, or else its part of the statement, for error messages."""
        for name, group in self.layout.items():
            where = np.argwhere(group == index)
            if len(where):
                return f"{name}{where[0].tolist()}"
        parts = {"one": 1, "public": self.public, "challenge": self.challenges}
        parts |= {f"segment {segment.name}": segment.size + 1 for segment in self.segments}
        for name, size in (parts | {"private": self.private}).items():
            if index < size:
                return f"{name}[{index}]"
            index -= size
        raise IndexError(index)


def _absorb(hasher: hashlib._Hash, arrays: Iterable[NDArray[np.generic]]) -> None:
    for array in arrays:
        hasher.update(len(array).to_bytes(8, "little"))
        hasher.update(np.ascontiguousarray(array).data)
