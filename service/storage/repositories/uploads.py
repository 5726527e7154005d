"""Queries on uploads: files of one tenant, by their SHA-256, until they are used or expire."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from zenserve.errors import NotFoundError
from zenserve.service.storage.records.accounts import Upload


class Uploads:
    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, tenant_id: str, sha256: str, field: str = "sha256") -> Upload:
        """Raises ``NotFoundError``."""
        if upload := self._session.get(Upload, (tenant_id, sha256)):
            return upload
        raise NotFoundError(
            "not_found", f"there is no upload {sha256!r}; bring it with PUT /v1/uploads/{sha256}", field=field
        )

    def replace(self, upload: Upload) -> str | None:
        """Add it, or put it in the place of an equal one. What that was in the store."""
        earlier = self._session.get(Upload, (upload.tenant_id, upload.sha256))
        content = earlier.content if earlier else None
        self._session.merge(upload)
        return content

    def delete(self, tenant_id: str, sha256: str) -> str:
        """Delete the upload and return its digest in the store. Raises ``NotFoundError``."""
        upload = self.get(tenant_id, sha256)
        self._session.delete(upload)
        return upload.content

    def delete_expired(self, tenant_id: str, sha256: str, moment: datetime) -> str | None:
        """Delete the upload if it has expired and return its digest in the store.

        None where it is not there or no longer expired.
        """
        gone = delete(Upload).where(
            Upload.tenant_id == tenant_id, Upload.sha256 == sha256, Upload.expires_at < moment
        )
        return self._session.scalar(gone.returning(Upload.content))

    def bytes_of(self, tenant_id: str, but: str) -> int:
        """Return the number of bytes that the tenant has uploaded, without the file ``but``."""
        sizes = select(func.sum(Upload.size)).where(Upload.tenant_id == tenant_id, Upload.sha256 != but)
        return int(self._session.scalar(sizes) or 0)

    def expired(self, moment: datetime) -> Sequence[Upload]:
        return self._session.scalars(select(Upload).where(Upload.expires_at < moment)).all()
