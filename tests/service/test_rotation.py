"""Another secret in the place of the one that everything is sealed with."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from tests.service.accounts import calling
from tests.service.conftest import open_runtime
from tests.service.support import labelled, tiny_calibration, tiny_onnx, work_on
from zenserve.client import Model
from zenserve.errors import FileFormatError
from zenserve.service import encryption, rotation, serve
from zenserve.service.cli import app
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.jobs.queue import Queue
from zenserve.service.rotation import reseal, rotate
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.webhooks import place_of
from zenserve.service.settings import Settings
from zenserve.service.storage.database import now
from zenserve.service.storage.records.openings import Root
from zenserve.service.storage.records.resources import Model as ModelRow
from zenserve.service.storage.records.resources import Proof
from zenserve.service.storage.records.streams import Stream
from zenserve.service.storage.records.webhooks import Webhook
from zenserve.service.storage.repositories import stored
from zenserve.service.storage.repositories.secrets import SEALED, Sealed
from zenserve.service.storage.vault import KEY_FILE, Vault
from zenserve.verifier.documents import Receipt
from zenserve.verifier.expected import ExpectedReceipt
from zenserve.verifier.receipts import judge

INPUT = [0.1, 0.2, 0.3, 0.4]


@pytest.fixture
def full(with_model: Runtime, model: Model, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """With something in every place that is sealed, but for a rotated webhook's."""
    monkeypatch.setattr(Queue, "send", lambda *_: None)
    with calling(with_model) as http:
        samples = dict(zip(("samples", "labels"), labelled(4), strict=True))
        form = {"model_id": model.id, "privacy": "private", "shard_size": "2"}
        dataset = http.post("/v1/datasets", files=samples, data=form).raise_for_status().json()["id"]
        work_on(with_model, dataset)
        accuracy = {"model_id": model.id, "scheme": "accuracy", "dataset_id": dataset}
        planned = http.post("/v1/proofs", json=accuracy).raise_for_status().json()["id"]
        work_on(with_model, planned)
        for path, body in (
            ("proofs", {"model_id": model.id, "input": INPUT}),
            ("commitments", {"model_id": model.id, "kind": "input", "values": INPUT}),
        ):
            http.post(f"/v1/{path}", json=body).raise_for_status()
        http.put(f"/v1/uploads/{hashlib.sha256(b'x').hexdigest()}", content=b"x").raise_for_status()
        hook = http.post("/v1/webhooks", json={"url": "https://example.com/"}).json()["id"]
        http.post(f"/v1/webhooks/{hook}/rotate").raise_for_status()
    root = {"root": "ab", "registered": "cd", "owner": model.id, "epoch": "e", "created_at": now()}
    counted = {"depth": 1, "proofs": 9, "renewals": 0, "height": 0}
    sealed = encryption.put(with_model, "root:ab", b"what opens it")
    with with_model.database.write() as session:
        session.add(Root(**root, **counted, opening=sealed))
        job = Jobs(session).create("str_1", "stream")
        row = Stream(id=job.id, name="s", classes=2, input_privacy="private", backlog=1, rules={})
        row.samples = encryption.put(with_model, "stream:str_1", b"what models are chosen by")
        session.add(row)
        margins = with_model.vault.seal(b"[[0, 1.5]]", f"margins:{planned}")
        session.execute(update(Proof).where(Proof.id == planned).values(margins=margins))
    return with_model


def under(runtime: Runtime, *secrets: bytes) -> Runtime:
    return replace(runtime, vault=Vault(*secrets))


def old_secret(runtime: Runtime) -> bytes:
    return bytes.fromhex((runtime.settings.data_dir / KEY_FILE).read_text())


def all_sealed(runtime: Runtime) -> list[tuple[str, bytes]]:
    """Each place that something is sealed for, and the sealed bytes."""
    with runtime.database.read() as session:
        rows = [(column, *row) for column in SEALED for row in Sealed(session).of(column)]
    return [
        (column.place(key), runtime.store.get(value) if column.in_store else value)
        for column, key, value in rows
    ]


def test_all_that_is_old_is_sealed_anew_and_the_old_secret_can_go(full: Runtime) -> None:
    places = {place.partition(":")[0] for place, _ in all_sealed(full)}
    assert places == {column.kind for column in SEALED}
    both = under(full, b"new", old_secret(full))
    before = all_sealed(full)
    for place, data in before:
        both.vault.open(data, place)
        with pytest.raises(FileFormatError):
            Vault(b"new").open(data, place)
    outcome = reseal(both)
    assert (outcome.resealed, outcome.present, outcome.lost) == (len(before), 0, [])
    for place, data in all_sealed(full):
        Vault(b"new").open(data, place)
    again = reseal(both)
    assert (again.resealed, again.present) == (0, len(before))
    with full.database.read() as session:
        full.store.delete_others(stored(session), 0.0)
    new = under(full, b"new")
    assert len(all_sealed(new)) == len(before)


