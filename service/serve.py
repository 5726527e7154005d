"""``zenserve serve``: the API, the reaper, and a supervised worker process, started and stopped together."""

from __future__ import annotations

import fcntl
import os
import resource
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from service import log
from service.app import create_app
from service.jobs import Jobs
from service.reaper import Reaper, sweep
from service.runtime import Runtime
from service.settings import Settings
from zenerrors import ConflictError

STOP_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 10.0


class Supervisor(threading.Thread):
    """Keeps one worker process running, and frees the jobs of one that died."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(name="supervisor", daemon=True)
        self._runtime = runtime
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        pause = 0.1
        while not self._stopping.is_set():
            name, started = f"worker_{secrets.token_hex(6)}", time.monotonic()
            status = self._run_worker(name)
            with self._runtime.database.write() as session:
                Jobs(session).expire(name)
            if self._stopping.is_set():
                return
            log.event("worker.died", level=30, worker=name, status=status)
            # A worker that cannot even start must not spin the host; one that ran well starts again at once.
            pause = 0.1 if time.monotonic() - started > LONGEST_PAUSE_SECONDS else pause
            self._stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def finish(self) -> None:
        """Ask the worker to give its job back and stop; kill it if it does not."""
        with self._lock:
            self._stopping.set()
            process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        self.join()

    def _run_worker(self, name: str) -> int:
        settings = self._runtime.settings
        environment = os.environ | {
            f"ZENSERVE_{field.upper()}": str(getattr(settings, field))
            for field in ("data_dir", "threads", "basis_points", "max_attempts", "lease_seconds", "log_level")
        }
        with self._lock:
            if self._stopping.is_set():
                return 0
            # Its own session: Ctrl-C reaches this process alone, which then stops the worker in order.
            self._process = subprocess.Popen(  # noqa: S603  a fixed command
                [sys.executable, "-m", "service.worker", name],
                env=environment,
                stdout=subprocess.DEVNULL,  # Celery's farewell; logs go to standard error
                start_new_session=True,
            )
        return self._process.wait()


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises ``ConflictError`` where the data directory is in use, and ``OSError`` where it cannot be made or
    the address cannot be listened on.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold inputs in the clear
    log.configure(settings.log_level)
    runtime = Runtime.open(settings)
    # The server raises the signal that stopped it once more when it is down, and what follows it here
    # must still run.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    with _only_one(settings.data_dir), listen(settings.host, settings.port) as listener:
        runtime.database.migrate()
        sweep(runtime)
        helpers = (Reaper(runtime), Supervisor(runtime))
        for helper in helpers:
            helper.start()
        log.event("service.started", url=f"http://{settings.host}:{settings.port}", data=settings.data_dir)
        try:
            config = uvicorn.Config(
                create_app(runtime),
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=2,
            )
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            for helper in reversed(helpers):
                helper.finish()
            runtime.close()
            log.event("service.stopped")


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ``OSError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=2048)
    # Connections inherit it. Without it every answer on a kept connection waits 40 ms for a delayed ACK:
    # asyncio sets it only for sockets that say IPPROTO_TCP, which create_server's do not.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


@contextmanager
def _only_one(data_dir: Path) -> Iterator[None]:
    with (data_dir / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConflictError(
                "conflict.data_dir", f"another zenserve serve is using {data_dir}; stop it or take another"
            ) from None
        yield
