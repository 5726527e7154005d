"""Static pages, and what they are made of: files beside this one, read once."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_STATIC: Final = re.compile(rb'"/static/([a-z.]+)"')
_POLICY: Final = re.compile(rb'http-equiv="Content-Security-Policy" content="([^"]+)"')


class File(NamedTuple):
    content: bytes
    media_type: str
    digest: str


@cache
def read() -> dict[str, File]:
    """All files by name."""
    found = {}
    for entry in files(__name__).iterdir():
        media_type = _TYPES.get(entry.name.rpartition(".")[2])
        if media_type is not None:
            content = entry.read_bytes()
            found[entry.name] = File(content, media_type, hashlib.sha256(content).hexdigest()[:16])
    return found


def address(name: str) -> str:
    """Of a file, such that it can be kept for ever: another content has another address."""
    return f"/static/{name}?v={read()[name].digest}"


@cache
def page(name: str) -> bytes:
    """An HTML file in which links to files are their addresses."""
    return _STATIC.sub(lambda link: f'"{address(link[1].decode())}"'.encode(), read()[name].content)


@cache
def policy(name: str) -> str:
    """The Content-Security-Policy that an HTML file has in it, and what only a header can say: nobody may
    frame it.
    """
    (within,) = _POLICY.findall(read()[name].content)
    return f"{within.decode()}; frame-ancestors 'none'"
