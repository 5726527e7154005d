"""Files that requests hand in: along with them, or brought before and named by their SHA-256."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

from sqlalchemy.orm import Session

from zenserve.service import encryption
from zenserve.service.access import audit
from zenserve.service.access.principal import Principal
from zenserve.service.runtime import Runtime
from zenserve.service.storage.repositories.uploads import Uploads


@dataclass(frozen=True)
class Handed:
    """A file of a request: one that came with it, or the hash of an upload."""

    field: str
    sha256: str
    content: BinaryIO | None = None

    def open(self, runtime: Runtime, tenant_id: str) -> BinaryIO:
        """The file, to be closed. Raises ``NotFoundError`` where there is no such upload."""
        if self.content is not None:
            return self.content
        with runtime.database.read() as session:
            upload = Uploads(session).get(tenant_id, self.sha256, f"{self.field}_sha256")
        return encryption.get_file(runtime, encryption.of_upload(tenant_id, self.sha256), upload.content)


def use_up(session: Session, tenant_id: str, files: Iterable[Handed]) -> list[str]:
    """Forget the uploads among these files. What they were in the store, to be deleted after the commit."""
    used = {file.sha256 for file in files if file.content is None}
    return [Uploads(session).delete(tenant_id, sha256) for sha256 in used]


def forget(runtime: Runtime, caller: Principal, sha256: str) -> None:
    """Raises ``NotFoundError``."""
    with runtime.database.write() as session:
        content = Uploads(session).delete(caller.tenant_id, sha256)
        audit.note(session, caller, "upload.delete", sha256)
    runtime.store.delete(content)
