"""What is written here is read back the same, and is what a slow reader of the format finds."""

from __future__ import annotations

import dataclasses
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.prover.iden3.support import (
    random_statement,
    rows_of_r1cs,
    rows_of_statement,
    take_apart,
    with_repeats,
)
from tests.prover.statements import CUBIC_Z, EDGES, Committed, Example, R, satisfied
from tests.refusals import refuses
from zenserve.kernels import fr
from zenserve.prover import groth16
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import ProvingKey, VerifyingKey, iden3, powers_of_tau
from zenserve.prover.groth16.iden3 import coefficients, zkey

POINT_ARRAYS = [field.name for field in dataclasses.fields(ProvingKey) if field.name != "verifying_key"]

reusing_files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coefficients, "CHUNK_ROWS", 3)
    monkeypatch.setattr(zkey, "_CHUNK_VARIABLES", 3)


def same(left: ProvingKey, right: ProvingKey) -> bool:
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in POINT_ARRAYS)


@reusing_files
@pytest.mark.usefixtures("small_chunks")
@given(case=satisfied())
def test_constraints_come_back(case: tuple[ConstraintSystem, list[int]], tmp_path: Path) -> None:
    system, z = case
    path = tmp_path / "circuit.r1cs"
    iden3.write_r1cs(path, system)
    assert rows_of_r1cs(take_apart(path.read_bytes()).body(2)) == rows_of_statement(system)
    read = iden3.read_r1cs(path)
    assert (read.public, read.private) == (system.public, system.private)
    assert rows_of_statement(read) == rows_of_statement(system)
    witness = fr.from_ints(z)
    for found, expected in zip(read.evaluate(witness), system.evaluate(witness), strict=True):
        assert np.array_equal(found, expected)


def test_repeated_columns_are_written_once(tmp_path: Path) -> None:
    path = tmp_path / "circuit.r1cs"
    iden3.write_r1cs(path, with_repeats())
    assert rows_of_r1cs(take_apart(path.read_bytes()).body(2)) == [({1: 5}, {}, {})]


@reusing_files
@given(values=st.lists(st.sampled_from([value % R for value in EDGES]), max_size=8))
def test_witnesses_come_back(values: list[int], tmp_path: Path) -> None:
    path = tmp_path / "witness.wtns"
    iden3.write_wtns(path, fr.from_ints(values))
    assert fr.to_ints(iden3.read_wtns(path)) == values
    assert take_apart(path.read_bytes()).body(2) == b"".join(value.to_bytes(32, "little") for value in values)


def test_only_its_owner_can_read_a_new_witness(tmp_path: Path) -> None:
    path = tmp_path / "witness.wtns"
    iden3.write_wtns(path, fr.from_ints(CUBIC_Z))
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(("rows", "public", "private"), [(0, 0, 0), (5, 0, 7), (9, 3, 0), (20, 4, 9)])
def test_proving_keys_come_back(rows: int, public: int, private: int, tmp_path: Path) -> None:
    system, z = random_statement(rows, rows=rows, public=public, private=private)
    key = groth16.setup(system)
    iden3.write_zkey(tmp_path / "key.zkey", key, system)
    read = iden3.read_zkey(tmp_path / "key.zkey", system, threads=2)
    assert same(read, key)
    assert read.verifying_key == dataclasses.replace(key.verifying_key, setup="imported")
    proof = groth16.prove(read, system, fr.from_ints(z))
    assert groth16.verify(key.verifying_key, z[1 : 1 + public], proof.to_bytes())


def test_the_coefficients_of_a_proving_key(example: Example, tmp_path: Path) -> None:
    iden3.write_zkey(tmp_path / "key.zkey", example.key, example.system)
    body = take_apart((tmp_path / "key.zkey").read_bytes()).body(4)
    entries = [struct.unpack_from("<III32s", body, start) for start in range(4, len(body), 44)]
    assert struct.unpack_from("<I", body) == (len(entries),)
    found = [
        (matrix, row, column, int.from_bytes(value, "little") * pow(2, -512, R) % R)
        for matrix, row, column, value in entries
    ]
    # x · x, x² · x, (x³ + x + 5) · 1, (x + 1) · 1, and then the one and two public inputs.
    expected = [(0, 0, 3, 1), (1, 0, 3, 1), (0, 1, 4, 1), (1, 1, 3, 1)]
    expected += [(0, 2, 0, 5), (0, 2, 3, 1), (0, 2, 5, 1), (1, 2, 0, 1)]
    expected += [(0, 3, 0, 1), (0, 3, 3, 1), (1, 3, 0, 1)]
    assert found == expected + [(0, 4 + s, s, 1) for s in range(3)]


