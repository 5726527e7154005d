"""What ``zenserve audit`` says of keys: which it can make again, and which only claim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from circuits import Circuit, QuantGraph, compile_inference
from prover.groth16 import VerifyingKey, ceremony, powers_of_tau
from prover.groth16.ceremony import State
from prover.groth16.ceremony.initial import required_power
from prover.groth16.iden3.ptau import read_ptau, write_ptau
from tests.circuits.quantised import networks
from tests.prover.statements import forged_key
from verifier.documents import KeyFile, canonical, key_id
from verifier.registry import FIRST


@pytest.fixture(scope="module")
def network() -> QuantGraph:
    return networks.of_kinds(5, "conv", shape=(1, 3, 3))


@pytest.fixture(scope="module")
def circuit(network: QuantGraph) -> Circuit:
    return compile_inference(network, weight_privacy="committed")


@pytest.fixture(scope="module")
def folder(network: QuantGraph, circuit: Circuit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a ceremony for the circuit leaves behind."""
    folder = tmp_path_factory.mktemp("audit")
    write_ptau(folder / "powers.ptau", powers_of_tau.generate(required_power(circuit.constraint_system)))
    state = ceremony.start(circuit.constraint_system, read_ptau(folder / "powers.ptau"))
    ceremony.contribute(state, "Ada").save(folder / "1.state")
    (folder / "architecture.bin").write_bytes(network.architecture.to_bytes())
    return folder


@pytest.fixture
def audit(run: Any, folder: Path, circuit: Circuit, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run ``zenserve audit`` on a key: its exit code and all that it prints."""
    monkeypatch.chdir(folder)

    def command(key: VerifyingKey, *options: str) -> tuple[int, str]:
        described = circuit.describe()
        file = KeyFile(
            id=key_id(FIRST, key.digest, described), setup=key.setup, key=key.to_json(), circuit=described
        )
        Path("key.json").write_bytes(canonical(file))
        code, out, err = run("audit", "key.json", "architecture.bin", *options)
        return code, out + err

    return command


CEREMONY = ("--state", "1.state", "--powers", "powers.ptau")


def test_a_ceremony_s_key_is_made_again(audit: Any) -> None:
    key = ceremony.verifying_key(State.load("1.state"))
    code, said = audit(key, *CEREMONY)
    assert (code, said.split("  ")[0]) == (0, "the same")
    assert key.contributions[0].hex() in said
    code, said = audit(key)
    assert (code, said.split("  ")[0]) == (0, "claims")
    assert "--state" in said


def test_a_key_that_one_party_made_only_claims(audit: Any, circuit: Circuit) -> None:
    code, said = audit(forged_key(circuit.constraint_system))
    assert (code, said.split("  ")[0]) == (0, "claims")
    assert "from whom you trust" in said
    assert " is for " not in said


def test_a_forged_key_under_a_ceremony_s_name_is_refused(audit: Any, circuit: Circuit) -> None:
    honest = ceremony.verifying_key(State.load("1.state"))
    forged = replace(forged_key(circuit.constraint_system), contributions=honest.contributions)
    code, said = audit(forged, *CEREMONY)
    assert (code, said.split("  ")[0]) == (1, "NOT the same")
    assert "statement.audit" in said
    code, said = audit(replace(honest, statement_digest=bytes(32)))
    assert (code, said.split("  ")[0]) == (1, "NOT the same")


def test_half_a_ceremony_is_trouble(audit: Any, circuit: Circuit) -> None:
    code, said = audit(forged_key(circuit.constraint_system), *CEREMONY[:2])
    assert code == 2
    assert "--powers" in said
