"""JSON documents from strangers, and their parts. Errors of parts: ``FileFormatError`` (``file.json``)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic_core import from_json

from zenserve.errors import FileFormatError

# Controls, what only directs text, spaces but one, surrogates, private use, and what is no character: what
# Unicode assigns later is printable before and after, whichever version a reader has.
_UNPRINTABLE: Final = re.compile(
    r"["
    r"\x00-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u1680\u180e"
    r"\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\uf8ff\ufdd0-\ufdef\ufeff\ufff0-\ufffb"
    r"\ufffe-\uffff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U0001fffe-\U0001ffff\U0002fffe-\U0002ffff\U0003fffe-\U0003ffff\U0004fffe-\U0004ffff"
    r"\U0005fffe-\U0005ffff\U0006fffe-\U0006ffff\U0007fffe-\U0007ffff\U0008fffe-\U0008ffff"
    r"\U0009fffe-\U0009ffff\U000afffe-\U000affff\U000bfffe-\U000bffff\U000cfffe-\U000cffff"
    r"\U000dfffe-\U000e00ff\U000e01f0-\U000e0fff\U000efffe-\U0010ffff"
    r"]"
)


def is_printable(text: str) -> bool:
    """Return whether all characters of ``text`` are printable (docs/formats.md)."""
    return _UNPRINTABLE.search(text) is None


def printable(text: str) -> str:
    """Text from elsewhere, fit to print: its control codes do nothing."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def parse_json(data: bytes | str) -> Any:
    """Return the value of a JSON text in UTF-8, which every reader must read alike.

    Raises ``ValueError`` for text that is not JSON (NaN and Infinity are not), for a field given twice, for
    numbers beyond a double or with thousands of digits, and for more than about 200 levels of nesting.
    """
    text = data if isinstance(data, str) else data.decode()
    if not text:
        raise ValueError("it is empty")
    # Python's own parser is bounded by the recursion limit only, which some libraries raise (py_ecc: to
    # 100 000): then nothing but brackets overflows the stack and kills the process. This one is not, and
    # takes no halves of surrogates; but it says nothing of a field given twice.
    from_json(text, allow_inf_nan=False)
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_float=_finite, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("an object has a field twice")
    return fields


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is beyond the range of a double")
    return number


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def check_header(document: Any, what: str, expected: Mapping[str, str | int]) -> None:
    """Check that ``document`` is an object whose fields have the values ``expected``. Raises
    ``FileFormatError`` (``file.json``)."""
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
