"""What callers send in the clear, however large: in no process's memory, and on no disk."""

from __future__ import annotations

import io
import os
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.refusals import refuses
from zenserve.service import encryption
from zenserve.service.runtime import Runtime
from zenserve.service.spool import FormFile, pieces, spool
from zenserve.service.storage.vault import Vault
from zenserve.service.submissions import sandbox

LARGE = 8 << 20
MOST_HELD = 2 << 20
PLACE = "model:mdl_1"


@contextmanager
def little_is_held() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MOST_HELD
    finally:
        tracemalloc.stop()


def of_zeros(size: int = LARGE) -> BinaryIO:
    file = spool()
    file.truncate(size)
    return file


@pytest.mark.parametrize("size", [10, LARGE])
def test_a_file_of_a_form(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones are in the process, large ones in a file that has no name."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with FormFile(max_size=1 << 20) as file:
        file.write(b"a" * 10)
        file.write(bytes(size - 10))
        assert [*tmp_path.iterdir()] == []
        link = Path(f"/proc/self/fd/{file.fileno()}").readlink() if size == LARGE else None
        assert link is None or str(link).startswith("/memfd:zenserve")
        file.write(b"z")
        file.seek(0)
        assert file.read() == b"a" * 10 + bytes(size - 10) + b"z"


def test_pieces_are_all_that_was_asked_for() -> None:
    file = io.BytesIO(b"abcde")
    assert b"".join(pieces(file, 3)) == b"abc"
    assert b"".join(pieces(file)) == b"de"
    assert [*pieces(file, 0)] == []
    with pytest.raises(EOFError, match="1 bytes are missing"):
        [*pieces(file, 1)]


def test_what_is_sealed_from_a_file_is_what_is_sealed(runtime: Runtime) -> None:
    file = io.BytesIO(b"a secret" * 100)
    file.seek(8)
    digest, size = encryption.put_file(runtime, PLACE, file, 16)
    assert (encryption.get(runtime, PLACE, digest), size) == (b"a secret" * 2, 16)
    digest, size = encryption.put_file(runtime, PLACE, file)
    with encryption.get_file(runtime, PLACE, digest) as opened:
        assert opened.read() == b"a secret" * 97
    assert size == 8 * 97


def test_a_file_is_sealed_and_opened_piece_by_piece(runtime: Runtime) -> None:
    with little_is_held(), of_zeros() as file:
        digest, _ = encryption.put_file(runtime, PLACE, file)
        with encryption.get_file(runtime, PLACE, digest) as opened:
            assert opened.seek(0, os.SEEK_END) == LARGE


@pytest.mark.parametrize(
    "change",
    [
        lambda sealed: sealed[:-1] + bytes([sealed[-1] ^ 1]),
        lambda sealed: sealed[:20] + bytes([sealed[20] ^ 1]) + sealed[21:],
        lambda sealed: sealed[:27],
        lambda sealed: sealed + b"\0",
        lambda _: b"",
    ],
    ids=["tag", "content", "short", "long", "nothing"],
)
def test_a_sealed_file_that_changed_is_refused(change: Callable[[bytes], bytes]) -> None:
    vault = Vault(b"a secret")
    sealed = change(vault.seal(b"plain", PLACE))
    with refuses("file.sealed", None):
        vault.open_file(io.BytesIO(sealed), PLACE, spool)


def test_a_sealed_file_opens_with_its_own_secret_at_its_own_place() -> None:
    sealed = io.BytesIO(Vault(b"old").seal(b"plain", PLACE))
    with Vault(b"new", b"old").open_file(sealed, PLACE, spool) as opened:
        assert opened.read() == b"plain"
    for vault, place in ((Vault(b"new"), PLACE), (Vault(b"old"), "model:mdl_2")):
        with refuses("file.sealed", None):
            vault.open_file(sealed, place, spool)


def test_the_sandbox_is_given_files_and_answers_in_one(in_a_child: None) -> None:
    """Neither is held: the child says here that what it was given is no network."""
    with little_is_held(), of_zeros() as file, refuses("model.not_onnx", "model"):
        sandbox.run_to_file("tnt_local", "read_model", file, b"", b"{}", b"", b"{}")


def test_answers_of_the_sandbox_are_two_byte_strings() -> None:
    def said(content: bytes) -> bytes | None:
        return sandbox._error_in(io.BytesIO(content))

    good = sandbox._pack((b"error", b"result"))
    assert said(good) == b"error"
    for bad in (b"", good[:-1], good + b"a", good[8:], b"\xff" * 16, sandbox._pack((bytes(1 << 21), b""))):
        assert said(bad) is None
