"""The size of a constraint system, from which alone the cost of a proof is estimated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zenserve.prover.constraint_system import ConstraintSystem


@dataclass(frozen=True)
class Size:
    """The numbers that the cost of a constraint system depends on.

    ``rows``: n, a power of two; ``inputs``: public ones and challenges; ``in_a``, ``in_b``: variables that A
    and B read; ``private``, ``committed``: private variables, and those of all segments with the blinding
    ones, less the ``absent`` ones, which occur in no row; ``linked``: points of the links; ``nonzeros``,
    ``largest``: entries of all blocks, and of the largest one; ``folds``: whether public inputs are folded.
    """

    rows: int
    variables: int
    inputs: int
    private: int
    in_a: int
    in_b: int
    nonzeros: int
    absent: int
    largest: int
    segments: int
    committed: int
    links: int
    linked: int
    folds: bool = False

    @classmethod
    def of(cls, system: ConstraintSystem) -> Size:
        survey = system.survey
        absent, absent_committed = (survey.absent, int(np.searchsorted(survey.absent, system.first_private)))
        links = [segment.size + 2 for segment in system.segments if segment.linked]
        return cls(
            rows=_padded(_rows(system)),
            variables=system.variables,
            inputs=system.instance - 1,
            private=system.variables - system.first_private - len(absent) + absent_committed,
            in_a=survey.in_a,
            in_b=survey.in_b,
            nonzeros=int(survey.nonzeros.sum()),
            absent=len(absent),
            largest=int(survey.nonzeros.sum(axis=1).max(initial=0)),
            segments=len(system.segments),
            committed=system.first_private - system.instance - absent_committed,
            links=len(links),
            linked=sum(links),
            folds=system.folded > 0,
        )

    @classmethod
    def planned(cls, constraints: int, *, linked: int, chosen: int) -> Size:
        """About that of a circuit of so many ``constraints`` that is not built yet, from above: each has a
        private variable of its own, and they read the values that are ``linked`` and those that the prover
        has ``chosen`` before challenges. It tells no entries, which memory hardly depends on.
        """
        committed = linked + chosen
        return cls(
            rows=_padded(constraints),
            variables=1 + constraints + committed,
            inputs=1,
            private=constraints,
            in_a=committed,
            in_b=constraints,
            nonzeros=0,
            absent=0,
            largest=0,
            segments=2 if linked else 1,
            committed=committed,
            links=1 if linked else 0,
            linked=linked,
        )

    @classmethod
    def drawn_out(cls, one: ConstraintSystem, two: ConstraintSystem, count: int) -> Size:
        """Return the size of ``count`` parts, extrapolated linearly from ``one`` part and ``two`` parts."""

        def drawn_out(first: int, second: int) -> int:
            return first + (count - 1) * (second - first)

        sizes = cls.of(one), cls.of(two)
        names = (
            "variables",
            "private",
            "in_a",
            "in_b",
            "nonzeros",
            "absent",
            "largest",
            "committed",
            "linked",
        )
        grown: dict[str, Any] = {name: drawn_out(*(getattr(size, name) for size in sizes)) for name in names}
        return replace(sizes[0], **grown, rows=_padded(drawn_out(_rows(one), _rows(two))))


def _rows(system: ConstraintSystem) -> int:
    return system.constraints + len(system.anchored)


def _padded(rows: int) -> int:
    """The next power of two, at least 2."""
    return 1 << max(1, (rows - 1).bit_length())
