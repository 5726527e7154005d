"""Untrusted files are parsed in a child process with limits on memory, time and what it may write.

Parent: ``run(tenant_id, "read_model", onnx, calibration, precision, labels, sizes)``. The child is this
module run as a program; both sides speak length-prefixed byte strings, so nothing that the child says can be
more than bytes to the parent.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event

import zenerrors
from service.submissions.turns import Turns
from zencodes import known
from zenerrors import ModelError, ResourceError, ZenError

MEMORY_BYTES = 4 << 30
CPU_SECONDS = 60
WALL_SECONDS = 120
AT_ONCE = 2
MOST_WAITING = 14
"""Callers that wait for others' files to be read. Each keeps a thread of the API from all other requests."""

_turns = Turns(AT_ONCE, MOST_WAITING)
_MODULE = "service.submissions.sandbox"
_stopped = Event()
_PASSED_ON = ("PYTHON", "LC_", "LD_")


def run(tenant_id: str, operation: str, *parts: bytes) -> bytes:
    """The answer of ``service.intake``'s untrusted operation to these byte strings.

    Raises what the operation raises, ``ResourceError`` where a limit was hit or too many wait
    (``resource.busy``), and ``ModelError`` (``model.unreadable``) where the parser died.
    """
    try:
        with _turns.turn(tenant_id):
            if _stopped.is_set():
                raise _stopping()
            status, said = _in_child(operation, _pack(parts))
    except subprocess.TimeoutExpired:
        raise _too_slow(operation, f"{WALL_SECONDS} seconds") from None
    if status != 0 and _stopped.is_set():
        raise _stopping()
    if status in (-24, -9):  # SIGXCPU at the soft limit, SIGKILL at the hard one
        raise _too_slow(operation, f"{CPU_SECONDS} seconds of a processor")
    answer = _unpack(said)
    if status != 0 or len(answer) != 2:
        raise ModelError("model.unreadable", "the parser broke down on these files")
    error, result = answer
    if error:
        raise _error_from(json.loads(error))
    return result


def _in_child(operation: str, given: bytes) -> tuple[int, bytes]:
    """How the child ended, and what it said."""
    child = subprocess.run(  # noqa: S603  a fixed command; the untrusted bytes go to its standard input
        [sys.executable, "-P", "-m", _MODULE, operation],
        input=given,
        capture_output=True,
        timeout=WALL_SECONDS,
        env=_environment() | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    return child.returncode, child.stdout


def stop() -> None:
    """Read no more files, and break off those that are read: this process ends."""
    _stopped.set()
    for pid in _children():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _children() -> list[int]:
    """The processes that read files for this one."""
    found = []
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
    """What an interpreter needs: the store's credentials are in the environment, too."""
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
    kind = getattr(zenerrors, str(error["kind"]), ModelError)
    restored = kind(known(str(error["code"])), str(error["message"]), field=error["field"])
    assert isinstance(restored, ZenError)  # noqa: S101  narrows getattr's type
    return restored


def _pack(parts: tuple[bytes, ...]) -> bytes:
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def _unpack(data: bytes) -> list[bytes]:
    parts = []
    while data:
        end = 8 + int.from_bytes(data[:8], "little")
        parts.append(data[8:end])
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
    from service.dry_run import dry_run  # imported here: the parent's half needs none of it
    from service.intake import UNTRUSTED

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
