"""What ``zenserve audit`` says of keys: which claims it can make again, and which not. It asks nobody."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from tests.circuits.quantised import networks
from tests.prover.statements import forged_key
from zenserve.circuits import Circuit, QuantGraph, compile_inference
from zenserve.prover.groth16 import VerifyingKey, ceremony, powers_of_tau
from zenserve.prover.groth16.ceremony import Beacon, State
from zenserve.prover.groth16.ceremony.initial import required_power
from zenserve.prover.groth16.iden3.ptau import read_ptau, write_ptau
from zenserve.prover.spartan.layout import rows_for, sizes_of
from zenserve.prover.spartan.system import Spartan
from zenserve.verifier.documents import KeyFile, key_id
from zenserve.verifier.fields import canonical
from zenserve.verifier.keys import key_file
from zenserve.verifier.registry import FIRST
from zenserve.verifier.spartan.key import SpartanKey


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
    power = required_power(circuit.constraint_system)
    for name in ("powers.ptau", "other.ptau"):
        write_ptau(folder / name, powers_of_tau.generate(power))
    state = ceremony.start(circuit.constraint_system, read_ptau(folder / "powers.ptau"))
    state = ceremony.contribute(state, "[b]Ada[/]")
    ceremony.add_beacon(state, Beacon(bytes(32), 0)).save(folder / "1.state")
    (folder / "architecture.bin").write_bytes(network.architecture.to_bytes())
    return folder


@pytest.fixture
def key(folder: Path) -> VerifyingKey:
    """The ceremony's."""
    return ceremony.verifying_key(State.read(folder / "1.state"))


