"""Files that circom and snarkjs made (tests/prover/vectors/iden3), read without either at hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests.prover.iden3.support import VECTORS, rows_of_r1cs, rows_of_statement, take_apart
from zenserve.errors import CeremonyError, FileFormatError
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import ProvingKey, ceremony, iden3

Z = [1, 53, 7, 3, 9, 27]
"""one, y, k, x, x², x³: circom puts outputs before inputs."""
PUBLIC = Z[1:3]


@pytest.fixture(scope="module")
def system() -> ConstraintSystem:
    return iden3.read_r1cs(VECTORS / "circuit.r1cs")


@pytest.fixture(scope="module")
def key(system: ConstraintSystem) -> ProvingKey:
    return iden3.read_zkey(VECTORS / "key.zkey", system)


@pytest.fixture(scope="module")
def witness() -> FrArray:
    return iden3.read_wtns(VECTORS / "witness.wtns")


def test_the_circuit(system: ConstraintSystem) -> None:
    assert (system.public, system.private, system.constraints) == (2, 3, 3)
    assert rows_of_statement(system) == rows_of_r1cs(
        take_apart((VECTORS / "circuit.r1cs").read_bytes()).body(2)
    )


def test_the_witness_satisfies_the_circuit(system: ConstraintSystem, witness: FrArray) -> None:
    assert fr.to_ints(witness) == Z
    a, b, c = system.evaluate(witness)
    assert np.array_equal(fr.mul(a, b), c)


def test_a_proof_with_their_key_verifies(system: ConstraintSystem, key: ProvingKey, witness: FrArray) -> None:
    proof = groth16.prove(key, system, witness)
    theirs = iden3.import_verifying_key((VECTORS / "verification_key.json").read_bytes())
    assert groth16.verify(theirs, PUBLIC, proof.to_bytes())
    assert not groth16.verify(theirs, [PUBLIC[0] + 1, PUBLIC[1]], proof.to_bytes())


def test_their_proof_verifies(key: ProvingKey) -> None:
    proof = iden3.import_proof((VECTORS / "proof.json").read_bytes())
    public = iden3.import_public_inputs((VECTORS / "public.json").read_bytes())
    assert public == PUBLIC
    assert groth16.verify(key.verifying_key, public, proof.to_bytes())
    assert not groth16.verify(key.verifying_key, public[::-1], proof.to_bytes())


def test_key_and_json_hold_the_same_verifying_key(system: ConstraintSystem, key: ProvingKey) -> None:
    read = iden3.import_verifying_key(
        (VECTORS / "verification_key.json").read_bytes(), statement_digest=system.digest
    )
    assert read == key.verifying_key


def test_what_is_written_again_is_what_was_read(
    system: ConstraintSystem, key: ProvingKey, tmp_path: Path
) -> None:
    """Section by section, but for the list of contributions, which is not read."""
    iden3.write_zkey(tmp_path / "key.zkey", key, system)
    written = take_apart((tmp_path / "key.zkey").read_bytes())
    read = take_apart((VECTORS / "key.zkey").read_bytes())
    assert dict(written.sections) == {number: body for number, body in read.sections if number != 10}
    iden3.write_r1cs(tmp_path / "circuit.r1cs", system)
    assert take_apart((tmp_path / "circuit.r1cs").read_bytes()).body(3) == take_apart(
        (VECTORS / "circuit.r1cs").read_bytes()
    ).body(3)


def test_the_key_survives_our_own_format(
    system: ConstraintSystem, key: ProvingKey, witness: FrArray, tmp_path: Path
) -> None:
    key.save(tmp_path / "key.bin")
    loaded = ProvingKey.load(tmp_path / "key.bin")
    assert loaded.verifying_key == key.verifying_key
    assert groth16.verify(key.verifying_key, PUBLIC, groth16.prove(loaded, system, witness).to_bytes())


def test_the_powers_of_tau(key: ProvingKey) -> None:
    """One contributor, and a beacon, which is none; α and β are those of the key."""
    powers = iden3.read_ptau(VECTORS / "powers.ptau", threads=2)
    assert (powers.power, powers.contributions) == (3, 1)
    assert np.array_equal(powers.alpha_g1[:1], key.alpha_g1)
    assert np.array_equal(powers.beta_g1[:1], key.beta_g1)
    assert np.array_equal(powers.beta_g2, key.beta_g2)


def test_a_ceremony_of_ours_on_their_powers(
    system: ConstraintSystem, key: ProvingKey, witness: FrArray
) -> None:
    """It begins where theirs began: what their contributor did not touch is the same."""
    powers = iden3.read_ptau(VECTORS / "powers.ptau")
    state = ceremony.contribute(ceremony.start(system, powers), "somebody")
    ours = ceremony.finish(state, system, powers)
    for name in ("a_columns", "a", "b_columns", "b_g1", "b_g2"):
        assert np.array_equal(getattr(ours, name), getattr(key, name))
    assert ours.verifying_key.ic == key.verifying_key.ic
    proof = groth16.prove(ours, system, witness).to_bytes()
    assert groth16.verify(ours.verifying_key, PUBLIC, proof)
    assert not groth16.verify(key.verifying_key, PUBLIC, proof)


def test_a_file_reduced_to_fewer_powers_is_read(tmp_path: Path) -> None:
    """As ``snarkjs powersoftau truncate`` makes them: the header keeps the ceremony's power."""
    file = take_apart((VECTORS / "powers.ptau").read_bytes())
    kept = {2: 7 * 96, 3: 4 * 192, 4: 4 * 96, 5: 4 * 96}
    reduced = file.replacing({number: file.body(number)[:length] for number, length in kept.items()})
    path = tmp_path / "powers.ptau"
    path.write_bytes(reduced.patching(1, -8, bytes([2])).to_bytes())
    powers = iden3.read_ptau(path)
    assert (powers.power, len(powers.tau_g1), powers.contributions) == (2, 7, 1)


def test_the_first_powers_alone(tmp_path: Path) -> None:
    """They are verified, and the contributions to them; what follows is not, and matters to none of them."""
    file, path = take_apart((VECTORS / "powers.ptau").read_bytes()), tmp_path / "powers.ptau"
    whole, first = iden3.read_ptau(VECTORS / "powers.ptau"), iden3.read_ptau(VECTORS / "powers.ptau", most=2)
    assert (first.power, first.contributions) == (2, 1)
    for name in ("tau_g1", "tau_g2", "alpha_g1", "beta_g1", "beta_g2"):
        assert np.array_equal(getattr(first, name), getattr(whole.first(2), name))
    assert iden3.read_ptau(VECTORS / "powers.ptau", most=9).power == whole.power

    one, other = file.body(2)[6 * 96 : 7 * 96], file.body(2)[-96:]
    path.write_bytes(file.patching(2, -96, one).to_bytes())
    assert iden3.read_ptau(path, most=2).power == 2
    refused = [(file.patching(2, -96, one), 3), (file.patching(2, 6 * 96, other), 2)]
    refused += [(file.patching(7, 4, file.body(2)[5 * 96 : 6 * 96]), 2)]
    for bad, most in refused:
        path.write_bytes(bad.to_bytes())
        with pytest.raises(CeremonyError):
            iden3.read_ptau(path, most=most)
    path.write_bytes(file.replacing({2: file.body(2)[:-96]}).to_bytes())
    with pytest.raises(FileFormatError):
        iden3.read_ptau(path, most=2)


def test_a_key_for_this_circuit_is_for_no_other(system: ConstraintSystem, key: ProvingKey) -> None:
    assert key.statement_digest == system.digest
    assert dataclasses.replace(system, private=4).digest != key.statement_digest
