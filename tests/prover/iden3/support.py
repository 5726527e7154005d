"""iden3's files in the slow, obvious way, to judge the readers and writers by and to spoil files with."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.prover.statements import R, csr
from zenserve.prover.blocks import Csr, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem

VECTORS = Path(__file__).parents[1] / "vectors" / "iden3"

Row = dict[int, int]


class File(NamedTuple):
    """A container taken apart."""

    magic: bytes
    version: int
    sections: list[tuple[int, bytes]]

    def to_bytes(self) -> bytes:
        header = struct.pack("<4sII", self.magic, self.version, len(self.sections))
        return header + b"".join(
            struct.pack("<IQ", number, len(body)) + body for number, body in self.sections
        )

    def body(self, number: int) -> bytes:
        (body,) = (body for found, body in self.sections if found == number)
        return body

    def replacing(self, bodies: Mapping[int, bytes]) -> File:
        changed = [(number, bodies.get(number, body)) for number, body in self.sections]
        return self._replace(sections=changed)

    def patching(self, number: int, offset: int, data: bytes) -> File:
        """With ``data`` written over the section's bytes from ``offset`` on."""
        body = self.body(number)
        offset %= len(body)
        return self.replacing({number: body[:offset] + data + body[offset + len(data) :]})

    def without(self, number: int) -> File:
        return self._replace(sections=[section for section in self.sections if section[0] != number])


def take_apart(data: bytes) -> File:
    magic, version, count = struct.unpack_from("<4sII", data)
    position, sections = 12, []
    for _ in range(count):
        number, length = struct.unpack_from("<IQ", data, position)
        position += 12
        sections.append((number, data[position : position + length]))
        position += length
    assert position == len(data)
    return File(magic, version, sections)


def rows_of_r1cs(body: bytes) -> list[tuple[Row, Row, Row]]:
    """The constraints of section 2; no wire may occur twice in a combination, no coefficient be zero."""
    position = 0

    def combination() -> Row:
        nonlocal position
        (terms,) = struct.unpack_from("<I", body, position)
        position += 4
        row: Row = {}
        for _ in range(terms):
            (wire,) = struct.unpack_from("<I", body, position)
            value = int.from_bytes(body[position + 4 : position + 36], "little")
            position += 36
            assert wire not in row
            assert 0 < value < R
            row[wire] = value
        return row

    rows = []
    while position < len(body):
        rows.append((combination(), combination(), combination()))
    return rows


def rows_of_statement(system: ConstraintSystem) -> list[tuple[Row, Row, Row]]:
    """The constraints of a statement, entries that share a place added up, zeros left out."""
    rows = []
    for _, matrices in system.matrices():
        rows += list(zip(*(_rows(matrix) for matrix in matrices), strict=True))
    return rows


def _rows(matrix: Csr) -> list[Row]:
    rows = []
    for row in range(matrix.rows):
        sums: Row = {}
        for entry in range(matrix.offsets[row], matrix.offsets[row + 1]):
            column = int(matrix.columns[entry])
            sums[column] = (sums.get(column, 0) + matrix.pool[matrix.coefficients[entry]]) % R
        rows.append({column: value for column, value in sums.items() if value})
    return rows


def random_statement(
    seed: int, *, rows: int, public: int, private: int
) -> tuple[ConstraintSystem, list[int]]:
    """A sparse statement and all its variables; each row is closed by the constant column of C."""
    source = random.Random(seed)
    z = [1, *(source.choice([source.randrange(R), source.randrange(256)]) for _ in range(public + private))]

    def row() -> Row:
        columns = source.sample(range(len(z)), min(len(z), source.randrange(4)))
        return {column: source.choice([1, -1, source.randrange(R)]) for column in columns}

    def value(terms: Row) -> int:
        return sum(coefficient * z[column] for column, coefficient in terms.items())

    a, b, c = ([row() for _ in range(rows)] for _ in range(3))
    for left, right, out in zip(a, b, c, strict=True):
        out[0] = out.get(0, 0) + value(left) * value(right) - value(out)
    return ConstraintSystem(public, private, (SparseBlock("random", csr(a), csr(b), csr(c)),)), z


def with_repeats() -> ConstraintSystem:
    """One row (2 x + 3 x + 0 y) · (y − y) = 0, written so."""
    columns, coefficients = np.array([1, 1, 2], np.uint32), np.array([0, 1, 2], np.uint32)
    a = Csr(np.array([0, 3]), columns, coefficients, (2, 3, 0))
    b = Csr(np.array([0, 2]), np.array([2, 2], np.uint32), np.array([0, 1], np.uint32), (1, R - 1))
    return ConstraintSystem(1, 1, (SparseBlock("repeats", a, b, Csr.empty(1)),))
