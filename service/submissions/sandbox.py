"""Untrusted files are parsed in a child process with limits on memory, time and what it may write.

Parent: ``run(tenant_id, "read_model", onnx, calibration, precision, labels, sizes)``. The child is this
module run as a program; both sides speak length-prefixed byte strings, so nothing that the child says can be
more than bytes to the parent. Question and answer are files in memory (``zenserve.service.spool``): the
parent holds neither, however large they are.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Timer
from typing import BinaryIO, Final

from zenserve import errors
from zenserve.codes import known
from zenserve.errors import ModelError, ResourceError, ZenError
from zenserve.service.spool import PIECE, pieces, spool
from zenserve.service.submissions.turns import Turns

MEMORY_BYTES = 4 << 30
CPU_SECONDS = 60
WALL_SECONDS = 120
AT_ONCE = 2
MOST_WAITING = 14
"""Callers that wait for others' files to be read. Each keeps a thread of the API from all other requests."""

_turns = Turns(AT_ONCE, MOST_WAITING)
_MODULE = "zenserve.service.submissions.sandbox"
_stopped = Event()
_PASSED_ON = ("PYTHON", "LC_", "LD_")
_MOST_ERROR_BYTES: Final = 1 << 20
_LENGTH_BYTES: Final = 8


def run(tenant_id: str, operation: str, *parts: bytes | BinaryIO) -> bytes:
    """The answer of ``zenserve.service.intake``'s untrusted operation to these byte strings, or those in
    files.

    Raises what the operation raises, ``ResourceError`` where a limit was hit or too many wait
    (``resource.busy``), and ``ModelError`` (``model.unreadable``) where the parser died.
    """
    with run_to_file(tenant_id, operation, *parts) as said:
        return said.read()


def run_to_file(tenant_id: str, operation: str, *parts: bytes | BinaryIO) -> BinaryIO:
    """``run``, where the answer may be large: the rest of a file, which is the caller's to close."""
    try:
        with spool() as given, _turns.turn(tenant_id):
            if _stopped.is_set():
                raise _stopping()
            _write(given, parts)
            status, said = _in_child(operation, given)
    except subprocess.TimeoutExpired:
        raise _too_slow(operation, f"{WALL_SECONDS} seconds") from None
    try:
        return _judged(operation, status, said)
    except BaseException:
        said.close()
        raise


def _judged(operation: str, status: int, said: BinaryIO) -> BinaryIO:
    """Return the child's output, positioned at its result.

    Raises the error that its exit status stands for, or that it reported.
    """
    if status != 0 and _stopped.is_set():
        raise _stopping()
    if status in (-24, -9):  # SIGXCPU at the soft limit, SIGKILL at the hard one
        raise _too_slow(operation, f"{CPU_SECONDS} seconds of a processor")
    error = _error_in(said) if status == 0 else None
    if error is None:
        raise ModelError("model.unreadable", "the parser broke down on these files")
    if error:
        raise _error_from(json.loads(error))
    return said


def _in_child(operation: str, given: BinaryIO) -> tuple[int, BinaryIO]:
    """Run the operation in a child; return its exit status and its output.

    Raises ``subprocess.TimeoutExpired``.
    """
    command, ends = [sys.executable, "-P", "-m", _MODULE, operation], time.monotonic() + WALL_SECONDS
    with (
        ExitStack() as failing,
        subprocess.Popen(  # noqa: S603  a fixed command; the untrusted bytes are its standard input
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment() | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        ) as child,
    ):
        late = Timer(WALL_SECONDS, child.kill)
        late.start()
        try:
            said = failing.enter_context(spool())
            assert child.stdout is not None  # noqa: S101  narrows the type
            shutil.copyfileobj(child.stdout, said, PIECE)
            status = child.wait()
        finally:
            late.cancel()
            child.kill()
        if status != 0 and time.monotonic() >= ends:
            raise subprocess.TimeoutExpired(command, WALL_SECONDS)
        said.seek(0)
        failing.pop_all()
        return status, said


