"""Proving keys as snarkjs' ``.zkey`` files for Groth16.

Section 1 the protocol; 2 fields, sizes and single points; 3 the points of the public inputs; 4 the
coefficients of A and B, the rows of the public inputs included, each as value · R² modulo r; 5 to 7 A in G1,
B in G1 and in G2, for every variable; 8 the private variables; 9 the bases of the quotient, as ``ProvingKey``
defines them; 10 what the contributors to a ceremony left, which no prover reads and no key here could tell.

C is in the points alone: nothing in the file shows which C they were made from.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.errors import FileFormatError, StatementError
from zenserve.kernels import Group, WordArray, fp, fr, g1, g2
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import qap
from zenserve.prover.groth16.iden3 import binfile
from zenserve.prover.groth16.iden3.binfile import Bytes, Reader
from zenserve.prover.groth16.iden3.coefficients import Entries, chunks, merged
from zenserve.prover.groth16.iden3.elements import check_scalars, point, points
from zenserve.prover.groth16.iden3.plain import require_plain
from zenserve.prover.groth16.point_arrays import pairings_cancel, random_weights
from zenserve.prover.groth16.proving_key import ProvingKey, multiples
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.points import G1_BYTES
from zenserve.verifier.system import IMPORTED

_PROTOCOL, _HEADER, _IC, _COEFFICIENTS, _A, _B1, _B2, _PRIVATE, _QUOTIENT = range(1, 10)
_GROTH16 = 1
_CHUNK_VARIABLES = 1 << 14
_COEFFICIENT: Final = np.dtype([("matrix", "<u4"), ("row", "<u4"), ("column", "<u4"), ("value", "<u8", (4,))])
_NO_POINTS = np.zeros((0, *g1.shape), dtype=np.uint64)


class _Points(NamedTuple):
    """The single points, uint64[1, ...] each, in the order of the header."""

    alpha_g1: WordArray
    beta_g1: WordArray
    beta_g2: WordArray
    gamma_g2: WordArray
    delta_g1: WordArray
    delta_g2: WordArray


def write_zkey(path: str | os.PathLike[str], key: ProvingKey, system: ConstraintSystem) -> None:
    """Write ``key``, which is that of ``system``, to ``path``.

    Raises ``StatementError``: ``statement.segments`` where the statement has segments,
    ``statement.key_mismatch`` where the key was made for another one.
    """
    require_plain(system.segments, "the statement")
    if key.statement_digest != system.digest:
        raise StatementError("statement.key_mismatch", "the proving key was made for another statement")
    verifying_key, variables = key.verifying_key, system.variables
    sizes = struct.pack("<3I", variables, system.public, len(key.quotient))
    fields = [binfile.modulus_header(field.modulus) for field in (fp, fr)]
    singles = _Points(
        key.alpha_g1,
        key.beta_g1,
        key.beta_g2,
        g2.decompress(verifying_key.gamma_g2),
        key.delta_g1,
        key.delta_g2,
    )
    with open(path, "wb") as file:
        binfile.write_header(file, binfile.ZKEY, 9)
        binfile.write_section(file, _PROTOCOL, [struct.pack("<I", _GROTH16)])
        binfile.write_section(file, _HEADER, [*fields, sizes, *(single.data for single in singles)])
        binfile.write_section(file, _IC, [g1.decompress(b"".join(verifying_key.ic)).data])
        binfile.write_section(file, _COEFFICIENTS, _coefficients(system))
        binfile.write_section(file, _A, _spread(key.a_columns, key.a, variables))
        binfile.write_section(file, _B1, _spread(key.b_columns, key.b_g1, variables))
        binfile.write_section(file, _B2, _spread(key.b_columns, key.b_g2, variables))
        present = key.present(slice(system.first_private, variables)) - system.first_private
        binfile.write_section(file, _PRIVATE, _spread(present, key.private, system.private))
        binfile.write_section(file, _QUOTIENT, [np.ascontiguousarray(key.quotient).data])


def read_zkey(path: str | os.PathLike[str], system: ConstraintSystem, *, threads: int = 1) -> ProvingKey:
    """The key in the file at ``path`` as one for ``system``, labelled "imported".

    Sizes and the coefficients of A and B must be the statement's, every point on its curve and in its
    subgroup, B, β and δ in G1 and in G2 the same. Whether C is the statement's, and whether the key came
    from the powers of tau that it is said to come from, ``snarkjs zkey verify`` shows, nothing here.
    ``threads`` share the checks of subgroups, which take most of the time.

    Raises ``StatementError`` (``statement.segments``), and ``FileFormatError``: ``file.length``,
    ``file.magic``, ``file.version``, ``file.kind``, ``file.section``, ``file.curve``, ``file.shape``,
    ``file.not_canonical``, ``file.point_*``; ``file.statement`` where the key belongs to another statement;
    ``file.unsafe_key``, also for a key that nobody has contributed to.
    """
    require_plain(system.segments, "the statement")
    sections = binfile.read(path, binfile.ZKEY, range(_PROTOCOL, _QUOTIENT + 1))
    reader = Reader(sections[_PROTOCOL], "the protocol")
    protocol = reader.u32()
    reader.finish()
    if protocol != _GROTH16:
        raise FileFormatError("file.kind", f"the key is for protocol {protocol}, Groth16 is {_GROTH16}")
    singles = _read_header(sections[_HEADER], system)
    _check_coefficients(sections[_COEFFICIENTS], system)

    def take(number: int, count: int, group: Group, name: str) -> WordArray:
        return points(sections[number], count, group, name, threads=threads)

    variables = system.variables
    a, b_g1 = take(_A, variables, g1, "a"), take(_B1, variables, g1, "b_g1")
    b_g2 = take(_B2, variables, g2, "b_g2")
    a_columns, b_columns = _support(g1, a), _support(g2, b_g2)
    if not np.array_equal(_support(g1, b_g1), b_columns):
        raise FileFormatError("file.shape", "B in G1 and B in G2 have different variables", field="b_g1")
    private = take(_PRIVATE, system.private, g1, "private")
    present = ~g1.is_infinity(private)
    weights = random_weights(variables)
    _check_twins(
        "b", *(group.msm(b, weights, threads=threads)[None] for group, b in ((g1, b_g1), (g2, b_g2)))
    )
    verifying_key = _verifying_key(singles, take(_IC, system.instance, g1, "ic"), system.digest)
    quotient = take(_QUOTIENT, 1 << qap.log_domain_size(system), g1, "quotient")
    return ProvingKey(
        verifying_key,
        beta_g1=singles.beta_g1,
        delta_g1=singles.delta_g1,
        a_columns=a_columns,
        a=a[a_columns],
        b_columns=b_columns,
        b_g1=b_g1[b_columns],
        b_g2=b_g2[b_columns],
        absent=np.flatnonzero(~present).astype(np.uint32) + np.uint32(system.instance),
        private=private[present],
        quotient=quotient,
        segments=_NO_POINTS,
        knowledge=_NO_POINTS,
        links=_NO_POINTS,
        quotient_multiples=multiples(quotient, threads),
    )


def _coefficients(system: ConstraintSystem) -> Iterator[bytes | memoryview]:
    """The body of section 4: how many entries, then the entries, by row."""
    count = sum(len(a.row) + len(b.row) for _, (a, b) in _rows(system))
    yield struct.pack("<I", count)
    for _, matrices in _rows(system):
        entries = np.empty(sum(len(matrix.row) for matrix in matrices), dtype=_COEFFICIENT)
        entries["matrix"] = np.repeat((0, 1), [len(matrix.row) for matrix in matrices])
        entries["row"] = np.concatenate([matrix.row for matrix in matrices])
        entries["column"] = np.concatenate([matrix.column for matrix in matrices])
        # Montgomery form holds value · R: read as a plain integer and converted again, value · R².
        entries["value"] = fr.from_canonical(np.concatenate([matrix.value for matrix in matrices]))
        yield entries[np.argsort(entries["row"], kind="stable")].tobytes()


def _rows(system: ConstraintSystem) -> Iterator[tuple[slice, tuple[Entries, Entries]]]:
    """Ranges of rows with their entries of A and B, those that anchor the public inputs last."""
    for rows, (a, b, _) in chunks(system):
        yield rows, (a, b)
    count, public = system.constraints, system.anchored
    anchors = np.arange(count, count + len(public))
    ones = np.tile(qap.element(1), (len(public), 1))
    nothing = np.zeros(0, dtype=np.int64)
    yield (
        slice(count, count + len(public)),
        (Entries(anchors, public, ones), Entries(nothing, nothing, ones[:0])),
    )


def _check_coefficients(body: Bytes, system: ConstraintSystem) -> None:
    """``file.statement`` unless section 4 holds what ``_coefficients`` would write, in whatever order."""
    reader = Reader(body, "the coefficients")
    count = reader.u32()
    entries = reader.take(count * _COEFFICIENT.itemsize).view(_COEFFICIENT)
    reader.finish()
    if count and int(entries["matrix"].max()) > 1:
        raise FileFormatError("file.shape", "a coefficient belongs to neither A nor B", field="coefficients")
    matrices = tuple(_merged(entries[entries["matrix"] == number]) for number in (0, 1))
    for rows, expected in _rows(system):
        for found, wanted in zip(matrices, expected, strict=True):
            part = slice(*np.searchsorted(found.row, (rows.start, rows.stop)).tolist())
            same = (np.array_equal(have[part], want) for have, want in zip(found, wanted, strict=True))
            if not all(same):
                _refuse(f"its coefficients in rows {rows.start} to {rows.stop - 1} are others")
    if any(len(found.row) and int(found.row[-1]) >= rows.stop for found in matrices):
        _refuse(f"it has coefficients beyond row {rows.stop - 1}")


def _merged(entries: NDArray[np.void]) -> Entries:
    value = np.ascontiguousarray(entries["value"]).astype(np.uint64)
    check_scalars(value, "coefficients")
    return merged(entries["row"].astype(np.int64), entries["column"].astype(np.int64), fr.to_canonical(value))


def _spread(columns: NDArray[np.integer], present: WordArray, variables: int) -> Iterator[bytes]:
    """A point for every variable: infinity, all zero, for those that are not in ``columns``."""
    for start in range(0, variables, _CHUNK_VARIABLES):
        stop = min(start + _CHUNK_VARIABLES, variables)
        part = slice(*np.searchsorted(columns, (start, stop)).tolist())
        spread = np.zeros((stop - start, *present.shape[1:]), dtype=np.uint64)
        spread[columns[part] - start] = present[part]
        yield spread.tobytes()


def _support(group: Group, dense: WordArray) -> NDArray[np.uint32]:
    columns: NDArray[np.uint32] = np.flatnonzero(~group.is_infinity(dense)).astype(np.uint32)
    return columns


def _read_header(body: Bytes, system: ConstraintSystem) -> _Points:
    reader = Reader(body, "the header")
    reader.modulus(fp.modulus)
    reader.modulus(fr.modulus)
    expected = {
        "variables": system.variables,
        "public inputs": system.public,
        "rows": 1 << qap.log_domain_size(system),
    }
    for name, value in expected.items():
        found = reader.u32()
        if found != value:
            _refuse(f"it is made for {found} {name}, the statement has {value}")
    groups = (g1, g1, g2, g2, g1, g2)
    singles = _Points(
        *(
            point(reader.take(8 * int(np.prod(group.shape))), group, name)
            for name, group in zip(_Points._fields, groups, strict=True)
        )
    )
    reader.finish()
    _check_twins("beta", singles.beta_g1, singles.beta_g2)
    _check_twins("delta", singles.delta_g1, singles.delta_g2)
    return singles


def _check_twins(name: str, in_g1: WordArray, in_g2: WordArray) -> None:
    """Check that both are one multiple of their generators. Raises ``FileFormatError`` (``file.shape``)."""
    if not pairings_cancel([(in_g1[0], g2.generator), (g1.neg(g1.generator), in_g2[0])]):
        raise FileFormatError(
            "file.shape", f"{name} in G1 and {name} in G2 are different numbers", field=f"{name}_g1"
        )


def _verifying_key(singles: _Points, ic: WordArray, statement_digest: bytes) -> VerifyingKey:
    encoded = g1.compress(ic)
    return VerifyingKey(
        IMPORTED,
        statement_digest,
        g1.compress(singles.alpha_g1),
        g2.compress(singles.beta_g2),
        g2.compress(singles.gamma_g2),
        g2.compress(singles.delta_g2),
        tuple(encoded[start : start + G1_BYTES] for start in range(0, len(encoded), G1_BYTES)),
    )


def _refuse(reason: str) -> None:
    raise FileFormatError(
        "file.statement", f"the key belongs to another statement: {reason}", field="statement"
    )
