"""The proving key: the bases of the multi-scalar multiplications, as arrays or mapped from a file."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.base import container
from zenserve.base.container import Section
from zenserve.errors import FileFormatError
from zenserve.kernels import fr, g1, g2
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.preamble import PROVING_KEY

Points = NDArray[np.uint64]

_G1: Final = Section("<u8", (2, 6))
_G2: Final = Section("<u8", (2, 2, 6))
_COLUMNS: Final = Section("<u4")
SECTIONS: Final = {
    "verifying_key": Section("|u1"),
    "beta_g1": _G1,
    "delta_g1": _G1,
    "a_columns": _COLUMNS,
    "a": _G1,
    "b_columns": _COLUMNS,
    "b_g1": _G1,
    "b_g2": _G2,
    "absent": _COLUMNS,
    "private": _G1,
    "quotient": _G1,
    "segments": _G1,
    "knowledge": _G1,
    "links": _G1,
    "quotient_multiples": Section("<u8", (2, 6), optional=True),
}
"""The sections of a proving key's file."""

MULTIPLIERS: Final = fr.from_ints([1 << 64, 1 << 128, 1 << 192])
"""With these multiples of its bases a sum is faster (docs/kernels.md)."""

MOST_MULTIPLIED: Final = 1 << 18
"""Sums over more points gain little by multiples. The quotient's scalars fill the field in every proof, those
of witnesses are small mostly: its points alone have them."""


def multiples(points: Points, threads: int) -> Points:
    """Return the quotient points' multiples; none if there are more than ``MOST_MULTIPLIED`` points.

    For a key whose points have logarithms that nobody knows.
    """
    if len(points) > MOST_MULTIPLIED:
        return points[:0]
    return np.concatenate([g1.mul(points, factor, threads=threads) for factor in MULTIPLIERS])


WITNESS_SECTIONS: Final = ("private", "a", "b_g1", "b_g2")
"""The sections that a proof sums over its witness."""


