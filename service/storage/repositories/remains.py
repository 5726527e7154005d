"""The resources that a tenant in deletion still has."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Select, delete, exists, select
from sqlalchemy.orm import Session

from zenserve.service.storage.records.accounts import ApiKey, AuditEntry, Tenant, Upload
from zenserve.service.storage.records.ceremonies import Ceremony
from zenserve.service.storage.records.jobs import TERMINAL, Job
from zenserve.service.storage.records.resources import Commitment, Dataset, Model, ModelName, Proof
from zenserve.service.storage.records.streams import Stream
from zenserve.service.storage.records.webhooks import Delivery, Webhook

Kind = Literal[
    "delivery",
    "webhook",
    "key",
    "upload",
    "job",
    "stream",
    "proof",
    "dataset",
    "commitment",
    "ceremony",
    "model",
]


class Remains:
    def __init__(self, session: Session) -> None:
        self._session = session

    def tenants(self) -> list[str]:
        """Ids of tenants whose end was asked for."""
        return list(self._session.scalars(select(Tenant.id).where(Tenant.deleted_at.is_not(None))))

    def some(self, tenant_id: str, limit: int) -> list[tuple[Kind, str]]:
        """Return at most ``limit`` resources to delete and jobs to cancel, in the order of deletion."""
        found: list[tuple[Kind, str]] = []
        for kind, ids in _of(tenant_id).items():
            rows = self._session.scalars(ids.limit(limit - len(found)))
            found += [(kind, row_id) for row_id in rows]
            if len(found) == limit:
                break
        return found

    def delete_row(self, kind: Kind, row_id: str) -> None:
        """Of what nothing else goes with."""
        table: Any = {"delivery": Delivery, "webhook": Webhook, "key": ApiKey}[kind]
        self._session.execute(delete(table).where(table.id == row_id))

    def end(self, tenant_id: str, moment: datetime) -> bool:
        """Delete the tenant itself, and note it, if nothing is left of it."""
        self._session.execute(select(Tenant.id).where(Tenant.id == tenant_id).with_for_update())
        for table in (Job, Commitment, Upload, ApiKey, Webhook):
            if self._session.scalar(select(exists().where(table.tenant_id == tenant_id))):
                return False
        self._session.execute(delete(ModelName).where(ModelName.tenant_id == tenant_id))
        if self._session.scalar(delete(Tenant).where(Tenant.id == tenant_id).returning(Tenant.id)):
            entry = {"actor": "beat", "action": "tenant.gone", "target": tenant_id}
            self._session.add(AuditEntry(at=moment, tenant_id=tenant_id, **entry))
        return True


def _of(tenant_id: str) -> dict[Kind, Select[str]]:
    mine = Job.tenant_id == tenant_id
    over, asked = Job.state.in_(TERMINAL), Job.cancel_requested.is_(True)
    return {
        "delivery": select(Delivery.id).join(Webhook).where(Webhook.tenant_id == tenant_id),
        "webhook": select(Webhook.id).where(Webhook.tenant_id == tenant_id),
        "key": select(ApiKey.id).where(ApiKey.tenant_id == tenant_id),
        "upload": select(Upload.sha256).where(Upload.tenant_id == tenant_id),
        "job": select(Job.id).where(mine, Job.kind != "shard", ~over, ~asked),
        "stream": select(Stream.id).join(Job, Job.id == Stream.id).where(mine, over),
        "proof": select(Proof.id).join(Job).where(mine, over, Job.parent_id.is_(None)),
        "dataset": select(Dataset.id).join(Job).where(mine, over),
        "commitment": select(Commitment.id).where(Commitment.tenant_id == tenant_id),
        "ceremony": select(Ceremony.id).join(Job, Job.id == Ceremony.id).where(mine, over),
        "model": select(Model.id).join(Job).where(mine, over),
    }
