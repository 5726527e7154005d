"""A statement with the steps that fill in its witness."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from base.parallel import run
from base.randomness import Secrets, random_elements
from circuits.r1cs import execution
from circuits.r1cs.linear import ONE
from circuits.r1cs.steps import Step, Steps
from kernels import FrArray, fr
from prover.constraint_system import ConstraintSystem
from relations.integers import IntArray
from zenerrors import StatementError

LEAST_SOUNDNESS_BITS: Final = 128
# Wires that one thread moves at a time.
_AT_ONCE: Final = 1 << 16


class _Run(NamedTuple):
    """Wires, and the variables that they are, in the same order."""

    wires: slice
    variables: slice


@dataclass(frozen=True, eq=False)
class Program:
    """What ``Builder.program`` makes. Steps number wires as they were taken; ``order`` hides that.

    ``order``: int64[wires], the statement's variable for each wire of the builder.
    ``degree``: the sum of the degrees of all identities that are checked at the challenges. Raises
    ``StatementError`` (``statement.soundness``) where it leaves ``soundness_bits`` below 128.
    """

    constraint_system: ConstraintSystem
    order: IntArray
    steps: Steps
    degree: int

    def __post_init__(self) -> None:
        if self.soundness_bits < LEAST_SOUNDNESS_BITS:
            raise StatementError(
                "statement.soundness",
                f"identities checked at the challenges have degree {self.degree}: random ones would miss a"
                f" wrong value with more than 2^-{LEAST_SOUNDNESS_BITS}",
            )

    def assign(self, values: Mapping[str, ArrayLike]) -> IntArray:
        """The assignment that follows from ``values``, integers for groups of wires by name.

        int64[variables], in the statement's order; 0 are challenges, blinding, what depends on them, and
        what ``derive`` fills in.
        """
        assignment = np.zeros(self.constraint_system.variables, dtype=np.int64)
        with Secrets() as secret:
            assignment[self.order] = secret(self._filled(values, 1))
        return assignment

    def witness(self, values: Mapping[str, ArrayLike], threads: int = 1) -> FrArray:
        """``assign`` and ``derive``, uint64[variables, 4], Montgomery: what ``groth16.prove`` takes."""
        z = np.zeros((self.constraint_system.variables, 4), dtype=np.uint64)
        with Secrets() as secret:
            filled = secret(self._filled(values, threads))
            run(
                (partial(fr.from_int64, filled[run.wires], out=z[run.variables]) for run in self._runs),
                threads,
            )
        self.derive(z, threads)
        return z

    def derive(self, z: FrArray, threads: int = 1) -> None:
        """Fill in, in place, the variables of ``z`` that do not fit into 64 bits."""
        execution.solve(self._derived, z, self._variables, threads)

    def post_challenge(self, z: FrArray, challenges: FrArray, threads: int = 1) -> None:
        """Fill in, in place, the variables of ``z`` that depend on its challenges: what ``prove`` asks for.

        ``challenges`` are already among the variables of ``z``.
        """
        execution.solve(self._challenged, z, self._variables, threads)

    def _filled(self, values: Mapping[str, ArrayLike], threads: int) -> IntArray:
        """What ``assign`` says of each wire: int64[wires]."""
        z = np.zeros(len(self.order), dtype=np.int64)
        z[ONE] = 1
        for name, value in values.items():
            z[self._wires(self.constraint_system.layout[name])] = value
        execution.fill(self.steps.integer, z, threads)
        return z

    def check(self, z: FrArray, threads: int = 1) -> None:
        """Hold a witness against every constraint, as ``groth16.prove`` would, with challenges that nobody
        drew from commitments. Completes ``z`` in place.

        Raises ``StatementError`` (``statement.unsatisfied``), which names the first row that fails.
        """
        constraint_system = self.constraint_system
        z[1 + constraint_system.public : constraint_system.instance] = drawn = random_elements(
            constraint_system.challenges
        )
        self.post_challenge(z, drawn, threads)
        constraint_system.check(z, threads)

    def _wires(self, variables: IntArray) -> IntArray:
        """The wires of these variables, all of which have one."""
        runs = sorted(self._runs, key=lambda run: run.variables.start)
        index = np.searchsorted([run.variables.start for run in runs], variables, side="right") - 1
        moved = np.array([run.wires.start - run.variables.start for run in runs])
        wires: IntArray = variables + moved[index]
        return wires

    @cached_property
    def _runs(self) -> list[_Run]:
        """Wires that follow each other as variables too; long ones in several."""
        wires = len(self.order)
        apart = np.flatnonzero(np.diff(self.order) != 1) + 1
        ends = np.unique([*apart, *range(0, wires, _AT_ONCE), wires]).tolist()
        firsts = self.order[ends[:-1]].tolist()
        return [
            _Run(slice(start, stop), slice(first, first + stop - start))
            for (start, stop), first in zip(pairwise(ends), firsts, strict=True)
        ]

    @cached_property
    def _variables(self) -> execution.Variables:
        return self.order.astype(np.uint32)

    @cached_property
    def _derived(self) -> tuple[tuple[Step, ...], ...]:
        return execution.independent(self.steps.field, len(self.order))

    @cached_property
    def _challenged(self) -> tuple[tuple[Step, ...], ...]:
        return execution.independent(self.steps.post_challenge, len(self.order))

    @property
    def soundness_bits(self) -> float:
        """-log2 of the probability that random challenges miss a wrong value: at most ``degree`` / r."""
        return math.log2(fr.modulus) - math.log2(max(1, self.degree))
