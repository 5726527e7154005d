"""The parts of JSON documents from strangers. Errors: ``FileFormatError`` (``file.json``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zenerrors import FileFormatError


def check_header(document: Any, what: str, expected: Mapping[str, str | int]) -> None:
    """Whether ``document`` is an object whose fields have the values ``expected``."""
    if not isinstance(document, Mapping):
        raise FileFormatError("file.json", f"{what} must be a JSON object")
    for name, value in expected.items():
        found = document.get(name)
        if found != value or type(found) is not type(value):
            raise FileFormatError("file.json", f"{name} must be {value!r}", field=name)


def from_hex(text: Any, field: str) -> bytes:
    """The bytes of lower-case hex digits: each value has one spelling."""
    try:
        data = bytes.fromhex(text)
    except (TypeError, ValueError):
        data = None
    if data is None or data.hex() != text:
        raise FileFormatError("file.json", f"{field} must be a string of lower-case hex digits", field=field)
    return data


def hex_list(value: Any, field: str) -> Iterator[bytes]:
    return (from_hex(text, f"{field}[{index}]") for index, text in enumerate(as_list(value, field)))


def as_list(value: Any, field: str) -> list[Any]:
    if not isinstance(value, list):
        raise FileFormatError("file.json", f"{field} must be a list", field=field)
    return value


def natural(value: Any, field: str) -> int:
    """An integer from 0 to 2^32 - 1."""
    if type(value) is not int or not 0 <= value < 1 << 32:
        raise FileFormatError("file.json", f"{field} must be an integer from 0 to 2^32 - 1", field=field)
    return value
