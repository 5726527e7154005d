"""Messages and inputs that a crash left behind."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import select, update

import zenserve.service.jobs.queue
from tests.service.support import add_job, work_on
from zenserve.client import Client, Model
from zenserve.service.jobs.claims import _PAUSES, Claims
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.jobs.queue import REST_SECONDS
from zenserve.service.jobs.reaping import Reaping
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.reaper import reap, sweep
from zenserve.service.storage.database import now
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Circuit, Proof
from zenserve.service.storage.repositories import Models


def messages(runtime: Runtime) -> list[Path]:
    return list((runtime.settings.data_dir / "broker").glob("*/*.json"))


def test_a_job_whose_message_was_lost_is_enqueued_again(runtime: Runtime) -> None:
    add_job(runtime)
    reap(runtime, pick_up_seconds=60.0)
    assert messages(runtime) == []
    reap(runtime, pick_up_seconds=0.0)
    assert len(messages(runtime)) == 1


def test_waiting_messages_are_not_multiplied(runtime: Runtime) -> None:
    for number in range(3):
        add_job(runtime, f"job_{number}")
    for _ in range(4):
        reap(runtime, pick_up_seconds=0.0)
    assert len(messages(runtime)) == 3


def test_an_expired_lease_puts_the_job_back_into_the_queue(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _PAUSES == (0.5, 5.0, 30.0)
    monkeypatch.setattr("zenserve.service.jobs.claims._PAUSES", (3600.0,))
    add_job(runtime)
    with runtime.database.write() as session:
        Claims(session).claim("job_1", "dead", 60.0)
        Reaping(session).expire("dead")
    reap(runtime)
    with runtime.database.read() as session:
        assert Jobs(session).state("job_1") == "queued"
    assert messages(runtime) == []  # it pauses
    with runtime.database.write() as session:
        session.execute(update(Job).values(available_at=now()))
    reap(runtime)
    assert len(messages(runtime)) == 1


def test_a_broker_that_is_down_costs_nothing_but_time(
    with_model: Runtime, api: Client, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not that of every caller: after the first it is left alone."""
    tried = []

    def down(*_: object, **__: object) -> None:
        tried.append(1)
        raise OSError("no space left on device")

    monkeypatch.setattr(zenserve.service.jobs.queue, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    monkeypatch.setattr(with_model.queue.celery, "send_task", down)
    proofs = [api.create_proof(model.id, [0.1, 0.2, 0.3, 0.4]) for _ in range(2)]
    assert [proof.state for proof in proofs] == ["queued", "queued"]
    assert tried == [1]
    assert messages(with_model) == []
    with closing(Runtime.open(with_model.settings)) as elsewhere:
        reap(elsewhere, pick_up_seconds=0.0)
    assert len(messages(with_model)) == 2


def test_a_broker_that_is_down_is_tried_by_one_caller_at_a_time_until_it_is_up(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, moment, up = runtime.queue, 1000.0, False
    tried: list[str] = []

    def send_task(*_: object, args: list[str], **__: object) -> None:
        tried.append(args[0])
        if len(tried) > 1 and args != ["as ever"]:
            queue.send("another caller, while this one waits")
        if not up:
            raise OSError("no answer")

    monkeypatch.setattr(zenserve.service.jobs.queue, "time", SimpleNamespace(monotonic=lambda: moment))
    monkeypatch.setattr(queue.celery, "send_task", send_task)
    queue.send("the first")
    queue.send("while it rests")
    for up in (False, False, True):
        moment += REST_SECONDS
        queue.send(f"up: {up}")
    queue.send("as ever")
    assert tried == ["the first", "up: False", "up: False", "up: True", "as ever"]


def test_a_sweep_deletes_what_no_row_refers_to_once_it_is_old(with_model: Runtime, model: Model) -> None:
    store = with_model.store
    with with_model.database.read() as session:
        row = Models(session).get(model.id)
    orphan = store.put(b"sealed, but never committed")
    unfinished = store.path(orphan).parent.parent / "incoming" / "unfinished"
    unfinished.touch()
    sweep(with_model)
    assert store.get(orphan)
    for file in store.path(orphan).parent.parent.glob("*/*"):
        os.utime(file, (0, 0))
    sweep(with_model)
    assert store.missing({orphan})
    assert not unfinished.exists()
    with with_model.database.read() as session:
        keys = list(session.scalars(select(Circuit.proving_key)))
    assert len(keys) == 2  # of the registration and of the default proof
    assert all(store.get(digest) for digest in (row.quantised, *keys))


@pytest.mark.parametrize("end", ["succeeded", "canceled"])
def test_the_input_is_deleted_when_the_proof_is_over(
    with_model: Runtime, api: Client, model: Model, end: str
) -> None:
    proof = api.create_proof(model.id, [0.1, 0.2, 0.3, 0.4])
    with with_model.database.read() as session:
        row = session.get(Proof, proof.id)
        assert row is not None
        assert row.input is not None
        sealed = with_model.store.path(row.input)
    assert sealed.exists()
    reap(with_model)
    assert sealed.exists()
    if end == "succeeded":
        work_on(with_model, proof.id)
    else:
        api.cancel(proof.id)
    reap(with_model)
    assert not sealed.exists()
    assert api.get_proof(proof.id).state == end
