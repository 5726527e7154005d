"""The processes of the service, each until SIGINT or SIGTERM: the API, workers, the scheduler, or all in one.

- ``serve``: the embedded shape, API, scheduler and one worker, started and stopped together.
- ``serve_api``, ``serve_worker``, ``serve_beat``: the same parts, each for itself, as many as are wanted.
"""

from __future__ import annotations

import errno
import fcntl
import gc
import multiprocessing
import os
import resource
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import uvicorn
from uvicorn.supervisors import Multiprocess

from zenserve.errors import ConflictError
from zenserve.service import log, openings, telemetry
from zenserve.service.jobs.reaping import Reaping
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.reaper import Reaper
from zenserve.service.scheduler.webhooks import Courier
from zenserve.service.settings import Settings
from zenserve.service.storage import private, schema
from zenserve.service.storage.repositories.workers import Workers

STOP_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 10.0
_OTHER_FILES = 512
_SWITCH_SECONDS = 1e-3


class Helper(Protocol):
    """A thread that runs beside the others until it is finished."""

    def start(self) -> None: ...

    def finish(self) -> None: ...


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
            self._clear_away(name)
            if self._stopping.is_set():
                return
            log.event("worker.died", level=30, worker=name, status=status)
            # A worker that cannot even start must not spin the host; one that ran well starts again at once.
            pause = 0.1 if time.monotonic() - started > LONGEST_PAUSE_SECONDS else pause
            self._stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def finish(self) -> None:
        """Ask the worker to end its job or give it back, and to stop; kill it if it does not."""
        with self._lock:
            self._stopping.set()
            process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS + self._runtime.settings.drain_seconds)
            except subprocess.TimeoutExpired:
                process.kill()
        self.join()

    def _clear_away(self, name: str) -> None:
        """Free the job of a worker whose process is over, and forget the worker."""
        try:
            with self._runtime.database.write() as session:
                Reaping(session).expire(name)
                Workers(session).remove(name)
        except Exception:  # without it the leases run out by themselves
            log.event("worker.not_freed", level=30, worker=name, failed=True)

    def _run_worker(self, name: str) -> int:
        with self._lock:
            if self._stopping.is_set():
                return 0
            # Its own session: Ctrl-C reaches this process alone, which then stops the worker in order.
            self._process = subprocess.Popen(  # noqa: S603  a fixed command
                [sys.executable, "-m", "zenserve.service.worker", name, str(os.getpid())],
                env=os.environ | self._runtime.settings.environment(),
                stdout=subprocess.DEVNULL,  # Celery's farewell; logs go to standard error
                start_new_session=True,
            )
        return self._process.wait()


class Notes(threading.Thread):
    """Notes on a host of the API how many openings of commitments there were, so that a restored database is
    noticed here, too."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(name="notes", daemon=True)
        self._runtime = runtime
        self._quit = threading.Event()

    def run(self) -> None:
        while not self._quit.wait(openings.NOTE_SECONDS):
            try:
                openings.note(self._runtime)
            except Exception:  # a busy or absent database: the next note makes up for it
                log.event("openings.not_noted", level=30, failed=True)

    def finish(self) -> None:
        self._quit.set()
        self.join()


def serve(settings: Settings, announce: Callable[[str | None], object]) -> None:
    """API, scheduler and a worker. ``announce`` is told the token, if there is one, once the address is open.

    Raises ``ConflictError`` where the data directory or the address is in use, and ``OSError`` where they
    cannot be.
    """
    with (
        _process(settings) as (runtime, stopped),
        only_one(settings.data_dir),
        listen(settings.host, settings.port) as listener,
    ):
        from zenserve.service.access import local_token  # slow to load, as the application is

        schema.migrate(runtime.database)
        with (
            local_token.shown(runtime, settings.port) as token,
            _running(Reaper(runtime), Courier(runtime), Supervisor(runtime)),
        ):
            log.event("service.started", url=settings.url, data=settings.data_dir)
            announce(token)
            run_api(runtime, listener, stopped)
    log.event("service.stopped")


def serve_api(settings: Settings) -> None:
    """The API alone, ``processes`` of it at one address. Raises ``ConflictError``, ``OSError``,
    ``ResourceError``."""
    with _process(settings) as (runtime, stopped), listen(settings.host, settings.port) as listener:
        schema.require(runtime.database)
        log.event("api.started", url=settings.url, processes=settings.processes)
        if stopped.is_set():
            return
        with _running(Notes(runtime)):
            if settings.processes == 1:
                run_api(runtime, listener, stopped, _notice(settings))
            else:
                app = "zenserve.service.serve:another_api"
                config = _server(settings, app, factory=True, workers=settings.processes)
                Multiprocess(config, [listener]).run()


def serve_worker(settings: Settings) -> None:
    """One worker, started again when it dies. Raises ``ResourceError``."""
    with _process(settings) as (runtime, stopped):
        schema.require(runtime.database)
        with _running(Supervisor(runtime)):
            stopped.wait()


def serve_beat(settings: Settings) -> None:
    """Run the periodic work: the reaper and the courier.

    Raises ``ResourceError``.
    """
    with _process(settings) as (runtime, stopped):
        schema.require(runtime.database)
        telemetry.configure("beat")
        with _running(Reaper(runtime), Courier(runtime)):
            log.event("beat.started")
            stopped.wait()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ``ConflictError`` where somebody listens there already, else ``OSError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise ConflictError(
            "conflict.address",
            f"another program listens at {host} on port {port}, perhaps another zenserve serve: stop it or"
            " give another --port",
        ) from None
    # Connections inherit it. Without it every answer on a kept connection waits 40 ms for a delayed ACK:
    # asyncio sets it only for sockets that say IPPROTO_TCP, which create_server's do not.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def run_api(runtime: Runtime, listener: socket.socket, stopped: threading.Event, notice: float = 0.0) -> None:
    """The API in this process, until a signal stops it, be it one that came before it listens to them. It
    takes requests for ``notice`` seconds after SIGTERM."""
    telemetry.configure("api")
    config = _server(runtime.settings, _application(runtime, notice))
    _Server(config, stopped).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Listens to signals itself; of those that came before ``startup``, ``stopped`` tells."""

    def __init__(self, config: uvicorn.Config, stopped: threading.Event) -> None:
        super().__init__(config)
        self._stopped = stopped

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.should_exit = self.should_exit or self._stopped.is_set()


