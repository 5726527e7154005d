"""Rows that a job of their own completes."""

from __future__ import annotations

from service.jobs import Jobs
from service.runtime import Runtime
from service.tables import Dataset, Model


def submit(runtime: Runtime, kind: str, row: Model | Dataset, idempotency_key: str | None, mac: bytes) -> str:
    """Add the row and queue its job, unless its ``Idempotency-Key`` made one meanwhile. The id of the row."""
    with runtime.database.write() as session:
        if earlier := Jobs(session).earlier(idempotency_key, mac):
            return earlier
        Jobs(session).create(row.id, kind, idempotency_key, mac)
        session.add(row)
    runtime.enqueue(row.id)
    return row.id
