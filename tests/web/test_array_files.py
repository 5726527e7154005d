"""Python, TypeScript and numpy read the same arrays of each ``.npy`` or ``.npz`` file that is not refused."""

from __future__ import annotations

import base64
import io
import json
import random
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.web.array_files import Archive, Member, add_zip64, make_file, make_json
from tests.web.conftest import Node
from zenserve.errors import TensorError
from zenserve.verifier import npy, npz
from zenserve.verifier.datasets import read_arrays, read_npy, read_npz

Arrays = dict[str, NDArray[Any]]
_BATCH: Final = 5_000
_NO_FILE: Final = "neither"


def _read(data: bytes) -> Arrays | str:
    """The arrays, or why there are none. The array of a ``.npy`` file has no name."""
    try:
        if data.startswith(npz.MAGIC):
            return read_npz(data)
        return {"": read_npy(data)} if data.startswith(npy.MAGIC) else _NO_FILE
    except ValueError as error:
        return str(error)


def _read_by_numpy(data: bytes) -> Arrays:
    loaded = np.load(io.BytesIO(data), allow_pickle=False)
    return {"": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)


def _same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(
        (one[name].dtype, one[name].shape, one[name].tobytes())
        == (other[name].dtype, other[name].shape, other[name].tobytes())
        for name in one
    )


def _as_typescript(arrays: Arrays) -> list[Any]:
    kinds = {"i": "integers", "u": "integers", "f": "reals"}
    return [
        [name, kinds.get(array.dtype.kind, "others"), list(array.shape), _values(array)]
        for name, array in arrays.items()
    ]


def _values(array: NDArray[Any]) -> list[str]:
    numbers = array.ravel().tolist()
    if array.dtype.kind in "iu":
        return list(map(str, numbers))
    if array.dtype.kind != "f":
        return []
    return ["nan" if number != number else struct.pack(">d", number).hex() for number in numbers]


def _ask(node: Node, files: Sequence[bytes]) -> list[Any]:
    run = node("tests/arrayFiles.ts", given="".join(f"{base64.b64encode(each).decode()}\n" for each in files))
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.removesuffix("\n").split("\n")]


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.large)])
def test_files_have_one_reading(count: int, node: Node) -> None:
    draw = random.Random(count)
    accepted = 0
    for start in range(0, count, _BATCH):
        files = [make_file(draw) for _ in range(min(_BATCH, count - start))]
        for data, answer in zip(files, _ask(node, files), strict=True):
            arrays = _read(data)
            if isinstance(arrays, str):
                assert answer == arrays or (arrays == _NO_FILE and isinstance(answer, str)), data
                continue
            accepted += 1
            assert answer == _as_typescript(arrays), data
            assert _same(arrays, _read_by_numpy(data)), data
    assert count // 5 < accepted < count * 3 // 4


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.large)])
def test_json_has_one_reading(count: int, node: Node, tmp_path: Path) -> None:
    draw, file = random.Random(count), tmp_path / "file.json"
    accepted = 0
    for start in range(0, count, _BATCH):
        files = [make_json(draw) for _ in range(min(_BATCH, count - start))]
        for data, answer in zip(files, _ask(node, files), strict=True):
            file.write_bytes(data)
            try:
                arrays = read_arrays(file)
            except TensorError:
                assert isinstance(answer, str), data
                continue
            accepted += 1
            assert answer == _as_typescript(arrays if isinstance(arrays, dict) else {"": arrays}), data
    assert count // 4 < accepted < count * 9 // 10


ARRAY: Final = np.arange(6.0).reshape(2, 3)
RIGHT: Final = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"
HEADERS: Final = {
    "a field more": RIGHT.replace("}", "'x': 1}"),
    "a shape that is no tuple": RIGHT.replace("(2, 3)", "(6)"),
    "an order twice": RIGHT.replace("}", "'fortran_order': True}"),
    "an order twice, in other quotes": RIGHT.replace("}", '"fortran_order": True}'),
    "a type twice, in other quotes": RIGHT.replace("}", "\"descr\": '>f8'}"),
    "a shape twice": RIGHT.replace("}", "'shape': (3, 2)}"),
    "a field less": RIGHT.replace("'fortran_order': False, ", ""),
    "integers of Python 2": RIGHT.replace("(2, 3)", "(2L, 3L)"),
    "text in parts": RIGHT.replace("<f8", "<f' '8"),
    "an order of the host": RIGHT.replace("<f8", "=f8"),
    "a sum": RIGHT.replace("(2, 3)", "(2, 3) + ()"),
    "a remark": RIGHT + "# more",
    "a tab": RIGHT + "\t",
}


def _npy(array: NDArray[Any] = ARRAY) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _with_header(text: str) -> bytes:
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + ARRAY.tobytes()


