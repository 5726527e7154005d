"""Circuits whose verifier reads many public inputs as one number (docs/groth16.md, "Folded inputs").

All public inputs but the first move to the beginning of a segment that proofs commit to. A last challenge y
follows the others: Σ x_i c^i at the first challenge c, which verifiers compute from the inputs that they are
told. Rows of Horner's rule demand the same of what is committed to, so it is what they are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from zenserve.circuits.r1cs.builder import renumbered
from zenserve.circuits.r1cs.program import Program
from zenserve.circuits.r1cs.steps import Product, Step
from zenserve.prover.blocks import SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.folding import horner
from zenserve.relations.integers import IntArray

_NAME: Final = "public inputs"
_FIRST: Final = 2
"""The first challenge, behind the one and the input that is not folded."""

FEWEST_FOLDED: Final = 3
"""A circuit with fewer public inputs stays as it is."""


def fold_public_inputs(program: Program) -> Program:
    """The same circuit with all its public inputs folded but the first; as it is where there are fewer than
    three."""
    system = program.constraint_system
    return _Folding(program).program() if system.public >= FEWEST_FOLDED and not system.folded else program


@dataclass(frozen=True, eq=False)
class _Folding:
    old: Program

    @property
    def _system(self) -> ConstraintSystem:
        return self.old.constraint_system

    @property
    def _folded(self) -> int:
        return self._system.public - 1

    @cached_property
    def _drawn(self) -> int:
        """The number of challenges beside the fold, at least 1."""
        return max(1, self._system.challenges)

    @cached_property
    def _own(self) -> int | None:
        """The segment that the inputs move to, None for one of their own: it becomes the last one."""
        segments = enumerate(self._system.segments)
        return next((i for i, segment in segments if not (segment.linked or segment.lasting)), None)

    @cached_property
    def _new(self) -> IntArray:
        """The new index of each variable."""
        system, own = self._system, self._own
        ranges = [np.arange(part.start, part.stop) for part in system.segment_ranges]
        last = np.zeros(0, np.int64) if own is None else ranges.pop(own)
        new = np.zeros(system.variables, dtype=np.int64)
        challenges = np.arange(1 + system.public, system.instance)
        new[1] = 1
        new[challenges] = _FIRST + np.arange(len(challenges))
        following = _FIRST + self._drawn + 1
        for variables in [*ranges, np.arange(2, 1 + system.public), last]:
            new[variables] = np.arange(following, following + len(variables))
            following += len(variables)
        following += own is None  # what blinds the inputs' own segment
        new[system.first_private :] = np.arange(following, following + system.private)
        return new

    @cached_property
    def _sums(self) -> IntArray:
        """The variables of Horner's rule, behind all others: the sums between an input and the fold."""
        end = self._system.variables + 1 + (self._drawn - self._system.challenges) + (self._own is None)
        return np.arange(end, end + self._folded - 2)

    def program(self) -> Program:
        system, new, old = self._system, self._new, self.old
        segments = list(system.segments)
        own = Segment(_NAME, 0) if self._own is None else segments.pop(self._own)
        folded = ConstraintSystem(
            1,
            system.private + len(self._sums),
            (*(renumbered(block, new) for block in system.blocks), self._block()),
            self._drawn + 1,
            (*segments, replace(own, size=own.size + self._folded)),
            {name: new[variables] for name, variables in system.layout.items()},
            self._folded,
        )
        drawn = np.full(self._drawn - system.challenges, _FIRST)
        order = np.concatenate([new[old.order], drawn, self._sums])
        steps = old.steps._replace(post_challenge=(*old.steps.post_challenge, *self._steps()))
        return Program(folded, order, steps, old.degree + self._folded - 1)

    def _block(self) -> SparseBlock:
        inputs = self._new[2 : 1 + self._system.public]
        return SparseBlock(_NAME, *horner(inputs, self._sums, _FIRST, _FIRST + self._drawn))

    def _steps(self) -> Iterator[Step]:
        """The sums by wires; what there was has its own, and new ones follow."""
        wire = np.zeros(self._system.variables, dtype=np.int64)
        wire[self.old.order] = np.arange(len(self.old.order))
        end = len(self.old.order)
        challenge, first = end, end + (self._drawn - self._system.challenges)
        if self._system.challenges:
            challenge = int(wire[1 + self._system.public])
        inputs = wire[2 : 1 + self._system.public]
        sums = np.concatenate([inputs[-1:], np.arange(first, first + len(self._sums))])
        for place, (before, out, added) in enumerate(zip(sums[:-1], sums[1:], inputs[-2:0:-1], strict=True)):
            yield Product(
                f"{_NAME}[{place}]", *(np.array([each]) for each in (out, before, challenge, added))
            )
