"""The audit log: every change, every opening that was handed out, every key that was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.orm import Session
from starlette.requests import HTTPConnection

from service.jobs.lifecycle import now
from service.storage.repositories.accounts import AuditLog
from service.storage.tables import AuditEntry

if TYPE_CHECKING:
    from service.api.access import Principal


def note(
    session: Session,
    principal: Principal,
    action: str,
    target: str | None,
    request: HTTPConnection | None,
    *,
    tenant_id: str | None = None,
) -> None:
    """Note who did what, to what: in the transaction that does it, so that one is there with the other.

    Without a ``request`` it was somebody at the command line. ``tenant_id``: whose it was, where it
    was not the caller's tenant's.
    """
    request_id = getattr(request.state, "request_id", None) if request else None
    AuditLog(session).add(
        AuditEntry(
            at=now(),
            tenant_id=tenant_id or principal.tenant_id,
            actor=principal.actor,
            action=action,
            target=target,
            request_id=request_id and request_id[:40],
            address=request.client.host[:64] if request and request.client else None,
        )
    )
