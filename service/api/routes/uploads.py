"""Uploads: files that are brought once, and then named by their SHA-256."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request, Response

from zenserve.service.api import problems, uploads
from zenserve.service.api.routes.dependencies import RuntimeDep, Uploader
from zenserve.service.api.routes.forms import SHA256
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.api.schemas import UploadView, upload_view
from zenserve.service.storage.repositories.uploads import Uploads
from zenserve.service.submissions import files

router = APIRouter(tags=["uploads"], route_class=ApiRoute)

Sha256 = Annotated[str, Path(pattern=SHA256, description="Of the file, in hex.", examples=["5d" * 32])]
_BINARY: Final[dict[str, Any]] = {
    "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {}, "example": "…"}}}
}


@router.put("/uploads/{sha256}", status_code=201, responses=problems.responses(507), openapi_extra=_BINARY)
async def put_upload(
    runtime: RuntimeDep, principal: Uploader, request: Request, sha256: Sha256
) -> UploadView:
    """Bring a file ahead of the request that names it (`model_sha256` and the like). It is kept encrypted
    until that request, for a day at most. Bringing it again is no error.
    """
    announced = int(request.headers.get("content-length", 0))
    upload = await uploads.receive(runtime, principal, request, sha256, announced)
    return upload_view(upload)


@router.head("/uploads/{sha256}", response_class=Response, responses=problems.responses(404))
def head_upload(runtime: RuntimeDep, principal: Uploader, sha256: Sha256) -> Response:
    """Tell whether a file is there."""
    with runtime.database.read() as session:
        Uploads(session).get(principal.tenant_id, sha256)
    return Response()


@router.delete("/uploads/{sha256}", status_code=204, responses=problems.responses(404))
def delete_upload(runtime: RuntimeDep, principal: Uploader, sha256: Sha256) -> None:
    """Forget a file."""
    files.forget(runtime, principal, sha256)
