"""Constraint systems as iden3's ``.r1cs`` files.

Layout (https://github.com/iden3/r1csfile/blob/master/doc/r1cs_bin_format.md): section 1 the header, 2 the
constraints, three linear combinations each, 3 a label for every wire. A wire is a variable; wire 0 is the
constant one, then come public outputs, public inputs and the rest: the order of ``ConstraintSystem``.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.errors import FileFormatError
from zenserve.kernels import fr
from zenserve.prover.blocks import Csr, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16.iden3 import binfile
from zenserve.prover.groth16.iden3.binfile import Bytes, Reader
from zenserve.prover.groth16.iden3.coefficients import Entries, chunks
from zenserve.prover.groth16.iden3.elements import check_scalars
from zenserve.prover.groth16.iden3.plain import require_plain

_HEADER, _CONSTRAINTS, _LABELS, _CUSTOM_GATES, _CUSTOM_GATE_USES = range(1, 6)
_COUNTS = struct.Struct("<4IQI")
_TERM_WORDS = 9  # of 32 bits: a wire and its coefficient
_LABEL_BYTES = 8


class _Header(NamedTuple):
    wires: int
    public: int
    constraints: int


def write_r1cs(path: str | os.PathLike[str], system: ConstraintSystem) -> None:
    """Write ``system`` to ``path``, with its private variables as private inputs, all of them.

    Raises ``StatementError`` (``statement.segments``) where the statement has segments.
    """
    require_plain(system.segments, "the statement")
    wires = system.variables
    counts = _COUNTS.pack(wires, 0, system.public, system.private, wires, system.constraints)
    with open(path, "wb") as file:
        binfile.write_header(file, binfile.R1CS, 3)
        binfile.write_section(file, _HEADER, [binfile.modulus_header(fr.modulus) + counts])
        binfile.write_section(file, _CONSTRAINTS, _constraints(system))
        binfile.write_section(file, _LABELS, [np.arange(wires, dtype="<u8").data])


def read_r1cs(path: str | os.PathLike[str]) -> ConstraintSystem:
    """The statement in the file at ``path``: one block named "r1cs".

    Raises ``FileFormatError``: ``file.length``, ``file.magic``, ``file.version``, ``file.section``,
    ``file.curve``, ``file.shape``, ``file.not_canonical``, and ``file.custom_gates`` for gates that Groth16
    does not have.
    """
    sections = binfile.read(path, binfile.R1CS, (_HEADER, _CONSTRAINTS, _LABELS))
    header = _read_header(sections[_HEADER])
    for number in (_CUSTOM_GATES, _CUSTOM_GATE_USES):
        if number in sections and Reader(sections[number], "the list of custom gates").u32():
            raise FileFormatError("file.custom_gates", "the circuit has custom gates: Groth16 has none")
    if len(sections[_LABELS]) != _LABEL_BYTES * header.wires:
        raise FileFormatError("file.length", f"the file does not hold labels for {header.wires} wires")
    a, b, c = _read_constraints(sections[_CONSTRAINTS], header)
    private = header.wires - 1 - header.public
    return ConstraintSystem(header.public, private, (SparseBlock("r1cs", a, b, c),))


def _constraints(system: ConstraintSystem) -> Iterator[memoryview]:
    for rows, matrices in chunks(system):
        yield _linear_combinations(rows, matrices).data


def _linear_combinations(rows: slice, matrices: tuple[Entries, Entries, Entries]) -> NDArray[np.uint32]:
    """For each row those of A, B and C: the number of terms, then each term's wire and coefficient."""
    terms = np.stack(
        [np.bincount(matrix.row - rows.start, minlength=rows.stop - rows.start) for matrix in matrices],
        axis=1,
    )
    lengths = 1 + _TERM_WORDS * terms.reshape(-1)
    starts = (np.cumsum(lengths) - lengths).reshape(terms.shape)
    words = np.empty(int(lengths.sum()), dtype=np.uint32)
    words[starts] = terms
    for matrix, start, count in zip(matrices, starts.T, terms.T, strict=True):
        at = _positions(start, count)
        words[at] = matrix.column
        words[at[:, None] + np.arange(1, _TERM_WORDS)] = fr.to_canonical(matrix.value).view(np.uint32)
    return words


def _positions(start: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the starts of the terms of linear combinations at ``start``, ``count`` terms each."""
    before = np.cumsum(count) - count
    return np.repeat(start + 1 - _TERM_WORDS * before, count) + _TERM_WORDS * np.arange(int(count.sum()))


def _read_header(body: Bytes) -> _Header:
    reader = Reader(body, "the header")
    reader.modulus(fr.modulus)
    wires, outputs, inputs, private_inputs, _, constraints = _COUNTS.unpack(
        reader.take(_COUNTS.size).tobytes()
    )
    reader.finish()
    if 1 + outputs + inputs + private_inputs > wires:
        raise FileFormatError("file.shape", f"{wires} wires do not hold one, outputs and inputs")
    return _Header(wires, outputs + inputs, constraints)


def _read_constraints(body: Bytes, header: _Header) -> Iterator[Csr]:
    if len(body) % 4:
        raise FileFormatError("file.length", "the constraints are cut short")
    words = np.frombuffer(body.tobytes(), dtype=np.uint32)
    starts = _scan(words, 3 * header.constraints).reshape(-1, 3)
    return (_matrix(words, start, header.wires) for start in starts.T)


def _scan(words: NDArray[np.uint32], count: int) -> NDArray[np.int64]:
    """Return the starts of ``count`` linear combinations: the first word of each is its number of terms."""
    if count > len(words):
        raise FileFormatError("file.length", f"{len(words)} words do not hold {count} linear combinations")
    view, size, position = words.data, len(words), 0
    starts = np.empty(count, dtype=np.int64)
    for index in range(count):
        if position >= size:
            raise FileFormatError("file.length", f"the constraints are cut short in row {index // 3}")
        starts[index] = position
        position += 1 + _TERM_WORDS * view[position]
    if position != size:
        raise FileFormatError("file.length", "the constraints do not end where their section does")
    return starts


def _matrix(words: NDArray[np.uint32], start: NDArray[np.int64], wires: int) -> Csr:
    count = words[start].astype(np.int64)
    at = _positions(start, count)
    columns = words[at]
    if len(columns) and int(columns.max()) >= wires:
        raise FileFormatError("file.shape", f"a constraint names wire {columns.max()}, there are {wires}")
    values = words[at[:, None] + np.arange(1, _TERM_WORDS)]
    check_scalars(values.view(np.uint64), "coefficients")
    pool, coefficients = np.unique(values.view("V32").reshape(-1), return_inverse=True)
    return Csr(
        np.concatenate([[0], np.cumsum(count)]),
        columns,
        coefficients.astype(np.uint32),
        tuple(int.from_bytes(value.tobytes(), "little") for value in pool),
    )
