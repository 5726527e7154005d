"""Proving keys that the store lost or changed: made anew, but for those of ceremonies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.service.support import proving_key_files, work_on
from zenserve.client import Client, Model
from zenserve.service import doctor
from zenserve.service.doctor import Finding, examine
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import VerificationKey
from zenserve.service.storage.store import Store
from zenserve.verifier.system import CEREMONY

INPUT = [0.1, 0.2, 0.3, 0.4]


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


DAMAGES = [Path.unlink, cut, flip]


def spoil(runtime: Runtime, damage: Callable[[Path], None]) -> None:
    for file in proving_key_files(runtime):
        damage(file)


def artifacts(runtime: Runtime, *, deep: bool) -> Finding:
    return next(each for each in examine(runtime, deep=deep) if each.name == "artifacts")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_key_of_the_service_is_made_anew(
    api: Client, with_model: Runtime, model: Model, damage: Callable[[Path], None]
) -> None:
    spoil(with_model, damage)
    found = artifacts(with_model, deep=True)
    assert found.verdict == "warn"
    assert f"the proving key of {model.verification_key_id}" in found.detail
    proof = api.create_proof(model.id, INPUT)
    work_on(with_model, proof.id)
    done = api.get_proof(proof.id)
    assert (done.state, done.attempt) == ("succeeded", 1), done.problem
    document = api.get_proof_document(proof.id)
    assert api.verify(document).valid
    again = api.get_model(model.id)
    assert (
        document["statement"]["verification_key"]["id"]
        == again.verification_key_id
        != model.verification_key_id
    )
    other = api.create_proof(model.id, INPUT)
    work_on(with_model, other.id)
    same = api.get_proof_document(other.id)["statement"]["verification_key"]["id"]
    assert same == again.verification_key_id, "and stays"


def test_proofs_under_the_key_that_was_lost_still_verify(
    api: Client, with_model: Runtime, model: Model
) -> None:
    proof = api.create_proof(model.id, INPUT)
    work_on(with_model, proof.id)
    spoil(with_model, Path.unlink)
    work_on(with_model, api.create_proof(model.id, INPUT).id)
    assert api.verify(api.get_proof_document(proof.id)).valid
    assert api.verify(api.get_registration(model.id)).valid


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_key_of_a_ceremony_is_asked_for_by_name(
    api: Client, with_model: Runtime, model: Model, damage: Callable[[Path], None]
) -> None:
    with with_model.database.write() as session:
        key = session.get_one(VerificationKey, model.verification_key_id)
        key.document = key.document | {"setup": CEREMONY}
    kept = {file: file.read_bytes() for file in proving_key_files(with_model)}
    spoil(with_model, damage)
    found = artifacts(with_model, deep=True)
    assert (found.verdict, "zenserve key install" in (found.remedy or "")) == ("fail", True)
    assert found.detail.partition(": ")[2].startswith(f"the proving key of {model.verification_key_id}")
    proof = api.create_proof(model.id, INPUT)
    work_on(with_model, proof.id)
    done = api.get_proof(proof.id)
    assert done.problem is not None
    assert (done.state, done.problem["code"]) == (
        "failed",
        "file.missing" if damage is Path.unlink else "file.corrupt",
    )
    assert (
        f"the verification key {model.verification_key_id}, which a ceremony made" in done.problem["detail"]
    )
    for file, content in kept.items():
        file.write_bytes(content)
    assert artifacts(with_model, deep=True).verdict == "ok"


def test_of_two_workers_that_miss_a_key_one_replaces_it(
    api: Client, with_model: Runtime, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second finds what the first one made, and drops its own."""
    from zenserve.circuits.schemes import proving

    first, second = (api.create_proof(model.id, INPUT).id for _ in range(2))
    spoil(with_model, Path.unlink)
    setup, ids = proving.setup, list[str]()

    def meeting(*given: object, **how: object) -> object:
        made = setup(*given, **how)  # type: ignore[arg-type]
        if not ids:
            ids.append(first)
            work_on(with_model, first)
        return made

    monkeypatch.setattr("zenserve.service.worker.tasks.steps.proving.setup", meeting)
    work_on(with_model, second)
    documents = [api.get_proof_document(each)["statement"]["verification_key"] for each in (first, second)]
    assert documents[0] == documents[1]
    assert "1 of" in artifacts(with_model, deep=True).detail, "the registration's, which nothing needs"


def test_a_copy_that_was_damaged_is_brought_again(s3: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "copies", f"{s3}/damaged/artifacts")
    with store.scratch() as path:
        path.write_bytes(b"key")
        digest = store.adopt(path)
    store.path(digest).write_bytes(b"damaged")
    assert store.path(digest).read_bytes() == b"key"
    assert store.is_intact(digest)
    assert store.missing({digest, "0" * 64}) == {"0" * 64}


def test_the_doctor_names_what_is_lost(with_model: Runtime, model: Model) -> None:
    assert [artifacts(with_model, deep=deep).verdict for deep in (False, True)] == ["ok", "ok"]
    files = list((with_model.settings.data_dir / "artifacts").glob("??/*"))
    flip(next(file for file in files if file not in proving_key_files(with_model)))
    assert artifacts(with_model, deep=False).verdict == "ok", "which does not read them"
    found = artifacts(with_model, deep=True)
    assert (found.verdict, found.detail.startswith(f"1 of {len(files)} are lost or changed")) == (
        "fail",
        True,
    )
    for file in files:
        file.unlink()
    found = artifacts(with_model, deep=False)
    assert f"{len(files)} of {len(files)} are lost or changed" in found.detail
    assert f"and {len(files) - doctor._NAMED} more" in found.detail
