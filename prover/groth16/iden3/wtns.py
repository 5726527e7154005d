"""Witnesses as iden3's ``.wtns`` files: section 1 the field and a count, section 2 the values."""

from __future__ import annotations

import os
import struct

from zenserve.base.randomness import Secrets
from zenserve.kernels import FrArray, fr
from zenserve.prover.groth16.iden3 import binfile
from zenserve.prover.groth16.iden3.binfile import Reader
from zenserve.prover.groth16.iden3.elements import scalars

_HEADER, _VALUES = 1, 2


def write_wtns(path: str | os.PathLike[str], witness: FrArray) -> None:
    """Write ``witness`` (uint64[variables, 4], Montgomery, in the statement's order) to ``path``.

    The file holds every secret of the witness in the clear: a new one is readable by its owner only, and
    whoever asked for it erases it.
    """
    header = binfile.modulus_header(fr.modulus) + struct.pack("<I", len(witness))
    with open(path, "wb", opener=_for_owner_only) as file, Secrets() as secret:
        binfile.write_header(file, binfile.WTNS, 2)
        binfile.write_section(file, _HEADER, [header])
        binfile.write_section(file, _VALUES, [secret(fr.to_canonical(witness)).data])


def read_wtns(path: str | os.PathLike[str]) -> FrArray:
    """The witness in the file at ``path``: uint64[variables, 4], Montgomery. A secret: the caller's to erase.

    Raises ``FileFormatError``: ``file.length``, ``file.magic``, ``file.version``, ``file.section``,
    ``file.curve``, ``file.not_canonical``.
    """
    sections = binfile.read(path, binfile.WTNS, (_HEADER, _VALUES))
    reader = Reader(sections[_HEADER], "the header")
    reader.modulus(fr.modulus)
    count = reader.u32()
    reader.finish()
    with Secrets() as secret:
        return fr.from_canonical(secret(scalars(sections[_VALUES], count, "witness")))


def _for_owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
