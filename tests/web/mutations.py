"""Documents changed at random, from a seed: as JSON data, and as its text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from zenserve.verifier.document import parse_json

Json = Any
Place = tuple[Any, Any]
"""An object or a list, and the name or index of what is in it."""

_ODD: Final[list[Json]] = [
    *("00" * length for length in (32, 48, 64)),
    *("G" * 64, 10**400),
    *json.loads(r"""[null, true, false, 0, 1, -1, 3, 2.0, 0.5, -0.0, 1e300, 2147483648, 9007199254740991,
    9007199254740992, 18446744073709551616,
    "", "a", "é", "\ud83d\ude00", "e\u0301", "\u0000", "\u007f", "\u00a0",
    "\u200b", "\u2028", "\ufeff", "\ue000", "00", "3", "constructor", "__proto__", "2026-02-29T00:00:00Z",
    "2024-02-29T23:59:59Z", "2026-11-22T24:00:00Z", "0000-01-01T00:00:00Z", "zenserve proof",
    "zenserve receipt", "groth16-bls12-381", "development", "registration", "accuracy", [], {}, [0], [[]],
    {"": 0}, {"__proto__": 1}, [1, 1.5]]"""),
]
_NAMES: Final = (
    "more",
    "__proto__",
    "constructor",
    "toString",
    "system",
    "opening",
    "format",
    "version",
    "Ä",
)
_NUMBERS: Final = (
    "{}.0",
    "{}e0",
    "{}E+00",
    "0.{}e1",
    "{}0e-1",
    "-{}",
    "0{}",
    "+{}",
    "{}.",
    "{}1e400",
    "{}" + "0" * 20,
)


def change(data: bytes, draw: random.Random) -> bytes:
    """Another text, which may say the same; what is no JSON stays as it is."""
    try:
        fields = parse_json(data)
    except ValueError:
        return data
    for _ in range(draw.choice((1, 1, 1, 2))):
        draw.choice(_IN_DATA)(fields, draw)
    text = json.dumps(fields, ensure_ascii=draw.random() < 0.5, separators=(",", ":")).encode(
        errors="replace"
    )
    return draw.choice(_IN_TEXT)(text, draw) if draw.random() < 0.3 else text


def _places(value: Json) -> Iterator[Place]:
    for name in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, name
        if isinstance(value[name], dict | list):
            yield from _places(value[name])


def _pick(fields: Json, draw: random.Random, fits: Callable[[Json], bool] = lambda _: True) -> Place | None:
    """Of few large lists and many small fields, each name is as likely as another."""
    places = [place for place in _places(fields) if fits(place[0][place[1]])] if fields else []
    names = sorted({str(name) for _, name in places})
    if not names:
        return None
    name = draw.choice(names)
    return draw.choice([place for place in places if str(place[1]) == name])


def _replace(fields: Json, draw: random.Random) -> None:
    if place := _pick(fields, draw):
        place[0][place[1]] = json.loads(json.dumps(draw.choice(_ODD)))


def _drop(fields: Json, draw: random.Random) -> None:
    if place := _pick(fields, draw):
        del place[0][place[1]]


def _add(fields: Json, draw: random.Random) -> None:
    if place := _pick(fields, draw, lambda value: isinstance(value, dict | list)):
        inside = place[0][place[1]]
        if isinstance(inside, dict):
            inside[draw.choice(_NAMES)] = draw.choice(_ODD)
        else:
            inside.append(draw.choice([*_ODD, *inside]))


def _swap(fields: Json, draw: random.Random) -> None:
    if (one := _pick(fields, draw)) and (other := _pick(fields, draw)):
        value = json.dumps(one[0][one[1]])
        other[0][other[1]] = json.loads(value)


def _wrap(fields: Json, draw: random.Random) -> None:
    if place := _pick(fields, draw):
        for _ in range(draw.choice((1, 1, 70, 198, 300))):
            place[0][place[1]] = draw.choice((lambda value: [value], lambda value: {"a": value}))(
                place[0][place[1]]
            )


def _step(fields: Json, draw: random.Random) -> None:
    if place := _pick(fields, draw, lambda value: type(value) in (int, float)):
        with suppress(OverflowError):  # what was stretched has no number of floating point beside it
            place[0][place[1]] += draw.choice((-1, 1, 0.0, 0.5, 1 << 32))


def _respell(fields: Json, draw: random.Random) -> None:
    """Another text of nearly the same characters."""
    if place := _pick(fields, draw, lambda value: isinstance(value, str) and value != ""):
        text = place[0][place[1]]
        index = draw.randrange(len(text))
        changed = draw.choice(
            (
                text.upper(),
                text[:-1],
                text + draw.choice("0 a\n\U0001f600"),
                text[:index] + draw.choice("0fA \x00é\u200b") + text[index + 1 :],
                text[:index] + text[index + 2 :],
                text * draw.choice((2, 3, 201)),
            )
        )
        place[0][place[1]] = changed


_IN_DATA: Final = (_replace, _replace, _drop, _add, _swap, _wrap, _step, _respell, _respell)


def _number(text: bytes, draw: random.Random) -> bytes:
    digits = [
        index
        for index in range(1, len(text))
        if text[index : index + 1].isdigit() and text[index - 1] in b":[,"
    ]
    if not digits:
        return text
    index = draw.choice(digits)
    return text[:index] + draw.choice(_NUMBERS).format(chr(text[index])).encode() + text[index + 1 :]


def _byte(text: bytes, draw: random.Random) -> bytes:
    index = draw.randrange(len(text))
    return (
        text[:index]
        + bytes([draw.choice(b'\x00\n "\\[]{},:0e-\x80\xff\xed')])
        + text[index + draw.randrange(2) :]
    )


def _cut(text: bytes, draw: random.Random) -> bytes:
    return (
        text[: draw.randrange(len(text))]
        if draw.random() < 0.5
        else text + draw.choice((b" \r\n\t", b"\x00", b"\xc2\xa0", b","))
    )


def _escape(text: bytes, draw: random.Random) -> bytes:
    index = draw.randrange(len(text))
    escaped = draw.choice(
        (
            f"\\u{text[index]:04x}",
            f"\\u{text[index]:04X}",
            "\\ud800",
            "\\ud83d\\ude00",
            "\\/",
            "\\x41",
            "\\u00e",
        )
    )
    return text[:index] + escaped.encode() + text[index + 1 :]


def _twice(text: bytes, draw: random.Random) -> bytes:
    places = [index for index in range(len(text)) if text[index : index + 1] == b"{"]
    if not places:
        return text
    index = draw.choice(places)
    field = draw.choice((b'"version":3,', b'"a":1,"a":1,', b'"\\u0061":1,', b'"id":null,'))
    return text[: index + 1] + field + text[index + 1 :]


def _mark(text: bytes, draw: random.Random) -> bytes:
    return draw.choice((b"\xef\xbb\xbf" + text, b"\n\t " + text, text.decode().encode("utf-16")))


_IN_TEXT: Final = (_number, _number, _byte, _cut, _escape, _twice, _mark)
