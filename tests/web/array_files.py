"""``.npy`` and ``.npz`` files from a seed: as writers make them, and with some statements changed."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

TYPES: Final = [
    order + kind for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8") for order in "<>"
]
_BYTES: Final = ["|i1", "|u1", "|b1", "<i1", ">u1", "<b1"]
_ODD_TYPES: Final = [
    "=f8",
    "f8",
    "|f8",
    "<f16",
    "<c8",
    "|S3",
    "<U1",
    "|O",
    "<d",
    "float64",
    "<M8[s]",
    "<f8\\x00",
    "",
    "?",
]
_ODD_VALUES: Final = [
    *(
        "1",
        "0",
        "None",
        "'<i4'",
        '"<f8"',
        "True",
        "False",
        "()",
        "(1)",
        "(,)",
        "(6,)",
        "(2, 3)",
        "(3, 2)",
        "[6]",
    ),
    *(
        "(6L,)",
        "(0x6,)",
        "(06,)",
        "(6_0,)",
        "(-6,)",
        "(+6,)",
        "(6.0,)",
        "(True,)",
        "(6,,)",
        "(1, 6",
        "'<f' '8'",
    ),
    *(
        "[('a', '<f8')]",
        "not True",
        "(0, 99999999999999999999)",
        "(0, 9007199254740992)",
        "(1,) * 6",
        "(2,3)",
    ),
    *(
        "(9007199254740993,)",
        "(4294967296, 4294967296, 0)",
        "(" + "1, " * 70 + ")",
        "b'<f8'",
        "('<f8')",
        "(²,)",
    ),
]
_INTEGERS: Final = [0, 1, 2, 3, 8, 9, 12, 20, 22, 45, 46, 63, 0x0806, 0x7FFF, 0xFFFF, 0xFFFFFFFE, 0xFFFFFFFF]
_NAMES: Final = [
    b"a.npy",
    b"b.npy",
    b"a",
    b"a.npy.npy",
    b"",
    b".npy",
    b"a\\b.npy",
    b"a/b.npy",
    b"\xc3\xa9.npy",
]
_ODD_NAMES: Final = [
    b"a\\b.npy",
    b"\xff.npy",
    b"a\0b.npy",
    b"a.npy\0",
    b"__proto__.npy",
    b"A.npy",
    b"a.npy ",
    b"a\n.npy",
]
_EXTRA: Final = [
    b"UT\5\0\3abcd",
    b"ux\x0b\0\1\4abcd\4efgh",
    b"\x0a\0\x20\0" + bytes(32),
    b"\1\0\0\0",
    b"\1\0\x08\0" + bytes(8),
    b"\1\0\x10\0" + bytes(16),
    b"up\7\0\1" + struct.pack("<I", zlib.crc32(b"a.npy")) + b"zz",
    b"\xfe\xca\0\0",
    b"UT\5\0abc",
    b"UT",
]
_LOCAL: Final = {
    "mark": "4s", "version": "H", "flags": "H", "method": "H", "time": "H", "date": "H",
    "checksum": "I", "packed": "I", "size": "I", "name_bytes": "H", "extra_bytes": "H",
}  # fmt: skip
_CENTRAL: Final = {
    "mark": "4s", "made_by": "H", **{name: form for name, form in _LOCAL.items() if name != "mark"},
    "comment_bytes": "H", "disk": "H", "internal": "H", "external": "I", "offset": "I",
}  # fmt: skip
_END: Final = {
    "mark": "4s", "disk": "H", "first_disk": "H", "here": "H", "count": "H", "bytes": "I", "start": "I",
    "comment_bytes": "H",
}  # fmt: skip

Fields = dict[str, Any]


def _packed(fields: Fields, form: dict[str, str]) -> bytes:
    limits = {"H": 0xFFFF, "I": 0xFFFFFFFF}
    values = [fields[name] & limits[kind] if kind in limits else fields[name] for name, kind in form.items()]
    return struct.pack("<" + "".join(form.values()), *values)


@dataclass
class Member:
    """A file in an archive; ``local`` and ``central`` are what its headers state beside what is so."""

    name: bytes
    content: bytes
    method: int = 0
    flags: int = 0
    zip64: bool = False
    local_extra: bytes = b""
    central_extra: bytes = b""
    comment: bytes = b""
    before: bytes = b""
    local: Fields = field(default_factory=dict)
    central: Fields = field(default_factory=dict)
    descriptor: bytes | None = None


@dataclass
class Archive:
    """``order``: of the members in the directory."""

    members: list[Member]
    order: list[int]
    before_directory: bytes = b""
    before_end: bytes = b""
    comment: bytes = b""
    end: Fields = field(default_factory=dict)

    def write(self) -> bytes:
        data, entries = b"", []
        for member in self.members:
            data += member.before
            own, entry = _headers(member, len(data))
            data += own
            entries.append(entry)
        data += self.before_directory
        start, directory = len(data), b"".join(entries[index] for index in self.order)
        end = {
            "mark": b"PK\5\6", "disk": 0, "first_disk": 0, "here": len(self.order), "count": len(self.order),
            "bytes": len(directory), "start": start, "comment_bytes": len(self.comment),
        }  # fmt: skip
        return data + directory + self.before_end + _packed(end | self.end, _END) + self.comment


def _headers(member: Member, place: int) -> tuple[bytes, bytes]:
    """What is written of a file before the directory, and its entry."""
    packed = member.content
    if member.method == 8:
        stream = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = stream.compress(packed) + stream.flush()
    sums = {"checksum": zlib.crc32(member.content), "packed": len(packed), "size": len(member.content)}
    common = {
        "version": 45 if member.zip64 else 20, "flags": member.flags, "method": member.method, "time": 7,
        "date": 33, "name_bytes": len(member.name),
    }  # fmt: skip
    late = bool(member.flags & 8)
    stated = dict.fromkeys(sums, 0) if late else sums
    extra = member.local_extra
    if member.zip64:
        extra += struct.pack("<HHQQ", 1, 16, stated["size"], stated["packed"])
        stated = stated | {"packed": 0xFFFFFFFF, "size": 0xFFFFFFFF}
    local: Fields = {"mark": b"PK\3\4", **common, **stated, "extra_bytes": len(extra)} | member.local
    central: Fields = {
        "mark": b"PK\1\2", "made_by": 0x031E, **common, **sums, "extra_bytes": len(member.central_extra),
        "comment_bytes": len(member.comment), "disk": 0, "internal": 0, "external": 0, "offset": place,
    } | member.central  # fmt: skip
    descriptor = (
        struct.pack("<4sIQQ" if member.zip64 else "<4sIII", b"PK\7\x08", *sums.values()) if late else b""
    )
    descriptor = descriptor if member.descriptor is None else member.descriptor
    local_name, central_name = local.pop("name", member.name), central.pop("name", member.name)
    return (
        _packed(local, _LOCAL) + local_name + extra + packed + descriptor,
        _packed(central, _CENTRAL) + central_name + member.central_extra + member.comment,
    )


def make_file(draw: random.Random) -> bytes:
    """A file of either kind: one in six as a writer makes it, the others with one or two changes."""
    changes = draw.choice((0, 1, 1, 1, 1, 2))
    if draw.random() < 0.4:
        return _of_npy(draw, changes)
    archive = _archive(draw)
    for _ in range(changes):
        change = draw.choice(_CHANGES)
        if isinstance(change, str):
            archive.members.append(Member(b"c.npy", _of_npy(draw, 1)))
            archive.order.append(len(archive.members) - 1)
        else:
            change(archive, draw)
    data = archive.write()
    return _change_bytes(data, draw) if changes and draw.random() < 0.25 else data


def _of_npy(draw: random.Random, changes: int) -> bytes:
    kind = draw.choice(draw.choice((TYPES, TYPES, _BYTES)))
    shape = [draw.choice((0, 1, 2, 2, 3)) for _ in range(draw.choice((0, 1, 1, 2, 2, 3)))]
    size = int(kind[-1])
    for side in shape:
        size *= side
    numbers = draw.randbytes(size) if "b" not in kind else bytes(draw.choices((0, 1), k=size))
    sides = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    fields = [("descr", f"'{kind}'"), ("fortran_order", str(draw.random() < 0.5)), ("shape", sides)]
    version = draw.choice((1, 1, 1, 2, 3))
    text, head = draw.choice(_STYLES)(fields), bytes([version, 0])
    for _ in range(changes):
        choice = draw.random()
        if choice < 0.5:
            text = _change_text(fields, draw)
        elif choice < 0.6:
            head = draw.choice((b"\0\0", b"\4\0", b"\1\1", b"\1\0", b"\2\0", b"\3\0"))
        elif choice < 0.7:
            numbers = numbers[:-1] if draw.random() < 0.5 else numbers + b"\1"
        elif choice < 0.8:
            numbers = draw.randbytes(len(numbers))
    encoded = text.encode("latin-1")
    length = (
        len(encoded) if not changes or draw.random() < 0.9 else draw.choice((0, len(encoded) + 1, 10_001))
    )
    data = b"\x93NUMPY" + head + length.to_bytes(2 if head[0] == 1 else 4, "little") + encoded + numbers
    return _change_bytes(data, draw) if changes and draw.random() < 0.25 else data


def _numpy_style(fields: Sequence[tuple[str, str]]) -> str:
    text = f"{{{''.join(f'{name!r}: {value}, ' for name, value in fields)}}}"
    return text + " " * (-(len(text) + 11) % 64) + "\n"


_STYLES: Final[list[Callable[[Sequence[tuple[str, str]]], str]]] = [
    _numpy_style,
    _numpy_style,
    lambda fields: _numpy_style(fields[::-1]),
    lambda fields: f"{{{','.join(f'{name!r}:{value}' for name, value in fields)}}}",
    lambda fields: f"{{ {' , '.join(f'{name!r} : {value}' for name, value in fields)} , }}   ",
]


def _change_text(fields: list[tuple[str, str]], draw: random.Random) -> str:
    """Another header, which numpy may read."""
    changed, index = list(fields), draw.randrange(3)
    name, value = changed[index]
    choice = draw.randrange(9)
    if choice == 0:
        changed.insert(draw.randrange(4), draw.choice(fields))
    elif choice == 1:
        changed.insert(draw.randrange(4), (draw.choice([name, "more", "Shape"]), draw.choice(_ODD_VALUES)))
    elif choice == 2:
        del changed[index]
    elif choice == 3:
        changed[index] = (name, draw.choice(_ODD_VALUES))
    elif choice == 4:
        changed[0] = ("descr", f"'{draw.choice(_ODD_TYPES + TYPES)}'")
    elif choice == 5:
        changed[index] = (name, value.replace("'", '"').replace("(", "( ").replace(",", " ,"))
    text = draw.choice(_STYLES)(changed)
    if choice == 6:
        text = text.replace(
            f"'{name}'", draw.choice((f'"{name}"', f"u'{name}'", f"'{name[:2]}' '{name[2:]}'"))
        )
    elif choice == 7:
        at = draw.randrange(len(text))
        text = (
            text[:at]
            + draw.choice((" ", "\n", "\t", "\0", ",", "#", "'", "}", "L", "\xa0", "\\"))
            + text[at:]
        )
    elif choice == 8:
        text = (
            draw.choice(("", " ", "\t"))
            + text.rstrip()
            + draw.choice(("", "\n\n", "\r\n", " \t", "# more", ","))
        )
    return text


def _archive(draw: random.Random) -> Archive:
    names = draw.sample(_NAMES[:2] + _NAMES[4:], draw.choice((1, 1, 2, 3)))
    members = [_member(draw, name) for name in names]
    return Archive(members, list(range(len(members))))


def _member(draw: random.Random, name: bytes) -> Member:
    content, flags = _of_npy(draw, 0), draw.choice((0, 0, 8, 2))
    return Member(
        name,
        content,
        method=draw.choice((0, 8)),
        flags=flags | (0x0800 if draw.random() < 0.7 else 0),
        zip64=draw.random() < 0.4,
        local_extra=draw.choice((b"", b"", _EXTRA[0], _EXTRA[0] + _EXTRA[1])),
        central_extra=draw.choice((b"", b"", _EXTRA[0], _EXTRA[2])),
        local={"checksum": zlib.crc32(content)} if flags & 8 and draw.random() < 0.3 else {},
    )


def _integer(draw: random.Random, near: int) -> int:
    return draw.choice([*_INTEGERS, near + 1, near - 1, near ^ 8, near ^ 0x800, near << 8])


def _state(archive: Archive, draw: random.Random) -> None:
    member = draw.choice(archive.members)
    where, form = draw.choice(((member.local, _LOCAL), (member.central, _CENTRAL), (archive.end, _END)))
    name = draw.choice(list(form)[1:])
    where[name] = _integer(draw, where.get(name, draw.choice((len(member.content), len(member.name), 20))))


def _state_both(archive: Archive, draw: random.Random) -> None:
    member, name = draw.choice(archive.members), draw.choice(list(_LOCAL)[1:])
    member.local[name] = member.central[name] = _integer(draw, len(member.content))


def _rename(archive: Archive, draw: random.Random) -> None:
    member, name = draw.choice(archive.members), draw.choice(_NAMES + _ODD_NAMES)
    choice = draw.random()
    if choice < 0.5:
        member.name = name
    else:
        (member.local if choice < 0.75 else member.central)["name"] = name[: len(member.name)].ljust(
            len(member.name), b"a"
        )


def _repeat(archive: Archive, draw: random.Random) -> None:
    member = draw.choice(archive.members)
    archive.members.append(replace(_member(draw, draw.choice((member.name, member.name + b".npy", b"a")))))
    archive.order.append(len(archive.members) - 1)


def _add_extra(archive: Archive, draw: random.Random) -> None:
    member = draw.choice(archive.members)
    if draw.random() < 0.5:
        member.local_extra += draw.choice(_EXTRA)
    else:
        member.central_extra += draw.choice(_EXTRA)


def _add_comment(archive: Archive, draw: random.Random) -> None:
    if draw.random() < 0.5:
        draw.choice(archive.members).comment = b"more"
    else:
        archive.comment = draw.choice((b"more", b"PK\5\6" + bytes(18)))


def _add_bytes(archive: Archive, draw: random.Random) -> None:
    more = draw.choice((b"\0", b"more", b"PK\3\4", draw.randbytes(30)))
    choice = draw.randrange(3)
    if choice == 0:
        draw.choice(archive.members).before = more
    elif choice == 1:
        archive.before_directory = more
    else:
        archive.before_end = more


def add_zip64(archive: Archive, draw: random.Random) -> None:
    """The end record of a ZIP64 archive, whose directory is this one or another."""
    plain = archive.write()
    count, size, start = struct.unpack("<HII", plain[-12:-2])
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
    archive.before_end = record + struct.pack("<4sIQI", b"PK\6\7", 0, len(plain) - 22, 1)
    if draw.random() < 0.5:
        archive.end = dict.fromkeys(("here", "count", "bytes", "start"), 0xFFFFFFFF)


def _reorder(archive: Archive, draw: random.Random) -> None:
    draw.shuffle(archive.order)


def _list_otherwise(archive: Archive, draw: random.Random) -> None:
    """A file that is not listed, or twice."""
    if draw.random() < 0.5:
        archive.order = archive.order[:-1]
    else:
        archive.order.append(draw.randrange(len(archive.members)))


def _change_descriptor(archive: Archive, draw: random.Random) -> None:
    member = draw.choice(archive.members)
    member.flags ^= draw.choice((0, 8))
    sums = (zlib.crc32(member.content), len(member.content), len(member.content))
    member.descriptor = draw.choice(
        (
            b"",
            struct.pack("<III", *sums),
            struct.pack("<4sIII", b"PK\7\x08", *sums),
            struct.pack("<IQQ", *sums),
        )
    )


def _change_content(archive: Archive, draw: random.Random) -> None:
    member = draw.choice(archive.members)
    member.content = draw.choice((b"", b"text", _of_npy(draw, 2), member.content + b"\0"))


_CHANGES: Final[list[Callable[[Archive, random.Random], None] | str]] = [
    *(
        _state,
        _state,
        _state,
        _state_both,
        _rename,
        _repeat,
        _add_extra,
        _add_comment,
        _add_bytes,
        add_zip64,
    ),
    *(_reorder, _list_otherwise, _change_descriptor, _change_content, "one more file"),
]


def _change_bytes(data: bytes, draw: random.Random) -> bytes:
    at, other = draw.randrange(len(data)), draw.randrange(len(data))
    low, high = min(at, other), max(at, other)
    return draw.choice(
        (
            data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :],
            data[:at] + draw.randbytes(1) + data[at + 1 :],
            data[:at] + draw.randbytes(draw.choice((1, 4))) + data[at:],
            data[:at],
            data + data[at:],
            data[:low] + data[high:],
            draw.randbytes(8) + data,
        )
    )


_NUMBERS: Final = [
    *(
        "0",
        "-0",
        "-0.0",
        "1",
        "-1",
        "1.0",
        "1e2",
        "1E+2",
        "1e-2",
        "1e400",
        "-1e400",
        "1e308",
        "1e309",
        "4.9e-324",
    ),
    *(
        "2e-324",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "0.1",
        "01",
        "-01",
        "+1",
        ".5",
        "1.",
        "1e",
        "0x1",
    ),
    *(
        "1_0",
        "NaN",
        "Infinity",
        "-Infinity",
        "nan",
        "null",
        "true",
        "false",
        "True",
        '"1"',
        "{}",
        "[]",
        "1e0000400",
    ),
    *(
        str(sign * (1 << bits) + near)
        for bits in (53, 62, 63, 64, 70)
        for near in (-1, 0, 1)
        for sign in (1, -1)
    ),
    *(
        "9" * 400,
        "9" * 4301,
        "0." + "9" * 5000,
        "1" * 400 + "e-400",
        "\u0661",
        "1\u00a0",
        "- 1",
        "--1",
        "1 2",
    ),
]
_SPACES: Final = ["", "", "", " ", "\n", "\t", "\r", "\f", "\u00a0", "\ufeff", "//", "\0"]
_FIELDS: Final = [
    '"a"',
    '"b"',
    '"\\u0061"',
    '"\\ud800"',
    '"__proto__"',
    "a",
    "'a'",
    '"a\n"',
    '""',
    '"\\x61"',
    '"\u00e9"',
]


def make_json(draw: random.Random) -> bytes:
    """An array, or arrays by names, as JSON or nearly so."""
    text = _list(draw, draw.choice((0, 1, 1, 2, 2, 3)))
    if draw.random() < 0.4:
        names = [
            draw.choice(_FIELDS[: draw.choice((2, len(_FIELDS)))]) for _ in range(draw.choice((1, 2, 3)))
        ]
        text = "{" + ",".join(f"{name}:{_list(draw, draw.choice((0, 1, 2)))}" for name in names) + "}"
    if draw.random() < 0.2:
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.choice((*_SPACES, ",", "]", "[", "}", "-", "e", "\\")) + text[at:]
    data = text.encode()
    return data.replace(b"9", b"\xff", 1) if draw.random() < 0.01 else data


def _list(draw: random.Random, depth: int) -> str:
    """Mostly of one shape, and mostly of one kind of numbers."""
    if depth == 0:
        odd = draw.random() < 0.05
        return (
            draw.choice(_NUMBERS)
            if odd
            else draw.choice(("3", "-4", "0.5", "2e1", "-0.0", "-0", str(1 << 63)))
        )
    length, items = draw.choice((0, 1, 2, 2, 2, 3)), []
    first = _list(draw, depth - 1)
    for _ in range(length):
        items.append(first if draw.random() < 0.5 else _list(draw, depth - 1))
    comma = draw.choice((",", ", ", " ,\n"))
    return f"[{comma.join(items)}{',' if draw.random() < 0.01 else ''}]"
