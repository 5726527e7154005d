"""Pages for people, and the files that these and the dashboard are made of."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Header, Response

from service.api import pages
from zenerrors import NotFoundError

# Nothing from elsewhere, nothing inline, in nobody's frame.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

router = APIRouter(include_in_schema=False)


@router.api_route("/verify", methods=["GET", "HEAD"])
async def verify_page() -> Response:
    """Where a third party drops a proof and reads what it proves."""
    return Response(
        pages.page("verify.html"),
        media_type="text/html; charset=utf-8",
        headers={
            "Content-Security-Policy": POLICY,
            "Cache-Control": "no-cache",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        },
    )


@router.api_route("/static/{name}", methods=["GET", "HEAD"])
async def static_file(
    name: str, v: str = "", if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """A file of a page. Under the address that ``pages.address`` gives it, it can be kept for ever."""
    file = pages.read().get(name)
    if file is None or name.endswith(".html"):
        raise NotFoundError("not_found", f"there is no file {name!r}", field="name")
    etag = f'"{file.digest}"'
    lasting = v == file.digest
    headers = {
        "ETag": etag,
        "Cache-Control": "public, max-age=31536000, immutable" if lasting else "public, no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    if if_none_match is not None and etag in if_none_match:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)
