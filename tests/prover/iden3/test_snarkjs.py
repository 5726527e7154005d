"""Both ways with snarkjs itself: what is made here works there, and the reverse. Skipped without node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.prover.iden3.conftest import Snarkjs
from tests.prover.iden3.support import VECTORS, random_statement, take_apart
from tests.prover.statements import Example
from tests.refusals import refuses
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import ProvingKey, ceremony, iden3, powers_of_tau

ROWS, PUBLIC, PRIVATE = 10, 2, 8
POWER = 4
"""2^4 rows hold the statement below; its 2^3 bases of the quotient need no power of tau that is missing."""


@pytest.fixture(scope="module")
def system() -> ConstraintSystem:
    return random_statement(1, rows=ROWS, public=PUBLIC, private=PRIVATE)[0]


@pytest.fixture(scope="module")
def z() -> list[int]:
    return random_statement(1, rows=ROWS, public=PUBLIC, private=PRIVATE)[1]


@pytest.fixture(scope="module")
def key(system: ConstraintSystem) -> ProvingKey:
    return groth16.setup(system)


def dump(path: Path, document: object) -> str:
    path.write_text(json.dumps(document))
    return path.name


def verifies_there(
    snarkjs: Snarkjs, where: Path, key: ProvingKey, system: ConstraintSystem, witness: FrArray
) -> bool:
    """Whether snarkjs accepts a proof made here."""
    proof = groth16.prove(key, system, witness)
    public = fr.to_ints(witness[1 : 1 + system.public])
    files = [
        dump(where / "vk.json", iden3.export_verifying_key(key.verifying_key)),
        dump(where / "public.json", iden3.export_public_inputs(public)),
        dump(where / "proof.json", iden3.export_proof(proof)),
    ]
    return "OK!" in snarkjs("groth16", "verify", *files)


def verifies_here(snarkjs: Snarkjs, where: Path, key: ProvingKey, zkey: str, wtns: str) -> bool:
    """Whether a proof that snarkjs makes from these files is accepted."""
    snarkjs("groth16", "prove", zkey, wtns, "theirs.json", "theirs_public.json")
    proof = iden3.import_proof((where / "theirs.json").read_bytes())
    public = iden3.import_public_inputs((where / "theirs_public.json").read_bytes())
    wrong = [public[0] ^ 1, *public[1:]]
    assert not groth16.verify(key.verifying_key, wrong, proof.to_bytes())
    return bool(groth16.verify(key.verifying_key, public, proof.to_bytes()))


def test_our_keys_and_proofs_there(
    snarkjs: Snarkjs, system: ConstraintSystem, z: list[int], key: ProvingKey, tmp_path: Path
) -> None:
    witness = fr.from_ints(z)
    iden3.write_r1cs(tmp_path / "our.r1cs", system)
    iden3.write_wtns(tmp_path / "our.wtns", witness)
    iden3.write_zkey(tmp_path / "our.zkey", key, system)

    info = snarkjs("r1cs", "info", "our.r1cs")
    assert "bls12-381" in info
    assert f"# of Constraints: {ROWS}" in info
    assert "WITNESS IS CORRECT" in snarkjs("wtns", "check", "our.r1cs", "our.wtns")
    assert verifies_there(snarkjs, tmp_path, key, system, witness)
    dump(tmp_path / "public.json", iden3.export_public_inputs([z[1] ^ 1, *z[2 : 1 + PUBLIC]]))
    with pytest.raises(AssertionError, match="Invalid proof"):
        snarkjs("groth16", "verify", "vk.json", "public.json", "proof.json")
    assert verifies_here(snarkjs, tmp_path, key, "our.zkey", "our.wtns")

    snarkjs("zkey", "export", "verificationkey", "our.zkey", "their_vk.json")
    exported = iden3.import_verifying_key((tmp_path / "their_vk.json").read_bytes())
    assert iden3.export_verifying_key(exported) == iden3.export_verifying_key(key.verifying_key)


def test_a_wrong_witness_is_wrong_there_too(
    snarkjs: Snarkjs, system: ConstraintSystem, z: list[int], tmp_path: Path
) -> None:
    iden3.write_r1cs(tmp_path / "our.r1cs", system)
    iden3.write_wtns(tmp_path / "wrong.wtns", fr.from_ints([*z[:-1], z[-1] + 1]))
    with pytest.raises(AssertionError, match="WITNESS IS NOT CORRECT"):
        snarkjs("wtns", "check", "our.r1cs", "wrong.wtns")


@pytest.mark.large
def test_their_powers_here(snarkjs: Snarkjs, tmp_path: Path) -> None:
    """Two people and a beacon; then the same file with a contribution that nobody made."""
    snarkjs("powersoftau", "new", "bls12381", "8", "0.ptau")
    snarkjs("powersoftau", "contribute", "0.ptau", "1.ptau", "--name=Ada", "--entropy=first")
    snarkjs("powersoftau", "contribute", "1.ptau", "2.ptau", "--name=Émilie", "--entropy=second")
    snarkjs("powersoftau", "beacon", "2.ptau", "3.ptau", "0102030405060708", "10")
    assert iden3.read_ptau(tmp_path / "3.ptau").contributions == 2
    found = iden3.read_contributors(tmp_path / "3.ptau")
    assert [(each.name, each.is_beacon) for each in found] == [("Ada", False), ("Émilie", False), ("", True)]
    own = take_apart((tmp_path / "2.ptau").read_bytes())
    others = take_apart((tmp_path / "3.ptau").read_bytes())
    (tmp_path / "forged.ptau").write_bytes(own.replacing({7: others.body(7)}).to_bytes())
    with refuses("ceremony.contribution"):
        iden3.read_ptau(tmp_path / "forged.ptau")


@pytest.mark.large
def test_their_ceremony_here(
    snarkjs: Snarkjs, system: ConstraintSystem, z: list[int], tmp_path: Path
) -> None:
    """Powers of tau and a key that snarkjs made for our statement, by contributors of its own."""
    witness = fr.from_ints(z)
    iden3.write_r1cs(tmp_path / "our.r1cs", system)
    iden3.write_wtns(tmp_path / "our.wtns", witness)
    snarkjs("powersoftau", "new", "bls12381", str(POWER), "0.ptau")
    snarkjs("powersoftau", "contribute", "0.ptau", "1.ptau", "--name=first", "--entropy=first")
    snarkjs("powersoftau", "contribute", "1.ptau", "2.ptau", "--name=second", "--entropy=second")
    assert iden3.read_ptau(tmp_path / "2.ptau").contributions == 2
    snarkjs("powersoftau", "prepare", "phase2", "2.ptau", "prepared.ptau")
    assert iden3.read_ptau(tmp_path / "prepared.ptau").power == POWER
    snarkjs("groth16", "setup", "our.r1cs", "prepared.ptau", "0.zkey")
    snarkjs("zkey", "contribute", "0.zkey", "1.zkey", "--name=third", "--entropy=third")
    assert "ZKey Ok!" in snarkjs("zkey", "verify", "our.r1cs", "prepared.ptau", "1.zkey")

    key = iden3.read_zkey(tmp_path / "1.zkey", system, threads=2)
    assert verifies_there(snarkjs, tmp_path, key, system, witness)
    assert verifies_here(snarkjs, tmp_path, key, "1.zkey", "our.wtns")


@pytest.mark.large
def test_our_powers_of_tau_there(snarkjs: Snarkjs, example: Example, tmp_path: Path) -> None:
    """Powers from here, prepared and used there: the key is one for provers on both sides.

    Before any contribution it holds the points that a ceremony here begins with, but for the bases of the
    quotient, which may differ by what cancels in every proof (docs/interoperability.md).
    """
    system, powers = example.system, powers_of_tau.generate(3)
    iden3.write_r1cs(tmp_path / "our.r1cs", system)
    iden3.write_wtns(tmp_path / "our.wtns", example.witness)
    iden3.write_ptau(tmp_path / "our.ptau", powers)
    snarkjs("powersoftau", "prepare", "phase2", "our.ptau", "prepared.ptau")
    snarkjs("groth16", "setup", "our.r1cs", "prepared.ptau", "0.zkey")
    theirs, ours = take_apart((tmp_path / "0.zkey").read_bytes()), ceremony.start(system, powers)
    for number, points in ((3, ours.ic), (8, ours.private)):
        assert theirs.body(number) == points.tobytes()

    snarkjs("zkey", "contribute", "0.zkey", "1.zkey", "--name=first", "--entropy=first")
    key = iden3.read_zkey(tmp_path / "1.zkey", system)
    assert verifies_there(snarkjs, tmp_path, key, system, example.witness)
    assert verifies_here(snarkjs, tmp_path, key, "1.zkey", "our.wtns")


def test_our_ceremony_there(snarkjs: Snarkjs, example: Example, tmp_path: Path) -> None:
    powers = powers_of_tau.generate(4)
    state = ceremony.start(example.system, powers)
    for name in ("first", "second"):
        state = ceremony.contribute(state, name)
    key = ceremony.finish(state, example.system, powers, development=True)
    iden3.write_wtns(tmp_path / "our.wtns", example.witness)
    iden3.write_zkey(tmp_path / "our.zkey", key, example.system)
    assert verifies_there(snarkjs, tmp_path, key, example.system, example.witness)
    assert verifies_here(snarkjs, tmp_path, key, "our.zkey", "our.wtns")


def test_the_recorded_files_verify_there(snarkjs: Snarkjs) -> None:
    files = [str(VECTORS / name) for name in ("verification_key.json", "public.json", "proof.json")]
    assert "OK!" in snarkjs("groth16", "verify", *files)
