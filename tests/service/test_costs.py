"""What a submission costs the database, and what it says that its job will take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import event, text

from tests.servers import fresh_database
from zenserve.service import engine
from zenserve.service.access.principal import LOCAL
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import Database
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Model
from zenserve.service.submissions import proofs
from zenserve.service.submissions.requests import ProofRequest

MOST_STATEMENTS = 11


@pytest.fixture
def statements(with_model: Runtime) -> Iterator[list[str]]:
    """Those that ask or write, as they are executed."""
    seen = list[str]()

    def noted(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE")):
            seen.append(statement)

    event.listen(with_model.database.engine, "before_cursor_execute", noted)
    yield seen
    event.remove(with_model.database.engine, "before_cursor_execute", noted)


def asked(runtime: Runtime) -> str:
    with runtime.database.read() as session:
        (model_id,) = session.scalars(text("SELECT id FROM models")).all()
    return proofs.ask(runtime, LOCAL, ProofRequest(model_id=model_id, input=[0.1, 0.2, 0.3, 0.4]), "a key")


def test_a_submission_takes_few_statements(with_model: Runtime, statements: list[str]) -> None:
    asked(with_model)
    assert len(statements) <= MOST_STATEMENTS, statements


def test_the_estimate_of_a_small_job_has_what_is_paid_beside_its_proof(with_model: Runtime) -> None:
    """It was what the proof's rows take alone: 5 ms of 0.64 s."""
    proof_id = asked(with_model)
    with with_model.database.read() as session:
        job, model = session.get_one(Job, proof_id), session.scalars(text("SELECT id FROM models")).one()
        estimate = session.get_one(Model, model).estimate
    assert estimate is not None
    assert job.cost == estimate["cost"] > engine.BESIDE_SECONDS
    assert estimate["proof_seconds"] > engine.BESIDE_SECONDS


def test_a_connection_that_was_lost_while_it_lay_idle_is_replaced(postgres_url: str) -> None:
    url = fresh_database(postgres_url)
    own = Database(url)
    with own.read() as session:
        (pid,) = session.execute(text("SELECT pg_backend_pid()")).one()
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    with own.read() as session:
        assert session.execute(text("SELECT pg_backend_pid()")).one() != (pid,)
    own.close()
