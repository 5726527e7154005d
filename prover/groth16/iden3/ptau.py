"""Powers of tau as snarkjs' ``.ptau`` files.

Section 1 the header; 2 to 6 the powers, as the fields of ``PowersOfTau`` name them; 7 what each contributor
left (``phase1``). Sections 12 to 15, by ``snarkjs powersoftau prepare phase2``, follow from these and are
passed over.
"""

from __future__ import annotations

import os
import struct
from typing import Final

import numpy as np

from zenserve.errors import FileFormatError
from zenserve.kernels import Group, fp, g1, g2
from zenserve.prover.groth16.iden3 import binfile, phase1
from zenserve.prover.groth16.iden3.binfile import Bytes, Reader
from zenserve.prover.groth16.iden3.elements import unchecked
from zenserve.prover.groth16.iden3.phase1 import Contributor
from zenserve.prover.groth16.powers_of_tau import MAX_POWER, PowersOfTau

_HEADER, _CONTRIBUTIONS = 1, 7
_POINTS: Final[dict[str, tuple[int, Group]]] = {
    "tau_g1": (2, g1),
    "tau_g2": (3, g2),
    "alpha_g1": (4, g1),
    "beta_g1": (5, g1),
    "beta_g2": (6, g2),
}
_MOST_SKIPPED: Final = 6
"""A file may have the first powers of a ceremony for 2^6 times as many: what all of them hash to at first is
computed, which must not take long for a small file.
"""
_NO_MATTER: Final = 20
"""Up to 2^20 powers it takes a second in any case."""


def write_ptau(path: str | os.PathLike[str], powers: PowersOfTau) -> None:
    """Write ``powers`` to ``path``, as a file of no contributions.

    What shows snarkjs that a contribution was one is not part of ``PowersOfTau``, so none is claimed. snarkjs
    contributes to such a file, and can never verify the result: its powers do not begin at the generators.
    """
    header = binfile.modulus_header(fp.modulus) + struct.pack("<2I", powers.power, powers.power)
    with open(path, "wb") as file:
        binfile.write_header(file, binfile.PTAU, 2 + len(_POINTS))
        binfile.write_section(file, _HEADER, [header])
        for name, (number, _) in _POINTS.items():
            binfile.write_section(file, number, [np.ascontiguousarray(getattr(powers, name)).data])
        binfile.write_section(file, _CONTRIBUTIONS, [struct.pack("<I", 0)])


def read_ptau(
    path: str | os.PathLike[str], *, most: int = MAX_POWER, known: bool = False, threads: int = 1
) -> PowersOfTau:
    """The powers of tau in the file at ``path``, verified to be powers of one secret, which the contributions
    in it lead to. Beacons are not counted among these: everybody knows their secret. Of a file that is
    ``known``, verified before and kept, nothing but its layout is checked.

    No more of them than for 2^most rows, as though the file held no more of its ceremony's: what follows is
    neither read nor verified.

    Raises ``FileFormatError``: ``file.length``, ``file.magic``, ``file.version``, ``file.section``,
    ``file.curve``, ``file.shape``, ``file.point_*``; ``CeremonyError`` (``ceremony.powers``,
    ``ceremony.no_contributions``, ``ceremony.contribution``, ``ceremony.beacon``).
    """
    numbers = [number for number, _ in _POINTS.values()]
    sections = binfile.read(path, binfile.PTAU, (_HEADER, _CONTRIBUTIONS, *numbers))
    held, ceremony_power = _read_header(sections[_HEADER])
    power = min(held, most)
    counts, taken = _counts(held), _counts(power)
    arrays = {
        name: unchecked(sections[number], counts[name], group.shape, name, first=taken[name])
        for name, (number, group) in _POINTS.items()
    }
    contributions = phase1.read(sections[_CONTRIBUTIONS])
    people = sum(each.beacon is None for each in contributions)
    powers = PowersOfTau(power=power, **arrays, contributions=people)
    if not known:
        powers.verify(threads=threads)
        phase1.verify(contributions, powers, ceremony_power)
    return powers


def read_contributors(path: str | os.PathLike[str]) -> list[Contributor]:
    """Return the contributors that the file at ``path`` names; ``read_ptau`` verifies their contributions.

    Raises ``FileFormatError`` as ``read_ptau``.
    """
    sections = binfile.read(path, binfile.PTAU, (_CONTRIBUTIONS,))
    return [phase1.contributor(each) for each in phase1.read(sections[_CONTRIBUTIONS])]


def _counts(power: int) -> dict[str, int]:
    """Return the number of points of each kind in the powers for 2^power rows."""
    n = 1 << power
    return {"tau_g1": 2 * n - 1, "tau_g2": n, "alpha_g1": n, "beta_g1": n, "beta_g2": 1}


def _read_header(body: Bytes) -> tuple[int, int]:
    reader = Reader(body, "the header")
    reader.modulus(fp.modulus)
    power, ceremony_power = reader.u32(), reader.u32()
    reader.finish()
    if not 1 <= power <= min(ceremony_power, MAX_POWER):
        raise FileFormatError("file.shape", f"2^{power} powers of 2^{ceremony_power} are not plausible")
    if ceremony_power > max(_NO_MATTER, power + _MOST_SKIPPED):
        raise FileFormatError(
            "file.shape",
            f"2^{power} powers of a ceremony's 2^{ceremony_power} are too few to verify its contributions by:"
            f" take 2^{ceremony_power - _MOST_SKIPPED} or more of them",
        )
    return power, ceremony_power
