"""Files of circuits that a reader must refuse, each made of one that it takes."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]
ALIGNMENT: Final = 64
PREFIX: Final = 64
WIDTHS: Final = {
    "counts": 8,
    "segments": 8,
    "names": 1,
    "shapes": 24,
    "offsets": 8,
    "columns": 4,
    "coefficients": 4,
    "pool": 32,
    "description": 1,
}
"""Bytes of an item (docs/ceremony.md)."""
Sections = dict[str, bytes]


def damaged(file: bytes, last_of_a_segment: int) -> list[Json]:
    """``file``: of a circuit whose rows have entries, and a segment whose last variable is this one."""
    sections = read(file)
    variables = 1 + sum(struct.unpack("<3Q", sections["counts"]))
    variables += sum(size + 1 for size, _ in struct.iter_unpack("<2I", sections["segments"]))
    constants = sections["pool"]
    unlike = {name: data for name, data in sections.items() if name != "names"} | {"names": sections["names"]}
    rows, *more = struct.unpack_from("<3Q", sections["shapes"])

    def word(section: str, at: int, value: int, form: str = "<I") -> bytes:
        """The file with another number there."""
        data = bytearray(sections[section])
        struct.pack_into(form, data, at, value)
        return written(sections | {section: bytes(data)})

    def longer(section: str, data: bytes) -> bytes:
        return written(sections | {section: sections[section] + data})

    return [
        case("empty", b"", "file.length"),
        case("of another magic", b"zenserve" + file[8:], "file.magic"),
        case("of another version", file[:8] + struct.pack("<I", 3) + file[12:], "file.version"),
        case("of another kind", file[:12] + b"phs2" + file[16:], "file.kind"),
        case("cut to its preamble", file[:16], "file.length"),
        case("cut short", file[:-1], "file.length"),
        case("a byte more", file + b"\0", "file.length"),
        case("a bit another", file[:-1] + bytes([file[-1] ^ 1]), "file.hash"),
        case("a header that is no JSON", written(sections, lambda header: header[:-1]), "file.header"),
        case("a section out of order", written(unlike), "file.header"),
        case("a section less", written({n: d for n, d in sections.items() if n != "names"}), "file.header"),
        case("a section more", written(sections | {"more": b""}), "file.header"),
        case("a section longer than the file", written(sections, _longer), "file.header"),
        case("bytes behind the last section", written(sections, more=bytes(64)), "file.header"),
        case("a flag that is 2", word("segments", 4, 2), "file.shape"),
        case("a count more", longer("counts", bytes(8)), "file.shape"),
        case("more variables than anything reads", word("counts", 16, 1 << 30, "<Q"), "file.shape"),
        case("a matrix less than three", _without_matrix(sections), "file.shape"),
        case("more rows in A", word("shapes", 0, rows + 1, "<Q"), "file.shape"),
        case("fewer constants in A", word("shapes", 16, more[1] - 1, "<Q"), "file.shape"),
        case("offsets that do not begin at 0", word("offsets", 0, 1, "<Q"), "file.shape"),
        case("offsets that fall", word("offsets", 8, more[0] + 1, "<Q"), "file.shape"),
        case("an offset more", longer("offsets", bytes(8)), "file.shape"),
        case("a column beyond the variables", word("columns", 0, variables), "file.shape"),
        case("a segment's last variable read", word("columns", 0, last_of_a_segment), "file.shape"),
        case("an entry more", _with_entry(sections), "file.shape"),
        case("a coefficient beyond the constants", word("coefficients", 0, len(constants)), "file.shape"),
        case("a coefficient more", longer("coefficients", bytes(4)), "file.shape"),
        case("a constant not below the modulus", _with_constant(sections, b"\xff" * 32), "file.shape"),
        case("a constant more", longer("pool", bytes(32)), "file.shape"),
        # It can be read, but is another circuit than the key's.
        case("another constant", _with_constant(sections, bytes(32)), "circuit_unknown"),
    ]


def case(name: str, file: bytes, code: str) -> Json:
    return {"name": name, "circuit": file.hex(), "code": code}


def read(file: bytes) -> Sections:
    (length,) = struct.unpack_from("<Q", file, 16)
    end, sections = PREFIX + length, {}
    for name, count in json.loads(file[PREFIX:end]).items():
        start = end + -end % ALIGNMENT
        end = start + count * WIDTHS[name]
        sections[name] = file[start:end]
    return sections


def written(
    sections: Sections, change: Callable[[bytes], bytes] = lambda header: header, more: bytes = b""
) -> bytes:
    """A file whose length and hash are right, whatever becomes of the header."""
    counts = {name: len(data) // WIDTHS.get(name, 1) for name, data in sections.items()}
    header = change(json.dumps(counts).encode())
    data = bytearray(header)
    for section in sections.values():
        data += bytes(-len(data) % ALIGNMENT) + section
    data += more
    start = b"ZENSERVE" + struct.pack("<I4sQQ", 2, b"stmt", len(header), PREFIX + len(data))
    return start + hashlib.sha256(start + data).digest() + bytes(data)


def _longer(header: bytes) -> bytes:
    counts = json.loads(header)
    return json.dumps(counts | {"description": counts["description"] + 1}).encode()


def _without_matrix(sections: Sections) -> bytes:
    """All that the last one has, and nothing less."""
    rows, entries, constants = struct.unpack("<3Q", sections["shapes"][-24:])
    taken = {
        "shapes": 24,
        "offsets": 8 * (rows + 1),
        "columns": 4 * entries,
        "coefficients": 4 * entries,
        "pool": 32 * constants,
    }
    return written(sections | {name: sections[name][: len(sections[name]) - n] for name, n in taken.items()})


def _with_entry(sections: Sections) -> bytes:
    both = ("columns", "coefficients")
    return written(sections | {name: sections[name] + bytes(4) for name in both})


def _with_constant(sections: Sections, constant: bytes) -> bytes:
    return written(sections | {"pool": constant + sections["pool"][32:]})