@pytest.fixture
def audit(run: Any, folder: Path, circuit: Circuit, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run ``zenserve audit`` on a key, where nothing can be connected to: its exit code and all that it
    prints.
    """

    def offline(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a socket was opened")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(f"socket.{name}", offline)
    monkeypatch.setattr("sqlite3.connect", offline)
    monkeypatch.chdir(folder)

    def command(key: VerifyingKey, *options: str, shown: bool = True, **described: Any) -> tuple[int, str]:
        description = circuit.describe() | described
        file = KeyFile(
            id=key_id(FIRST, key.digest, description),
            setup=key.setup,
            key=key.to_json(),
            circuit=description,
            transcript=State.read("1.state").transcript if shown else None,
        )
        Path("key.json").write_bytes(canonical(file))
        code, out, err = run("audit", "key.json", "architecture.bin", *options)
        return code, out + err

    return command


POWERS = ("--powers", "powers.ptau")
STATE = ("--state", "1.state")


def claims(answer: dict[str, Any], verdict: str) -> set[str]:
    return {claim["claim"] for claim in answer["claims"] if claim["verdict"] == verdict}


def test_a_ceremony_s_key_is_made_again_from_powers_alone(audit: Any, key: VerifyingKey) -> None:
    for options in (POWERS, (*POWERS, *STATE)):
        code, said = audit(key, *options)
        assert (code, said.split("  ")[0]) == (0, "the same")
        assert key.contributions[0].hex() in said
        assert "[b]Ada[/]" in said
        assert "not shown" not in said
        assert "one contributor" in said.lower()


def test_without_powers_it_only_claims(audit: Any, key: VerifyingKey) -> None:
    code, said = audit(key)
    assert (code, said.split("  ")[0]) == (0, "claims")
    assert "powers of tau" in said


def test_the_answer_in_json(audit: Any, circuit: Circuit, key: VerifyingKey) -> None:
    code, said = audit(key, "--json")
    answer = json.loads(said)
    assert (code, answer["same"], answer["all_shown"]) == (0, True, False)
    assert claims(answer, "other") == set()
    assert {"id", "circuit.network", "circuit.meaning", "key.delta_g2"} <= claims(answer, "same")
    assert {"setup", "key.alpha_g1", "key.ic", "key.basis", "transcript.origin"} <= claims(
        answer, "not shown"
    )
    assert answer["constraints"] == circuit.constraint_system.constraints
    assert answer["network"] == circuit.network.hex()
    assert [each["name"] for each in answer["contributions"]] == ["[b]Ada[/]", f"beacon 2^0 {'00' * 32}"]
    assert set(answer["seconds"]) == {"compiling"}
    assert len(answer["does_not_show"]) > 2

    answer = json.loads(audit(key, *POWERS, "--json")[1])
    assert (answer["same"], answer["all_shown"]) == (True, True)
    assert set(answer["seconds"]) == {"compiling", "reading powers", "comparing points"}


def test_a_key_that_one_party_made_only_claims(audit: Any, circuit: Circuit) -> None:
    code, said = audit(forged_key(circuit.constraint_system), shown=False)
    assert (code, said.split("  ")[0]) == (0, "claims")
    assert "from whom you trust" in said.replace("\n", " ")
    assert "nobody can check the points" in said


def test_each_false_claim_is_found(audit: Any, circuit: Circuit, key: VerifyingKey) -> None:
    forged = replace(forged_key(circuit.constraint_system), contributions=key.contributions)
    one, two, *rest = key.ic
    for other, options, wrong in (
        (forged, POWERS, {"key.alpha_g1", "key.beta_g2", "key.gamma_g2", "key.ic", "key.basis"}),
        (replace(key, ic=(two, one, *rest)), POWERS, {"key.ic"}),
        (replace(key, alpha_g1=forged.alpha_g1), (*POWERS, *STATE), {"key.alpha_g1"}),
        (replace(key, statement_digest=bytes(32)), (), {"key.statement_digest"}),
        (
            key,
            ("--powers", "other.ptau"),
            {"key.alpha_g1", "key.beta_g2", "key.ic", "key.basis", "transcript.origin"},
        ),
    ):
        code, said = audit(other, *options, "--json", shown=other is not forged)
        answer = json.loads(said)
        assert (code, answer["same"], answer["reason"]) == (1, False, "statement.audit")
        assert claims(answer, "other") == wrong
        assert answer["field"] in wrong
        code, said = audit(other, *options, shown=other is not forged)
        assert (code, said.split("  ")[0]) == (1, "NOT the same")
        assert "[statement.audit]" in said


def test_a_false_description_is_found(audit: Any, circuit: Circuit, key: VerifyingKey) -> None:
    for described, wrong in (
        ({"meaning": "It is always right."}, "circuit.meaning"),
        ({"constraints": circuit.describe()["constraints"] | {"total": 1}}, "circuit.constraints"),
        ({"soundness_bits": 250}, "circuit.soundness_bits"),
    ):
        code, said = audit(key, "--json", **described)
        assert (code, claims(json.loads(said), "other")) == (1, {wrong})
    code, said = audit(key, level=4)
    assert (code, said.split("  ")[0]) == (1, "NOT the same")
    assert "[statement.privacy]" in said


def test_files_that_are_none_are_trouble(audit: Any, circuit: Circuit, key: VerifyingKey) -> None:
    code, said = audit(key, *STATE)
    assert code == 2
    assert "--powers" in said
    code, said = audit(forged_key(circuit.constraint_system))  # under the ceremony's transcript
    assert code == 2
    assert "file.transcript" in said
    code, said = audit(key, "--powers", "1.state")
    assert code == 2
    assert "1.state" in said
    for broken in ("scheme", "privacy"):
        assert audit(key, **{broken: None})[0] == 2


def test_how_sure_the_proofs_of_a_key_are(
    run: Any, circuit: Circuit, network: QuantGraph, tmp_path: Path
) -> None:
    """Term by term, in sum, and with what the circuit's own challenges miss where its network is given."""
    system = circuit.constraint_system
    rows = rows_for(max(segment.size for segment in system.segments))
    transparent = SpartanKey(system.digest, sizes_of(system), rows.code, rows.tail)
    file, architecture = tmp_path / "key.json", tmp_path / "architecture.bin"
    described = json.loads(json.dumps(circuit.describe()))
    file.write_bytes(canonical(key_file(Spartan(), transparent, described)))
    architecture.write_bytes(network.architecture.to_bytes())

    def shown(*given: Any) -> Any:
        code, out, err = run("key", "show", *given, "--json")
        assert code == 0, err
        return json.loads(out)

    alone, whole = shown(file), shown(file, architecture)
    assert alone["errors"] == whole["errors"][:-1]
    own = whole["errors"][-1]
    assert own["term"] == "the statement's own challenges"
    assert own["bits"] == pytest.approx(255 - np.log2(circuit.program.degree), abs=0.2)
    for answer in (alone, whole):
        total = -np.log2(sum(2.0 ** -each["bits"] for each in answer["errors"]))
        assert answer["bits"] == pytest.approx(total, abs=0.1)
        assert answer["bits"] > 128
    assert "in sum, but for" in run("key", "show", file)[1].replace("\n", " ")
    architecture.write_bytes(networks.of_kinds(6, "conv", shape=(1, 3, 3)).architecture.to_bytes())
    code, _, err = run("key", "show", file, architecture)
    assert (code, "another circuit" in err.replace("\n", " ")) == (2, True)
