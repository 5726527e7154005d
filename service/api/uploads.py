"""Files that are brought ahead of the request that names them by their SHA-256, sealed while they arrive."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Final

from fastapi import Request, UploadFile
from starlette.concurrency import run_in_threadpool

from zenserve.errors import RequestError, ResourceError, ZenError
from zenserve.service import encryption
from zenserve.service.access import audit
from zenserve.service.access.principal import Principal
from zenserve.service.api.body_limit import drain
from zenserve.service.runtime import Runtime
from zenserve.service.spool import pieces
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.accounts import Upload
from zenserve.service.storage.repositories.accounts import Tenants
from zenserve.service.storage.repositories.uploads import Uploads
from zenserve.service.submissions.files import Handed

KEPT: Final = timedelta(hours=24)


def handed(field: str, file: UploadFile | None, sha256: str | None) -> Handed:
    """Raises ``RequestError`` (``request.invalid``) unless it is one of the two."""
    if (file is None) == (sha256 is None):
        reason = f"send a file (curl: -F {field}=@FILE), or name an upload by {field}_sha256"
        raise RequestError("request.invalid", f"{field}: {reason}", field=field)
    if file is None:
        return Handed(field, sha256 or "")
    digest = hashlib.sha256()
    for piece in pieces(file.file):
        digest.update(piece)
    return Handed(field, digest.hexdigest(), file.file)


async def receive(
    runtime: Runtime, principal: Principal, request: Request, sha256: str, announced: int
) -> Upload:
    """Store the request's body.

    Raises ``ResourceError`` (``quota.uploads``) where the tenant has no room for it, and ``RequestError``
    (``request.digest``) where it is something else than it was said to be.
    """
    tenant_id = principal.tenant_id
    room = await run_in_threadpool(_room, runtime, tenant_id, sha256)
    size, digest = 0, hashlib.sha256()
    sealing = runtime.vault.sealing(encryption.of_upload(tenant_id, sha256))
    try:
        with runtime.store.scratch() as path:
            with path.open("wb") as file:
                _require_room(announced, room)
                file.write(sealing.start())
                async for chunk in request.stream():
                    size += len(chunk)
                    _require_room(size, room)
                    digest.update(chunk)
                    file.write(sealing.update(chunk))
                file.write(sealing.finish())
            if digest.hexdigest() != sha256:
                raise RequestError(
                    "request.digest",
                    f"what arrived, {size} bytes, does not have the SHA-256 of the path; send the file once"
                    " more",
                    field="sha256",
                )
            return await run_in_threadpool(_keep, runtime, principal, sha256, size, path)
    except ResourceError:
        await drain(request.receive)  # or it breaks while the caller still sends, who then never reads why
        raise


def _keep(runtime: Runtime, principal: Principal, sha256: str, size: int, path: Path) -> Upload:
    tenant_id, content = principal.tenant_id, runtime.store.put_file(path)
    try:
        with runtime.database.write() as session:
            uploads = Uploads(session)
            Tenants(session).hold(tenant_id)  # of two uploads at once the later one counts the other
            _require_room(size, runtime.settings.max_uploads_bytes - uploads.bytes_of(tenant_id, sha256))
            moment = clock(session)
            upload = Upload(
                tenant_id=tenant_id,
                sha256=sha256,
                size=size,
                content=content,
                created_at=moment,
                expires_at=moment + KEPT,
            )
            replaced = uploads.replace(upload)
            audit.note(session, principal, "upload.create", sha256)
    except ZenError:
        runtime.store.delete(content)
        raise
    if replaced is not None:
        runtime.store.delete(replaced)
    return upload


def _room(runtime: Runtime, tenant_id: str, sha256: str) -> int:
    with runtime.database.read() as session:
        return runtime.settings.max_uploads_bytes - Uploads(session).bytes_of(tenant_id, sha256)


def _require_room(size: int, room: int) -> None:
    if size > room:
        raise ResourceError(
            "quota.uploads", f"there is room for {max(room, 0)} bytes of uploads; delete some, or use them"
        )
