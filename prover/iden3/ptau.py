"""Powers of tau as snarkjs' ``.ptau`` files.

Section 1 the header; 2 to 6 the powers, as the fields of ``PowersOfTau`` name them; 7 what each contributor
left. Sections 12 to 15, by ``snarkjs powersoftau prepare phase2``, follow from these and are passed over.
"""

from __future__ import annotations

import os
import struct
from typing import Final

import numpy as np

from kernels import Group, fp, g1, g2
from prover.iden3 import binfile
from prover.iden3.binfile import Bytes, Reader
from prover.iden3.elements import unchecked
from prover.powers_of_tau import MAX_POWER, PowersOfTau
from zenerrors import FileFormatError

_HEADER, _CONTRIBUTIONS = 1, 7
_POINTS: Final[dict[str, tuple[int, Group]]] = {
    "tau_g1": (2, g1),
    "tau_g2": (3, g2),
    "alpha_g1": (4, g1),
    "beta_g1": (5, g1),
    "beta_g2": (6, g2),
}
_G1_BYTES, _G2_BYTES = 96, 192
# Of a contribution: [τ]_1, [τ]_2, [α]_1, [β]_1, [β]_2 after it; the proof that its author knew the factors,
# 6 points of G1 and 3 of G2; the state of a hash, and a hash.
_RESULT_BYTES = 3 * _G1_BYTES + 2 * _G2_BYTES
_EVIDENCE_BYTES = 6 * _G1_BYTES + 3 * _G2_BYTES + 216 + 64
_BY_A_PERSON = 0


def write_ptau(path: str | os.PathLike[str], powers: PowersOfTau) -> None:
    """Write ``powers`` to ``path``, as a file of no contributions.

    What shows snarkjs that a contribution was one is not part of ``PowersOfTau``, so none is claimed.
    """
    header = binfile.modulus_header(fp.modulus) + struct.pack("<2I", powers.power, powers.power)
    with open(path, "wb") as file:
        binfile.write_header(file, binfile.PTAU, 2 + len(_POINTS))
        binfile.write_section(file, _HEADER, [header])
        for name, (number, _) in _POINTS.items():
            binfile.write_section(file, number, [np.ascontiguousarray(getattr(powers, name)).data])
        binfile.write_section(file, _CONTRIBUTIONS, [struct.pack("<I", 0)])


def read_ptau(path: str | os.PathLike[str], *, threads: int = 1) -> PowersOfTau:
    """The powers of tau in the file at ``path``, verified to be powers of one secret.

    Whether the contributions are what the file says, ``snarkjs powersoftau verify`` shows. Beacons are not
    counted: everybody knows their secret.

    Raises ``FileFormatError``: ``file.length``, ``file.magic``, ``file.version``, ``file.section``,
    ``file.curve``, ``file.shape``, ``file.point_*``; ``CeremonyError`` (``ceremony.powers``).
    """
    numbers = [number for number, _ in _POINTS.values()]
    sections = binfile.read(path, binfile.PTAU, (_HEADER, _CONTRIBUTIONS, *numbers))
    power = _read_header(sections[_HEADER])
    n = 1 << power
    counts = {"tau_g1": 2 * n - 1, "tau_g2": n, "alpha_g1": n, "beta_g1": n, "beta_g2": 1}
    arrays = {
        name: unchecked(sections[number], counts[name], group.shape, name)
        for name, (number, group) in _POINTS.items()
    }
    contributions, result = _read_contributions(sections[_CONTRIBUTIONS])
    powers = PowersOfTau(power=power, **arrays, contributions=contributions)
    powers.verify(threads=threads)
    if result not in (b"", _result(powers)):
        raise FileFormatError(
            "file.shape", "the last contribution did not lead to these powers", field="contributions"
        )
    return powers


def _read_header(body: Bytes) -> int:
    reader = Reader(body, "the header")
    reader.modulus(fp.modulus)
    power, ceremony_power = reader.u32(), reader.u32()
    reader.finish()
    if not 1 <= power <= min(ceremony_power, MAX_POWER):
        raise FileFormatError("file.shape", f"2^{power} powers of 2^{ceremony_power} are not plausible")
    return power


def _read_contributions(body: Bytes) -> tuple[int, bytes]:
    """How many people contributed, and which points the last contribution led to."""
    reader = Reader(body, "the list of contributions")
    people, result = 0, b""
    for _ in range(reader.u32()):
        result = reader.take(_RESULT_BYTES).tobytes()
        reader.take(_EVIDENCE_BYTES)
        people += reader.u32() == _BY_A_PERSON
        reader.take(reader.u32())
    reader.finish()
    return people, result


def _result(powers: PowersOfTau) -> bytes:
    """[τ]_1, [τ]_2, [α]_1, [β]_1, [β]_2."""
    points = powers.tau_g1[1], powers.tau_g2[1], powers.alpha_g1[0], powers.beta_g1[0], powers.beta_g2[0]
    return b"".join(point.tobytes() for point in points)