def _write(given: BinaryIO, parts: Iterable[bytes | BinaryIO]) -> None:
    """``_pack`` to a file, from its beginning on."""
    for part in parts:
        size = len(part) if isinstance(part, bytes) else part.seek(0, os.SEEK_END)
        given.write(size.to_bytes(_LENGTH_BYTES, "little"))
        if isinstance(part, bytes):
            given.write(part)
        else:
            part.seek(0)
            given.writelines(pieces(part, size))
    given.flush()
    given.seek(0)


def _error_in(said: BinaryIO) -> bytes | None:
    """The first of two byte strings; what follows in the file then is the second one. None where there are
    not two."""
    end = said.seek(0, os.SEEK_END)
    said.seek(0)
    size = int.from_bytes(said.read(_LENGTH_BYTES), "little")
    if size > _MOST_ERROR_BYTES:
        return None
    error, rest = said.read(size), int.from_bytes(said.read(_LENGTH_BYTES), "little")
    return error if end == 2 * _LENGTH_BYTES + size + rest else None


def stop() -> None:
    """Read no more files, and break off those that are read: this process ends."""
    _stopped.set()
    for pid in _children():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _children() -> list[int]:
    """The processes that read files for this one."""
    found: list[int] = []
    for thread in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):
            found += map(int, (thread / "children").read_text().split())
    return [pid for pid in found if _MODULE.encode() in _command(pid)]


def _command(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def _stopping() -> ResourceError:
    return ResourceError("resource.busy", "this process of the service stops: send the request again")


def _environment() -> dict[str, str]:
    """Return the variables that an interpreter needs.

    The rest of the environment is left out: it has the store's credentials.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME", "LANG", "TMPDIR") or name.startswith(_PASSED_ON)
    }


def _too_slow(operation: str, limit: str) -> ResourceError:
    return ResourceError(
        "resource.model_time", f"{_doing(operation)} took more than {limit}; hand in smaller ones"
    )


def _doing(operation: str) -> str:
    return "the dry run" if operation == "dry_run" else "reading the files"


def _error_from(error: dict[str, str | None]) -> ZenError:
    kind = getattr(errors, str(error["kind"]), ModelError)
    restored = kind(known(str(error["code"])), str(error["message"]), field=error["field"])
    assert isinstance(restored, ZenError)  # noqa: S101  narrows getattr's type
    return restored


def _pack(parts: tuple[bytes, ...]) -> bytes:
    return b"".join(len(part).to_bytes(_LENGTH_BYTES, "little") + part for part in parts)


def _unpack(data: bytes) -> list[bytes]:
    parts = []
    while data:
        end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
        parts.append(data[_LENGTH_BYTES:end])
        data = data[end:]
    return parts


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _main(operation: str) -> None:
    doing = _operations()[operation]  # what it needs is loaded before the limits are there
    _limit()
    sys.stdout.buffer.write(_answer(doing, operation, sys.stdin.buffer.read()))


def _operations() -> dict[str, Callable[..., bytes]]:
    from zenserve.service.dry_run import dry_run  # imported here: the parent's half needs none of it
    from zenserve.service.intake import UNTRUSTED

    return UNTRUSTED | {"dry_run": dry_run}


def _answer(doing: Callable[..., bytes], operation: str, given: bytes) -> bytes:
    error, result = b"", b""
    try:
        result = doing(*_unpack(given))
    except ZenError as failure:
        error = json.dumps(
            {
                "kind": type(failure).__name__,
                "code": failure.code,
                "message": failure.message,
                # ONNX alone is refused as a whole.
                "field": failure.field if operation == "ask" else failure.field or "model",
            }
        ).encode()
    except MemoryError:
        error = json.dumps(
            {
                "kind": "ResourceError",
                "code": "resource.model_memory",
                "message": f"{_doing(operation)} took over {MEMORY_BYTES >> 30} GiB; hand in smaller ones",
                "field": None,
            }
        ).encode()
    return _pack((error, result))


if __name__ == "__main__":
    _main(sys.argv[1])