def test_a_proving_key_in_another_order_of_sections_and_coefficients(
    example: Example, tmp_path: Path
) -> None:
    """x + 1 written as 2 x − x + 1, backwards."""
    path = tmp_path / "key.zkey"
    iden3.write_zkey(path, example.key, example.system)
    file = take_apart(path.read_bytes())
    body = file.body(4)
    entries = [body[start : start + 44] for start in range(4, len(body), 44)]
    parts = [
        struct.pack("<III", 0, 3, 3) + (value * pow(2, 512, R) % R).to_bytes(32, "little")
        for value in (2, -1)
    ]
    index = next(i for i, entry in enumerate(entries) if entry[:12] == struct.pack("<III", 0, 3, 3))
    entries[index : index + 1] = parts
    changed = file.replacing({4: struct.pack("<I", len(entries)) + b"".join(reversed(entries))})
    path.write_bytes(changed._replace(sections=changed.sections[::-1]).to_bytes())
    assert same(iden3.read_zkey(path, example.system), example.key)


@pytest.mark.parametrize("power", [1, 3])
def test_powers_of_tau_come_back(power: int, tmp_path: Path) -> None:
    powers = dataclasses.replace(powers_of_tau.generate(power), contributions=3)
    iden3.write_ptau(tmp_path / "powers.ptau", powers)
    read = iden3.read_ptau(tmp_path / "powers.ptau")
    for name in ("tau_g1", "tau_g2", "alpha_g1", "beta_g1", "beta_g2"):
        assert np.array_equal(getattr(read, name), getattr(powers, name))
    assert (read.power, read.contributions) == (power, 0)


def test_verifying_keys_come_back(example: Example) -> None:
    key = example.verifying_key
    text = json.dumps(iden3.export_verifying_key(key))
    read = iden3.import_verifying_key(text, statement_digest=key.statement_digest)
    assert read == dataclasses.replace(key, setup="imported")
    assert iden3.import_verifying_key(text.encode()).statement_digest == iden3.UNKNOWN_STATEMENT


def test_proofs_and_public_inputs_come_back(example: Example) -> None:
    assert iden3.import_proof(json.dumps(iden3.export_proof(example.proof))) == example.proof
    values = [0, 1, R - 1, *example.public]
    assert iden3.import_public_inputs(json.dumps(iden3.export_public_inputs(values))) == values


def test_both_signs_of_y_come_back(example: Example) -> None:
    """The sign of y chooses one of two points that share an x: both must survive."""
    for point in (example.proof.a, flip_sign(example.proof.a)):
        proof = dataclasses.replace(example.proof, a=point, b=flip_sign(example.proof.b))
        assert iden3.import_proof(json.dumps(iden3.export_proof(proof))) == proof


def flip_sign(point: bytes) -> bytes:
    return bytes([point[0] ^ 0x20]) + point[1:]


def test_segments_have_no_place_in_these_files(committed: Committed, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for write in (
        lambda: iden3.write_r1cs(path, committed.system),
        lambda: iden3.write_zkey(path, committed.key, committed.system),
        lambda: iden3.read_zkey(path, committed.system),
        lambda: iden3.export_verifying_key(committed.verifying_key),
        lambda: iden3.export_proof(committed.proof),
    ):
        with refuses("statement.segments"):
            write()
    assert not path.exists()


def test_a_key_is_written_for_its_own_statement_only(example: Example, tmp_path: Path) -> None:
    with refuses("statement.key_mismatch"):
        iden3.write_zkey(tmp_path / "key.zkey", example.key, with_repeats())


def test_an_imported_key_says_so(example: Example) -> None:
    key = iden3.import_verifying_key(json.dumps(iden3.export_verifying_key(example.verifying_key)))
    assert key.setup == "imported"
    assert VerifyingKey.from_bytes(key.to_bytes()) == key