def _crafted() -> Iterator[tuple[str, bytes, str]]:
    """Files that numpy and other readers may read otherwise, and what is said of them."""
    for name, text in HEADERS.items():
        kind = "host" in name
        reason = "it holds no integers" if kind else "its header is not as numpy writes it for numbers"
        yield name, _with_header(text), reason
    yield (
        "a truth value of 2",
        _npy(np.array([0, 1], np.uint8)).replace(b"|u1", b"|b1")[:-1] + b"\2",
        "a truth value",
    )
    one, other = _npy(), _npy(ARRAY * 0)
    for first, second in ((b"a", b"a.npy"), (b"a.npy", b"a"), (b"a.npy", b"a.npy"), (b"a.npy", b"a.npy.npy")):
        archive = Archive([Member(first, one), Member(second, other)], [0, 1])
        yield f"{first!r} and {second!r}", archive.write(), "two files in it have one name"
    for name, changed, reason in (
        ("a ZIP64 record", _of_two(add_zip64), "it is a ZIP64 archive"),
        (
            "a file that is not listed",
            Archive([Member(b"a.npy", one), Member(b"b.npy", other)], [0]),
            "bytes that belong",
        ),
        ("bytes before the directory", replace(_of_one(), before_directory=b"PK"), "bytes that belong"),
        ("bytes between files", _of_two(_move_second), "do not follow one another"),
        ("another name in the header", _of_one(local={"name": b"b.npy"}), "disagree"),
        ("another size in the header", _of_one(local={"size": 200}), "disagree"),
        ("another method in the header", _of_one(local={"method": 8}), "disagree"),
        (
            "another name in a field",
            _of_one(central_extra=b"up\7\0\1abcdbb"),
            "fields that numpy does not write",
        ),
        ("a comment", replace(_of_one(), comment=b"PK\5\6" + bytes(18)), "it is no ZIP|end record"),
        ("a name cut short by a zero", _of_one(name=b"a\0b.npy"), "control character"),
        ("a name of no alphabet", _of_one(name=b"\xe9.npy"), "alphabet"),
        ("a stream and more", _of_one(method=8, central={"packed": 0}), "disagree|damaged"),
    ):
        yield name, changed.write(), reason


def _move_second(archive: Archive, _: random.Random) -> None:
    archive.members[1].before = b"more"


def _of_one(**options: Any) -> Archive:
    given: dict[str, Any] = {"name": b"a.npy", "content": _npy(), **options}
    return Archive([Member(**given)], [0])


def _of_two(change: Callable[[Archive, random.Random], None]) -> Archive:
    archive = Archive([Member(b"a.npy", _npy()), Member(b"b.npy", _npy(ARRAY * 0))], [0, 1])
    change(archive, random.Random(1))
    return archive


def test_files_with_two_readings_are_refused(node: Node) -> None:
    cases = list(_crafted())
    answers = _ask(node, [data for _, data, _ in cases])
    for (name, data, reason), answer in zip(cases, answers, strict=True):
        assert _read(data) == answer, name
        assert isinstance(answer, str), name
        assert re.search(reason, answer), (name, answer)


class _Pipe(io.RawIOBase):
    """A file that can only be written from its begin to its end."""

    def __init__(self) -> None:
        self.data = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.data += bytes(data)
        return len(data)


def _written() -> Iterator[tuple[str, bytes]]:
    """Files as writers make them, of the arrays ``a`` and ``b``."""
    arrays = {"a": ARRAY, "b": np.arange(3)}
    members = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    for save in (np.savez, np.savez_compressed):
        file, pipe = io.BytesIO(), _Pipe()
        save(file, **arrays)  # type: ignore[arg-type]
        yield save.__name__, file.getvalue()
        save(pipe, **arrays)  # type: ignore[arg-type]
        yield f"{save.__name__} to a pipe", pipe.data
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        yield f"zipfile {method}", file.getvalue()
    times, owner = b"UT\5\0\1abcd", b"ux\x0b\0\1\4abcd\4efgh"
    for writer, options in {
        "Info-ZIP": {
            "method": 8,
            "local_extra": b"UT\x09\0\3abcdefgh" + owner,
            "central_extra": times + owner,
        },
        "Info-ZIP to a pipe": {"method": 8, "flags": 8},
        "archive/zip of Go": {"method": 8, "flags": 8, "local_extra": times, "central_extra": times},
        "JSZip": {"flags": 0x0800},
        "7-Zip": {"method": 8, "central_extra": b"\x0a\0\x20\0" + bytes(32)},
    }.items():
        own = [Member(name.encode(), data, **options) for name, data in members.items()]  # type: ignore[arg-type]
        for member in own:
            member.local = {"size": len(member.content)} if writer == "Info-ZIP to a pipe" else {}
        yield writer, Archive(own, [0, 1]).write()


def test_files_of_writers_are_read(node: Node) -> None:
    files = dict(_written())
    expected = {"a": ARRAY, "b": np.arange(3)}
    for (name, data), answer in zip(files.items(), _ask(node, list(files.values())), strict=True):
        arrays = _read(data)
        assert not isinstance(arrays, str), (name, arrays)
        assert _same(arrays, expected), name
        assert _same(arrays, _read_by_numpy(data)), name
        assert answer == _as_typescript(expected), name