def test_one_that_was_interrupted_goes_on(full: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    both, count = under(full, b"new", old_secret(full)), len(all_sealed(full))
    one = rotation._reseal
    done: list[None] = []

    def half(*given: Any) -> None:
        if len(done) == count // 2:
            raise KeyboardInterrupt
        one(*given)
        done.append(None)

    with monkeypatch.context() as patch:
        patch.setattr(rotation, "_reseal", half)
        with pytest.raises(KeyboardInterrupt):
            reseal(both)
    outcome = reseal(both)
    assert (outcome.present, outcome.resealed) == (count // 2, count - count // 2)


def test_what_no_secret_opens_is_named_and_the_old_one_kept(full: Runtime, model: Model) -> None:
    with full.database.write() as session:
        session.execute(update(ModelRow).values(blinding=b"something else entirely, and not sealed"))
    outcome = rotate(full)
    assert outcome.lost == [f"blinding:{model.id}"]
    assert len((full.settings.data_dir / KEY_FILE).read_text().split()) == 2


def test_what_changes_meanwhile_is_left_as_it_is(full: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    both = under(full, b"new", old_secret(full))
    files = set(full.settings.data_dir.glob("artifacts/??/*"))
    resealed = Vault.resealed

    def slowly(vault: Vault, data: bytes, place: str) -> bytes | None:
        if place.startswith("input:"):  # its job ends
            with full.database.write() as session:
                session.execute(update(Proof).where(Proof.input.is_not(None)).values(input=None))
        return resealed(vault, data, place)

    monkeypatch.setattr(Vault, "resealed", slowly)
    outcome = reseal(both)
    assert outcome.lost == []
    rows = tuple(column.kind for column in SEALED if not column.in_store)
    in_store = [place for place, _ in all_sealed(both) if not place.startswith(rows)]
    assert len(set(full.settings.data_dir.glob("artifacts/??/*")) - files) == len(in_store)


def test_a_request_is_known_again_and_receipts_stay_good(full: Runtime, model: Model) -> None:
    body, once = {"model_id": model.id, "input": INPUT}, {"Idempotency-Key": "once"}
    network = {"model": tiny_onnx(), "calibration": tiny_calibration()}
    with calling(full) as http:
        first = http.post("/v1/proofs", json=body, headers=once).json()["id"]
        registered = http.post("/v1/models", files=network, headers={"Idempotency-Key": "model"}).json()["id"]
        receipt = Receipt.model_validate(http.get(f"/v1/models/{model.id}/receipt").json())
    both = under(full, b"new", old_secret(full))
    reseal(both)
    with calling(both) as http:
        assert http.post("/v1/proofs", json=body, headers=once).json()["id"] == first
        answer = http.post("/v1/models", files=network, headers={"Idempotency-Key": "model"})
        assert answer.json()["id"] == registered
    with calling(under(full, b"new")) as http:
        issuers = http.get("/v1/issuers").json()["items"]
        assert [issuer["is_present"] for issuer in issuers] == [True, False]
        assert http.get(f"/v1/models/{model.id}/receipt").json() == receipt.model_dump(mode="json")
    assert judge(receipt, ExpectedReceipt(issuer=issuers[1]["issuer"])).valid
    assert issuers[0]["issuer"] == Vault(b"new").issuer.hex()


def test_at_the_command_line_with_the_secret_in_the_environment(
    full: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = full.settings.data_dir
    (folder / KEY_FILE).rename(folder / "elsewhere")
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(folder))
    reseal(under(full, b"first", bytes.fromhex((folder / "elsewhere").read_text())))
    monkeypatch.setenv("ZENSERVE_SECRET_KEY", "second")
    assert CliRunner().invoke(app, ["secret", "rotate"]).exit_code == 1
    monkeypatch.setenv("ZENSERVE_PREVIOUS_SECRET_KEYS", "first")
    done = CliRunner().invoke(app, ["secret", "rotate"])
    assert (done.exit_code, done.stdout) == (0, f"{len(all_sealed(full))} sealed anew, 0 were already\n")
    settings = Settings.read()
    assert ("ZENSERVE_PREVIOUS_SECRET_KEYS", "first") in settings.environment().items()
    assert Vault.from_settings(settings).issuers == Vault(b"second", b"first").issuers


def test_at_the_command_line_with_the_secret_in_a_file(
    full: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, old = full.settings.data_dir / KEY_FILE, old_secret(full)
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(full.settings.data_dir))
    assert CliRunner().invoke(app, ["secret", "rotate"]).exit_code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    (line,) = file.read_text().split()
    assert bytes.fromhex(line) != old
    fresh = open_runtime(full.settings.data_dir)
    for place, data in all_sealed(fresh):
        fresh.vault.open(data, place)
    with fresh.database.read() as session:
        row = session.query(Webhook).one()
        assert row.previous_secret is not None
        fresh.vault.open(row.previous_secret, place_of(row.id))
        model = session.query(ModelRow).first()
        assert model is not None
        assert encryption.open_network(fresh, model)
    fresh.close()


def test_a_running_service_keeps_its_secret(
    full: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(full.settings.data_dir))
    before = old_secret(full)
    with serve.only_one(full.settings.data_dir):
        refused = CliRunner().invoke(app, ["secret", "rotate"])
    assert refused.exit_code != 0
    assert old_secret(full) == before
