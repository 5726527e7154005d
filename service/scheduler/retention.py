"""Deletion of what is kept for a time only.

That is proofs and streams that are over, uploads that nobody used, states that were handed in to be verified,
and logins.
"""

from __future__ import annotations

from datetime import datetime

from zenserve.errors import ConflictError, NotFoundError
from zenserve.service import log
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.accounts import Upload
from zenserve.service.storage.repositories import Contributions, Proofs, Streams
from zenserve.service.storage.repositories.accounts import Logins
from zenserve.service.storage.repositories.uploads import Uploads


def forget(runtime: Runtime) -> None:
    """Delete whatever is past its time."""
    with runtime.database.read() as session:
        moment = clock(session)
        proofs = Proofs(session).past(moment, runtime.settings.retention_days)
        streams = Streams(session).past(moment, runtime.settings.retention_days)
        uploads = Uploads(session).expired(moment)
        contributions = Contributions(session).over_with_handed()
    for proof_id in proofs:
        _forget_proof(runtime, proof_id)
    for stream_id in streams:
        _forget_stream(runtime, stream_id)
    for upload in uploads:
        _forget_upload(runtime, upload, moment)
    for contribution_id in contributions:
        _forget_handed(runtime, contribution_id)
    with runtime.database.write() as session:
        Logins(session).remove_old(moment)


def _forget_proof(runtime: Runtime, proof_id: str) -> None:
    try:
        with runtime.database.write() as session:
            proof = Proofs(session).delete(proof_id)
    except (NotFoundError, ConflictError):  # deleted meanwhile, or retried
        return
    for digest in (proof.input, proof.proofs):
        if digest is not None:
            runtime.store.delete(digest)
    log.event("proof.forgotten", id=proof_id)


def _forget_stream(runtime: Runtime, stream_id: str) -> None:
    try:
        with runtime.database.write() as session:
            stored = Streams(session).delete(stream_id)
    except (NotFoundError, ConflictError):
        return
    for digest in stored:
        if digest is not None:
            runtime.store.delete(digest)
    log.event("stream.forgotten", id=stream_id)


def _forget_upload(runtime: Runtime, upload: Upload, moment: datetime) -> None:
    with runtime.database.write() as session:
        content = Uploads(session).delete_expired(upload.tenant_id, upload.sha256, moment)
    if content is not None:  # neither used nor brought again meanwhile
        runtime.store.delete(content)


def _forget_handed(runtime: Runtime, contribution_id: str) -> None:
    with runtime.database.write() as session:
        files = Contributions(session).drop_handed(contribution_id)
    for content in files:
        runtime.store.delete(content)
