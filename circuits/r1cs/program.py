"""A statement with the steps that fill in its witness."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

import kernels
from base.parallel import in_chunks
from base.randomness import Secrets, random_elements
from circuits.r1cs import execution
from circuits.r1cs.linear import ONE
from circuits.r1cs.steps import Steps
from kernels import FrArray
from prover.constraint_system import ConstraintSystem
from relations.integers import IntArray
from zenerrors import StatementError

LEAST_SOUNDNESS_BITS: Final = 128


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
        assignment[ONE] = 1
        for name, value in values.items():
            assignment[self.constraint_system.layout[name]] = value
        with Secrets() as secret:
            z = secret(assignment[self.order])
            execution.fill(self.steps.integer, z)
            assignment[self.order] = z
        return assignment

    def witness(self, values: Mapping[str, ArrayLike]) -> FrArray:
        """``assign`` and ``derive``, uint64[variables, 4], Montgomery: what ``groth16.prove`` takes."""
        with Secrets() as secret:
            z = kernels.fr.from_int64(secret(self.assign(values)))
        self.derive(z)
        return z

    def derive(self, z: FrArray) -> None:
        """Fill in, in place, the variables of ``z`` that do not fit into 64 bits."""
        if not self.steps.field:
            return
        with Secrets() as secret:
            wires = secret(z[self.order])
            execution.solve(self.steps.field, wires)
            z[self.order] = wires

    def post_challenge(self, z: FrArray, challenges: FrArray, threads: int = 1) -> None:
        """Fill in, in place, the variables of ``z`` that depend on its challenges: what ``prove`` asks for.

        ``challenges`` are already among the variables of ``z``.
        """
        if not self.steps.post_challenge:
            return
        with Secrets() as secret:
            wires = secret(np.empty((len(self.order), *z.shape[1:]), dtype=z.dtype))
            _gather(z, self.order, wires, threads)
            execution.solve(self.steps.post_challenge, wires, threads)
            _gather(wires, self._private_wires, z[self.constraint_system.first_private :], threads)

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

    @cached_property
    def _private_wires(self) -> IntArray:
        """The wire of each private variable, all of which have one: int64[private]."""
        wires = np.zeros(self.constraint_system.variables, dtype=np.int64)
        wires[self.order] = np.arange(len(self.order))
        return wires[self.constraint_system.first_private :]

    @property
    def soundness_bits(self) -> float:
        """-log2 of the probability that random challenges miss a wrong value: at most ``degree`` / r."""
        return math.log2(kernels.fr.modulus) - math.log2(max(1, self.degree))


def _gather(values: FrArray, places: IntArray, out: FrArray, threads: int) -> None:
    """out[i] = values[places[i]]"""

    def gather(rows: slice) -> None:
        # With any other mode numpy gathers into a buffer first, and copies that.
        np.take(values, places[rows], axis=0, out=out[rows], mode="clip")

    in_chunks(gather, len(places), threads)