def another_api() -> object:
    """The API's application, in a process of its own, which ends with the one that supervises it."""
    threading.Thread(target=_follow_parent, name="parent", daemon=True).start()
    settings = Settings.read()
    log.configure(settings.log_level, settings.log_format)
    telemetry.configure("api")
    return _application(Runtime.open(settings), _notice(settings))


def _follow_parent() -> None:
    """Stop, as by SIGTERM, once the supervisor is gone without a word: a process left behind would hold the
    address. Before there is a server to stop, that signal ends the process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        log.event("api.orphaned", level=30)
        os.kill(os.getpid(), signal.SIGTERM)


def _notice(settings: Settings) -> float:
    """Return the seconds that load balancers have to find out that a process is no longer ready."""
    return settings.api_drain_seconds / 4


def _application(runtime: Runtime, notice: float) -> Any:
    # Else the loop, and all whom it serves, waits for 5 ms whenever a thread computes.
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.disable()  # what is loaded is hardly garbage, and looking for it takes a fifth of the time
    from zenserve.service.app import create_app  # slow to load: workers and the scheduler do without

    app = create_app(runtime)
    app.state.drain.notice_seconds = notice
    gc.enable()
    # All that was loaded stays. To look through it for garbage would keep every caller waiting for 50 ms.
    gc.collect()
    gc.freeze()
    return app


def _server(settings: Settings, app: Any, **options: Any) -> uvicorn.Config:
    _make_room(settings.max_connections)
    return uvicorn.Config(
        app,
        http="zenserve.service.api.connections:Connection",
        ws="none",
        limit_concurrency=settings.max_connections,
        log_config=None,
        access_log=False,
        server_header=False,
        # Less than the whole: what is cancelled then is answered still.
        timeout_graceful_shutdown=max(1, int(settings.api_drain_seconds - _notice(settings) - 1)),
        **options,
    )


def _make_room(connections: int) -> None:
    """Let this process have so many and its own files open: often the limit is lower until somebody asks."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextmanager
def _process(settings: Settings) -> Iterator[tuple[Runtime, threading.Event]]:
    """A process of the service: what it works with, and whether it was told to stop."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold inputs in the clear
    private.close_to_others()
    log.configure(settings.log_level, settings.log_format)
    os.environ.update(settings.environment())
    # From now on, while all is still being started; and once more when the API's server is down: it raises
    # the signal that stopped it again, and what follows it here must still run.
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    runtime = Runtime.open(settings)
    try:
        yield runtime, stopped
    finally:
        runtime.close()


@contextmanager
def _running(*helpers: Helper) -> Iterator[None]:
    with ExitStack() as stack:
        for helper in helpers:
            helper.start()
            stack.callback(helper.finish)
        yield


@contextmanager
def only_one(data_dir: Path) -> Iterator[None]:
    with (data_dir / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConflictError(
                "conflict.data_dir", f"another zenserve serve is using {data_dir}; stop it or take another"
            ) from None
        yield
