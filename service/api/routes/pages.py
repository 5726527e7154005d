"""Pages for people, and the files that these and the dashboard are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.responses import RedirectResponse

from zenserve.errors import NotFoundError
from zenserve.service.api import pages

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=["GET", "HEAD"])
async def first_page() -> Response:
    """Redirect from the root of the service's address to the dashboard."""
    return RedirectResponse("/admin", 303)


@router.api_route("/verify", methods=["GET", "HEAD"])
async def verify_page() -> Response:
    """Return the page on which a third party drops a proof and reads what it proves.

    The page is one file, sent as it is stored; it makes no requests.
    """
    return _html(
        pages.read()["verify.html"].content, {"Content-Security-Policy": pages.policy("verify.html")}
    )


@router.api_route("/docs", methods=["GET", "HEAD"])
async def docs_page() -> Response:
    """The API's description, to read and to try."""
    return _html(pages.page("docs.html"), {})


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
    }
    if if_none_match is not None and etag in if_none_match:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)


def _html(content: bytes, headers: Mapping[str, str]) -> Response:
    return Response(
        content, media_type="text/html; charset=utf-8", headers={"Cache-Control": "no-cache", **headers}
    )
