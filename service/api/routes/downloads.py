"""Files that callers download, whole or one part of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fastapi import Request
from fastapi.responses import FileResponse

from zenserve.errors import RequestError
from zenserve.service.api import problems

_MEDIA_TYPE: Final = "application/octet-stream"
_RANGE: Final = re.compile("bytes=(?P<first>[0-9]{1,15})-(?P<last>[0-9]{0,15})")

_BINARY: Final = {"type": "string", "format": "binary"}
BYTES: Final[dict[str, Any]] = {_MEDIA_TYPE: {"schema": _BINARY, "example": "…"}}
RESPONSES: Final[dict[int | str, dict[str, Any]]] = problems.responses(404, 416) | {
    200: {"description": "The file", "content": BYTES},
    206: {"description": "The part of it that `Range` asks for", "content": BYTES},
}


def send_file(request: Request, file: Path, headers: Mapping[str, str]) -> FileResponse:
    """The file, or the part that ``Range`` asks for. Raises ``RequestError`` (``request.range``) for any
    other range than one part of the file: the framework would answer these in plain text.
    """
    asked, size = request.headers.get("Range"), file.stat().st_size
    part = None if asked is None else _RANGE.fullmatch(asked)
    if asked is not None and (
        part is None or int(part["first"]) >= size or int(part["last"] or size) < int(part["first"])
    ):
        raise RequestError(
            "request.range", f"Range: ask for one part of these {size} bytes, as bytes=4096-", field="Range"
        )
    return FileResponse(file, media_type=_MEDIA_TYPE, headers=headers)
