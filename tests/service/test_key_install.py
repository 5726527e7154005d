"""From a service's key to a ceremony's in its place: proofs say so, and earlier ones stay what they were."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import refuses
from tests.service.conftest import open_runtime
from tests.service.support import serving, tiny_calibration, tiny_onnx, work_on
from zenserve.client import Client, Model
from zenserve.prover import registry
from zenserve.prover.groth16 import reference
from zenserve.prover.groth16.iden3.ptau import read_ptau
from zenserve.service import basis as bases
from zenserve.service.runtime import Runtime
from zenserve.verifier.documents import KeyFile, ProofDocument
from zenserve.verifier.groth16.system import groth16_key
from zenserve.verifier.judging import judge
from zenserve.verifier.keys import opened
from zenserve.verifier.registry import FIRST

POWER = 8
INPUT = [0.1, 0.2, 0.3, 0.4]


@pytest.fixture
def run(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command where the service keeps its data: its exit code, and all that it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(tmp_path / "data"))
    # Powers that people contributed to are snarkjs' to make: these are one party's, and pass for others'.
    for place in ("zenserve.service.cli.ceremony.read_ptau", "zenserve.prover.groth16.iden3.ptau.read_ptau"):
        monkeypatch.setattr(place, lambda *given, **how: replace(read_ptau(*given, **how), contributions=2))

    def command(*arguments: object) -> tuple[int, str]:
        code, out, err = run(*arguments)
        return code, out + err

    return command


@pytest.fixture
def service(run: Any, tmp_path: Path) -> Iterator[tuple[Runtime, Client, Model]]:
    """Over the powers of a ceremony, with a registered model."""
    bases._load.cache_clear()
    runtime = open_runtime(tmp_path / "data")
    assert run("ceremony", "powers", "new", POWER, "p.ptau")[0] == 0
    assert run("basis", "import", "p.ptau")[0] == 0
    with serving(runtime) as url, Client(url) as client:
        model = client.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="committed")
        work_on(runtime, model.id)
        yield runtime, client, client.get_model(model.id)
    runtime.close()
    bases._load.cache_clear()


def hold(run: Any, client: Client, model: Model, key_id: str, name: str) -> str:
    """A ceremony of three for the circuit of this key; the new key is ``name``.pkey. Its id."""
    Path("architecture.bin").write_bytes(client.get_architecture(model.id))
    Path("old.json").write_text(json.dumps(client.get_verification_key(key_id)))
    stmt, state = f"{name}.stmt", f"{name}.state"
    for command in (
        ("statement", "architecture.bin", stmt, "--key", "old.json"),
        ("start", stmt, "p.ptau", state),
        *(("contribute", state, state, "--name", who) for who in ("Ada", "Emmy", "Sofja")),
        ("verify", state, stmt, "p.ptau"),
        ("finish", state, stmt, "p.ptau", f"{name}.pkey"),
    ):
        code, said = run("ceremony", *command)
        assert code == 0, said
    described = json.loads(Path(f"{name}.pkey.json").read_text())
    assert described["setup"] == "ceremony"
    code, said = run("audit", f"{name}.pkey.json", "architecture.bin", "--state", state, "--powers", "p.ptau")
    assert (code, said.split("  ")[0]) == (0, "the same")
    return str(described["id"])


def proven(runtime: Runtime, client: Client, model: Model) -> ProofDocument:
    proof = client.create_proof(model.id, INPUT)
    work_on(runtime, proof.id)
    return ProofDocument.model_validate(client.get_proof_document(proof.id))


def test_proofs_are_under_the_ceremony_s_key_from_then_on(
    run: Any, service: tuple[Runtime, Client, Model]
) -> None:
    runtime, client, model = service
    assert model.setup == "development"
    assert model.verification_key_id is not None
    before = proven(runtime, client, model)
    key_id = hold(run, client, model, model.verification_key_id, "inference")
    assert run("key", "install", "inference.pkey")[0] == 0
    now = client.get_model(model.id)
    assert (now.setup, now.verification_key_id) == ("ceremony", key_id)

    after = proven(runtime, client, model)
    assert after.statement.verification_key.setup == "ceremony"
    key = KeyFile.model_validate(client.get_verification_key(key_id))
    verdict = judge(after, key)
    assert verdict.valid
    assert any("those of the contributions" in line for line in verdict.verified)
    assert not any("no transcript that shows it" in line for line in verdict.not_verified)
    _only_claims(after, key)
    assert not any("development" in line for line in verdict.not_verified)

    verifying, circuit, *_ = opened(key)
    public = [after.statement.scalar, *circuit.public_values(after.statement.values)]
    commitments = [bytes.fromhex(after.statement.commitments["model"])]
    assert reference.verify(groth16_key(verifying), public, bytes.fromhex(after.proofs[0]), commitments)

    earlier = KeyFile.model_validate(client.get_verification_key(model.verification_key_id))
    assert judge(before, earlier).valid
    assert before.statement.verification_key.setup == "development"
    assert not judge(after, earlier).valid
    assert not judge(before, key).valid


def _only_claims(document: ProofDocument, key: KeyFile) -> None:
    """Without its transcript, a ceremony is what the key says; another's transcript is refused."""
    silent = key.model_copy(update={"transcript": None})
    verdict = judge(document, silent)
    assert verdict.valid
    assert not any("those of the contributions" in line for line in verdict.verified)
    assert any("no transcript that shows it" in line for line in verdict.not_verified)
    assert key.transcript is not None
    first, *_ = key.transcript["contributions"]
    others: tuple[dict[str, Any], ...] = (
        *({"contributions": []}, {"contributions": [first]}),
        *({"origin": "00" * 32}, {"more": 1}),
    )
    for other in others:
        with refuses("file.transcript", "transcript"):
            opened(key.model_copy(update={"transcript": key.transcript | other}))


def test_models_are_registered_under_the_ceremony_s_key(
    run: Any, service: tuple[Runtime, Client, Model]
) -> None:
    runtime, client, model = service
    assert model.registration_key_id is not None
    key_id = hold(run, client, model, model.registration_key_id, "registration")
    assert run("key", "install", "registration.pkey")[0] == 0
    again = client.create_model(
        tiny_onnx(), tiny_calibration(), weight_privacy="committed", parent_id=model.id
    )
    work_on(runtime, again.id)
    assert client.get_model(again.id).registration_key_id == key_id
    assert client.get_model(model.id).registration_key_id == model.registration_key_id
    document = ProofDocument.model_validate(client.get_registration(again.id))
    assert judge(document, KeyFile.model_validate(client.get_verification_key(key_id))).valid


def test_what_does_not_belong_together_is_not_installed(
    run: Any, service: tuple[Runtime, Client, Model], tmp_path: Path
) -> None:
    _, client, model = service
    assert model.verification_key_id is not None
    hold(run, client, model, model.verification_key_id, "other")
    shutil.copy("other.pkey", "one.pkey")
    shutil.copy("old.json", "one.pkey.json")
    code, said = run("key", "install", "one.pkey")
    assert code == 2
    assert "file.hash" in said
    code, said = run("key", "install", "other.stmt")
    assert code == 2
    assert client.get_model(model.id).setup == "development"

    bases._load.cache_clear()
    elsewhere = open_runtime(tmp_path / "elsewhere")
    bases.require_basis(elsewhere, registry.find(FIRST), 1)
    bases._load.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZENSERVE_DATA_DIR", str(tmp_path / "elsewhere"))
        code, said = run("key", "install", "other.pkey")
    assert code == 2
    assert "conflict.basis" in said
    elsewhere.close()