@dataclass(frozen=True, eq=False)
class ProvingKey:
    """Points are affine, Montgomery: G1 uint64[count, 2, 6], G2 uint64[count, 2, 2, 6], infinity all zero.

    ``a[i]`` = [A_j(τ)]_1 for the variable j = ``a_columns[i]``; variables absent from A have no entry.
    ``b_g1``, ``b_g2`` and ``b_columns`` likewise. ``absent``: the variables behind the inputs that occur in
    no row; ``private``, ``segments`` and ``knowledge`` have no entry for them. ``private`` holds [(β A_j + α
    B_j + C_j)(τ) / δ]_1 for each other private variable. ``quotient[i]`` = [L_i(τ) / δ]_1, L_i the Lagrange
    polynomial over the domain of size 2n of its odd element 2i + 1, in keys from ceremonies modulo X^(n-1)
    (X^n - 1), which makes no difference to their sums; ``quotient_multiples``: those, each times one of
    ``MULTIPLIERS``, then times the next, or none. ``beta_g1`` and ``delta_g1`` are single points:
    uint64[1, 2, 6].

    ``segments``: K_j = [(β A_j + α B_j + C_j)(τ) / γ]_1 for the variables of each segment, the blinding ones
    included; ``knowledge``: σ_s K_j for the same; ``links``: for each linked segment k_1 K_i + k_2 U_i for
    its variables, then k_1 K_j for its blinding variable, then k_2 H
    (``zenserve.prover.groth16.commitment``).

    A proving key is trusted as its setup is: whoever can change it can make proofs fail, or leak.
    """

    verifying_key: VerifyingKey
    beta_g1: Points
    delta_g1: Points
    a_columns: NDArray[np.uint32]
    a: Points
    b_columns: NDArray[np.uint32]
    b_g1: Points
    b_g2: Points
    absent: NDArray[np.uint32]
    private: Points
    quotient: Points
    segments: Points
    knowledge: Points
    links: Points
    quotient_multiples: Points

    @property
    def statement_digest(self) -> bytes:
        """``ConstraintSystem.digest`` of the statement that the key was made for. 32 bytes."""
        return self.verifying_key.statement_digest

    @cached_property
    def alpha_g1(self) -> Points:
        """uint64[1, 2, 6]."""
        return g1.decompress(self.verifying_key.alpha_g1)

    @cached_property
    def beta_g2(self) -> Points:
        """uint64[1, 2, 2, 6]."""
        return g2.decompress(self.verifying_key.beta_g2)

    @cached_property
    def delta_g2(self) -> Points:
        """uint64[1, 2, 2, 6]."""
        return g2.decompress(self.verifying_key.delta_g2)

    def present(self, variables: slice) -> NDArray[np.int64]:
        """A run of variables behind the inputs, without the absent ones."""
        missing = self.absent[slice(*np.searchsorted(self.absent, (variables.start, variables.stop)))]
        return np.delete(np.arange(variables.start, variables.stop), missing - np.int64(variables.start))

    def variables(self, section: str, system: ConstraintSystem) -> NDArray[np.integer]:
        """The variable of each point of a witness section, ascending."""
        if section == "private":
            return self.present(slice(system.first_private, system.variables))
        return self.a_columns if section == "a" else self.b_columns

    def committed(self, variables: slice) -> slice:
        """Return the slice of ``segments`` and ``knowledge`` that belongs to a run of variables."""
        first = len(self.verifying_key.ic)
        start, stop = (
            bound - first - int(np.searchsorted(self.absent, bound))
            for bound in (variables.start, variables.stop)
        )
        return slice(start, stop)

    def linked(self, segment: int) -> Points:
        """The part of ``links`` that belongs to a linked segment."""
        sizes = [part.size + 2 if part.link_g2 is not None else 0 for part in self.verifying_key.segments]
        return self.links[sum(sizes[:segment]) :][: sizes[segment]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the key to ``path``, atomically (docs/formats.md)."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays["verifying_key"] = np.frombuffer(self.verifying_key.to_bytes(), dtype=np.uint8)
        container.write(path, PROVING_KEY, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, check_hash: bool = True) -> ProvingKey:
        """Map the key at ``path`` into memory and check it; its points are paged in as they are used.

        ``check_hash=False`` spares reading the whole file, for a file that this machine has checked before.
        Raises ``FileFormatError`` with a code ``file.*``.
        """
        arrays: dict[str, Any] = container.read(path, PROVING_KEY, SECTIONS, check_hash=check_hash)
        verifying_key = VerifyingKey.from_bytes(arrays.pop("verifying_key").tobytes())
        key = cls(verifying_key, **arrays)
        key._check_shapes()
        return key

    def _check_shapes(self) -> None:
        key = self.verifying_key
        inputs = len(key.ic)
        committed = sum(segment.size + 1 for segment in key.segments)
        variables = inputs + len(self.segments) + len(self.private) + len(self.absent)
        rows = len(self.quotient)
        plausible = {
            "beta_g1": len(self.beta_g1) == 1,
            "delta_g1": len(self.delta_g1) == 1,
            "a_columns": len(self.a_columns) == len(self.a) and _are_columns(self.a_columns, variables),
            "b_columns": len(self.b_columns) == len(self.b_g1) == len(self.b_g2)
            and _are_columns(self.b_columns, variables),
            "absent": _are_columns(self.absent, variables) and not np.any(self.absent < inputs),
            "quotient": rows >= inputs + len(key.segments) and rows & (rows - 1) == 0,
            "quotient_multiples": len(self.quotient_multiples) in (0, len(MULTIPLIERS) * rows),
            "segments": len(self.segments) == committed - np.count_nonzero(self.absent < inputs + committed),
            "knowledge": len(self.knowledge) == len(self.segments),
            "links": len(self.links)
            == sum(segment.size + 2 for segment in key.segments if segment.link_g2 is not None),
        }
        for field, fits in plausible.items():
            if not fits:
                raise FileFormatError("file.shape", f"{field} does not fit the rest of the key", field=field)


def _are_columns(columns: NDArray[np.uint32], variables: int) -> bool:
    """Return whether ``columns`` ascend strictly and stay below ``variables``."""
    return len(columns) == 0 or bool(np.all(columns[1:] > columns[:-1]) and int(columns[-1]) < variables)
