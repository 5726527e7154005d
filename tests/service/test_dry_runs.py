"""A dry run says what a proof would show and take, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from tests.service.support import labelled, work_on, work_on_all
from zenserve.client import ApiError, Client, Model
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.accounts import Tenant
from zenserve.service.storage.records.base import Base

INPUT = [0.1, 0.2, 0.3, 0.4]


def kept(runtime: Runtime) -> tuple[dict[str, Any], list[Path]]:
    """How many rows each table has, and which files there are."""
    with runtime.database.read() as session:
        rows = {
            name: session.scalar(select(func.count()).select_from(table))
            for name, table in Base.metadata.tables.items()
        }
    folder = runtime.settings.data_dir
    files = (file for part in ("artifacts", "broker") for file in (folder / part).rglob("*"))
    return rows, sorted(files)


def test_it_says_what_the_proof_then_shows_and_makes_nothing(
    with_model: Runtime, api: Client, model: Model
) -> None:
    before = kept(with_model)
    tried = api.dry_run(model.id, INPUT, labels={"run": "17"})
    assert kept(with_model) == before
    proof = api.create_proof(model.id, INPUT)
    work_on(with_model, proof.id)
    proof = api.get_proof(proof.id)
    assert (tried.label, tried.values) == (proof.label, proof.values)
    assert (tried.verification_key_id, tried.setup_seconds) == (model.verification_key_id, 0.0)
    (made,) = api.get_proof_document(proof.id)["proofs"]
    assert tried.proof_bytes == len(bytes.fromhex(made))
    assert model.description is not None
    assert tried.constraints == model.description["constraints"]["total"]
    # The next one goes by what this one took.
    again = api.dry_run(model.id, INPUT)
    assert again.proof_seconds == pytest.approx(sum(proof.timings.values()), abs=0.01)


def test_a_setup_that_is_due_is_told_apart(with_model: Runtime, api: Client, model: Model) -> None:
    tried = api.dry_run(model.id, INPUT, reveal="logits", input_privacy="public")
    assert tried.verification_key_id is None
    assert tried.setup_seconds > 0
    proof = api.create_proof(model.id, INPUT, reveal="logits", input_privacy="public")
    work_on(with_model, proof.id)
    again = api.dry_run(model.id, INPUT, reveal="logits", input_privacy="public")
    assert again.values == tried.values == api.get_proof(proof.id).values
    assert again.verification_key_id == api.get_proof(proof.id).verification_key_id
    assert again.setup_seconds == 0


@pytest.mark.usefixtures("in_a_child")
def test_of_a_dataset_it_counts_all_samples(with_model: Runtime, api: Client, model: Model) -> None:
    dataset = api.create_dataset(model.id, *labelled(), privacy="public", shard_size=4)
    work_on(with_model, dataset.id)
    tried = api.dry_run(model.id, scheme="accuracy", dataset_id=dataset.id)
    proof = api.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id)
    work_on_all(with_model, proof.id)
    assert tried.values == api.get_proof(proof.id).values
    made = api.get_proof_document(proof.id)["proofs"]
    assert tried.proofs == len(made) == 2
    assert tried.proof_bytes == sum(len(bytes.fromhex(each)) for each in made)


def test_what_would_be_refused_is(with_model: Runtime, api: Client, model: Model) -> None:
    for values, fields, code in (
        ([0.1], {}, "input.shape"),
        ([0.1, 0.2, 0.3, 55.0], {}, "input.out_of_range"),
        (INPUT, {"top": 2}, "request.invalid"),
        (None, {"input_id": "cmt_1"}, "not_found"),
    ):
        with pytest.raises(ApiError) as refusal:
            api.dry_run(model.id, values, **fields)
        assert refusal.value.code == code
    with with_model.database.write() as session:
        session.get_one(Tenant, "tnt_local").max_queued = 1
    api.create_proof(model.id, INPUT)
    with pytest.raises(ApiError) as refusal:
        api.dry_run(model.id, INPUT)
    assert refusal.value.code == "quota.queued"


def test_the_wish_is_heeded_or_refused_but_never_passed_over(url: str, model: Model) -> None:
    body = {"model_id": model.id, "input": INPUT}
    answer = httpx.post(f"{url}/v1/proofs", json=body, headers={"Prefer": "wait=5, dry-run"})
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (200, "dry-run")
    answer = httpx.post(f"{url}/v1/proofs", json=body, headers={"Prefer": "no-dry-run"})
    assert answer.status_code == 202
    files = {"model": b"", "calibration": b""}
    answer = httpx.post(f"{url}/v1/models", files=files, headers={"Prefer": "dry-run"})
    assert (answer.status_code, answer.json()["field"]) == (422, "Prefer")
