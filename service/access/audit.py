"""The audit log: every change, every opening that was handed out, every key that was refused."""

from __future__ import annotations

from sqlalchemy.orm import Session

from zenserve.service import log
from zenserve.service.access.principal import Principal
from zenserve.service.storage.database import now
from zenserve.service.storage.records.accounts import AuditEntry
from zenserve.service.storage.repositories.accounts import AuditLog


def note(
    session: Session, principal: Principal, action: str, target: str | None, *, tenant_id: str | None = None
) -> None:
    """Note who did what, to what: in the transaction that does it, so that one is there with the other.

    ``tenant_id``: whose it was, where it was not the caller's tenant's.
    """
    AuditLog(session).add(
        AuditEntry(
            at=now(),
            tenant_id=tenant_id or principal.tenant_id,
            actor=principal.actor,
            action=action,
            target=target,
            request_id=log.request_id(),
            address=principal.address and principal.address[:64],
        )
    )
