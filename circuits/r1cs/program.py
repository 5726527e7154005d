"""A statement with the steps that fill in its witness."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zenserve.base.parallel import run
from zenserve.base.randomness import Secrets, random_elements
from zenserve.circuits.r1cs import execution
from zenserve.circuits.r1cs.linear import ONE
from zenserve.circuits.r1cs.steps import Step, Steps
from zenserve.errors import ResourceError, StatementError
from zenserve.kernels import FrArray, fr
from zenserve.prover.backends import Backend
from zenserve.prover.backends.cpu import CPU
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.witness import DeviceWitness, Witness
from zenserve.relations.integers import IntArray

if TYPE_CHECKING:
    from zenserve.circuits.r1cs.resident import ResidentSteps

LEAST_SOUNDNESS_BITS: Final = 128
# Wires that one thread moves at a time.
_AT_ONCE: Final = 1 << 16
_LOADING: Final = Lock()


class _Run(NamedTuple):
    """Wires, and the variables that they are, in the same order."""

    wires: slice
    variables: slice


@dataclass(frozen=True, eq=False)
class Program:
    """The result of ``Builder.program``. Steps number wires as they were taken; ``order`` hides that.

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

    def witness(self, values: Mapping[str, ArrayLike], threads: int = 1, on: Backend = CPU) -> FrArray:
        """``assign`` and ``derive``, uint64[variables, 4], Montgomery: what ``groth16.prove`` takes.

        On a GPU it is a ``DeviceWitness`` of the same elements, which stays there; where there is no room for
        that, the processor makes it.
        """
        if on.index is not None:
            try:
                made: FrArray = self._on_device(on.index, values)
                return made
            except ResourceError:
                pass
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

    def post_challenge(self, z: Witness, challenges: FrArray, threads: int = 1) -> None:
        """Fill in, in place, the variables of ``z`` that depend on its challenges: what ``prove`` asks for.

        ``challenges`` are already among the variables of ``z``.
        """
        if isinstance(z, DeviceWitness):
            self.resident(z.device.index).post_challenge(z.array)
            return
        execution.solve(self._challenged, z, self._variables, threads)

    def _filled(self, values: Mapping[str, ArrayLike], threads: int) -> IntArray:
        """Return the values that ``assign`` gives the wires: int64[wires]."""
        z = np.zeros(len(self.order), dtype=np.int64)
        z[ONE] = 1
        wires, given = self._given(values)
        z[wires] = given
        execution.fill(self.steps.integer, z, threads)
        return z

    def _given(self, values: Mapping[str, ArrayLike]) -> tuple[IntArray, IntArray]:
        """The wires of these groups, and what they hold: int64[n] each."""
        nothing = np.zeros(0, dtype=np.int64)
        wires = [self._wires(self.constraint_system.layout[name]) for name in values]
        pairs = zip(values.values(), wires, strict=True)
        given = [np.broadcast_to(value, group.shape).ravel() for value, group in pairs]
        return (
            np.concatenate([nothing, *(group.ravel() for group in wires)]),
            np.concatenate([nothing, *given], dtype=np.int64),
        )

    def check(self, z: FrArray, threads: int = 1) -> None:
        """Hold a witness against every constraint, as ``groth16.prove`` would, with challenges that nobody
        drew from commitments. Completes ``z`` in place.

        Raises ``StatementError`` (``statement.unsatisfied``), which names the first row that fails.
        """
        constraint_system = self.constraint_system
        drawn = random_elements(constraint_system.challenges)
        if constraint_system.folded:
            drawn[-1] = constraint_system.fold(z, drawn[0])
        z[1 + constraint_system.public : constraint_system.instance] = drawn
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

    def _on_device(self, index: int, values: Mapping[str, ArrayLike]) -> Any:
        return self.resident(index).witness(*self._given(values))

    def resident(self, index: int) -> ResidentSteps:
        """The steps on the GPU of this index, as long as the program is held."""
        from zenserve.circuits.r1cs.resident import ResidentSteps
        from zenserve.prover.backends.gpu import backend

        with _LOADING:
            if index not in self._residents:
                device, variables = backend(index).device, self.constraint_system.variables
                self._residents[index] = ResidentSteps(device, self.steps, self.order, variables)
            return self._residents[index]

    @cached_property
    def _residents(self) -> dict[int, ResidentSteps]:
        return {}

    @property
    def soundness_bits(self) -> float:
        """-log2 of the probability that random challenges miss a wrong value: at most ``degree`` / r."""
        return math.log2(fr.modulus) - math.log2(max(1, self.degree))
