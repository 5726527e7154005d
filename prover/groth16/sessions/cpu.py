"""The sums of a proof by the processor's kernels."""

from __future__ import annotations

from functools import partial
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from zenserve.base.progress import Progress
from zenserve.base.randomness import Secrets
from zenserve.kernels import FrArray, Group, WordArray, fr, g1, g2
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import qap
from zenserve.prover.groth16.proving_key import ProvingKey


class CpuSession:
    """``zenserve.prover.groth16.sessions.Session``: each sum is computed when it is asked for."""

    def __init__(
        self, key: ProvingKey, system: ConstraintSystem, z: FrArray, threads: int, report: Progress
    ) -> None:
        self._key = key
        self._statement = system
        self._z = z
        self._threads = threads
        self._report = report
        self._secret = Secrets()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._secret.__exit__(kind, error, trace)

    def committed(self, segment: int) -> tuple[WordArray, WordArray]:
        part = self._statement.segment_ranges[segment]
        bases = self._key.committed(part)
        with Secrets() as secret:
            values = _gather(self._z, self._key.present(part), secret)
            return (
                g1.msm(self._key.segments[bases], values, threads=self._threads),
                g1.msm(self._key.knowledge[bases], values, threads=self._threads),
            )

    def linked(self, segment: int, blinding: FrArray) -> WordArray:
        part = self._statement.segment_ranges[segment]
        with Secrets() as secret:
            scalars = secret(np.concatenate([self._z[part], blinding[None]]))
            return g1.msm(self._key.linked(segment), scalars, threads=self._threads)

    def start(self) -> None:
        pass

    def quotient_sum(self) -> WordArray:
        with Secrets() as secret:
            h = self._quotient(secret)
            multiples = self._key.quotient_multiples if len(self._key.quotient_multiples) else None
            return self._sum(g1, self._key.quotient, h, "msm_quotient", multiples)

    def _quotient(self, keep: Secrets) -> FrArray:
        """−2 h on the odd coset, registered with ``keep``, once every constraint is known to hold."""
        system, log_size = self._statement, qap.log_domain_size(self._statement)
        self._report("constraints", 0.0)
        a, b, c = (np.empty((1 << log_size, 4), dtype=np.uint64) for _ in range(3))
        system.evaluate(self._z, self._threads, out=(a, b, c))
        keep(a)
        with Secrets() as secret:
            secret(b)
            secret(c)
            row = fr.first_unsatisfied(a, b, c, self._threads)
            if row is not None:
                raise system.unsatisfied(row)
            anchored = system.anchored
            a[system.constraints :][: len(anchored)] = secret(self._z[anchored])
            self._report("constraints", 1.0)
            qap.quotient(a, b, c, log_size, self._threads, self._report)
        return a

    def witness_sum(self, section: str) -> WordArray:
        bases, group = getattr(self._key, section), g2 if section == "b_g2" else g1
        with Secrets() as secret:
            scalars = _gather(self._z, self._key.variables(section, self._statement), secret)
            return self._sum(group, bases, scalars, f"msm_{section}")

    def _sum(
        self, group: Group, bases: WordArray, scalars: FrArray, stage: str, multiples: WordArray | None = None
    ) -> WordArray:
        progress = partial(self._report, stage)
        return self._secret(
            group.msm(bases, scalars, multiples=multiples, threads=self._threads, progress=progress)
        )


def _gather(z: FrArray, variables: NDArray[np.integer], secret: Secrets) -> FrArray:
    """``z[variables]``, for ascending variables: a view where they are a run, else a copy to be erased."""
    if len(variables) == 0 or int(variables[-1]) - int(variables[0]) + 1 == len(variables):
        return z[int(variables[0]) :][: len(variables)] if len(variables) else z[:0]
    return secret(z[variables])
