"""Real servers for tests: PostgreSQL, Redis and an S3-compatible store, one of each per test process.

Those in ``ZENSERVE_TEST_POSTGRES_URL``, ``ZENSERVE_TEST_REDIS_URL`` and ``ZENSERVE_TEST_S3_URL`` are taken
where given (the last with its ``AWS_*``); else Debian's programs are started on free ports, and die with the
process that started them, however it ends.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import psycopg
import pytest
import redis
from psycopg import sql

from tests.programs import Find

START_SECONDS = 60.0
PASSWORD = "not a secret"  # noqa: S105  of servers that live as long as a test
ROOT = Path(__file__).parents[1]


class Server(ABC):
    """A server process with its files in a directory of its own. It can be stopped and started again."""

    user: str | None = None
    programs: tuple[str, ...]

    def __init__(self, find: Find) -> None:
        self.paths = {name: find(name) for name in self.programs}
        with ExitStack() as files:
            self.folder = Path(files.enter_context(tempfile.TemporaryDirectory(prefix="zenserve-test-")))
            if as_user := self._as_user():
                shutil.chown(self.folder, as_user)
            self.prepare()
            self.port = free_port()  # as late as can be: another process may take it
            self.start()
            self._files = files.pop_all()

    def prepare(self) -> None:  # noqa: B027  most need nothing
        """Make what the server needs before its first start."""

    @abstractmethod
    def command(self) -> list[str]: ...

    @abstractmethod
    def answers(self) -> bool: ...

    def start(self) -> None:
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [*self._prefix(), "--pdeathsig", "QUIT", *self.command()], stdout=log, stderr=log
            )
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.command()[0]}: {(self.folder / 'log').read_text()}")
            time.sleep(0.01)

    def kill(self) -> None:
        """Without a warning. What it had on disk stays."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        self._files.close()

    def run(self, *command: str) -> None:
        subprocess.run([*self._prefix(), *command], check=True, stdout=subprocess.DEVNULL)

    def _as_user(self) -> str | None:
        return self.user if os.geteuid() == 0 else None

    def _prefix(self) -> list[str]:
        as_user = self._as_user()
        switch = [f"--reuid={as_user}", f"--regid={as_user}", "--clear-groups"] if as_user else []
        return ["setpriv", *switch]


class Postgres(Server):
    """PostgreSQL, which refuses to run as root."""

    user = "postgres"
    programs = ("initdb", "postgres")

    def prepare(self) -> None:
        password = self.folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        access = ["--username=zenserve", f"--pwfile={password}", "--auth=scram-sha-256"]
        how = ["--no-sync", "--no-instructions", "--encoding=UTF8", "--locale=C"]
        self.run(self.paths["initdb"], *access, *how, str(self.folder / "data"))

    def command(self) -> list[str]:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "off",  # of this host, not of the server: what was committed outlives a kill
            "full_page_writes": "off",
            "shared_buffers": "32MB",
            "max_connections": "200",
        }
        given = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return [self.paths["postgres"], "-D", str(self.folder / "data"), *given]

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """Immediate shutdown: as a crash, but its processes go with it and leave no shared memory behind."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    @property
    def url(self) -> str:
        return f"postgresql://zenserve:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{self.port}/postgres"


class Redis(Server):
    """Redis with a password, which keeps on disk what it is told."""

    programs = ("redis-server",)

    def command(self) -> list[str]:
        where = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)]
        return [
            self.paths["redis-server"],
            *where,
            *("--requirepass", PASSWORD, "--appendonly", "yes", "--appendfsync", "always", "--save", ""),
        ]

    def answers(self) -> bool:
        try:
            with redis.Redis(port=self.port, password=PASSWORD) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{self.port}/0"


class Nginx(Server):
    """The proxy of ``deploy/nginx.conf``, in front of the API at ``HOST:PORT``, with the certificate that
    docs/operations.md has made for a trial."""

    programs = ("nginx", "openssl")

    def __init__(self, find: Find, api: str, config: Path = ROOT / "deploy" / "nginx.conf") -> None:
        self._api, self._config = api, config
        super().__init__(find)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    @property
    def certificate(self) -> Path:
        return self.folder / "deploy" / "tls.crt"

    def prepare(self) -> None:
        command = re.search(r"`(openssl req -x509 [^`]+)`", (ROOT / "docs" / "operations.md").read_text())
        assert command is not None
        (self.folder / "deploy").mkdir()
        subprocess.run(shlex.split(command[1]), cwd=self.folder, check=True, stderr=subprocess.DEVNULL)

    def command(self) -> list[str]:
        here = {
            "listen 8443": f"listen 127.0.0.1:{self.port}",
            "api:8000": self._api,
            "/run/secrets/tls_certificate": str(self.certificate),
            "/run/secrets/tls_key": str(self.folder / "deploy" / "tls.key"),
            "/tmp/": f"{self.folder}/",  # noqa: S108
        }
        places = "|".join(map(re.escape, here))
        config = self.folder / "nginx.conf"
        config.write_text(re.sub(places, lambda found: here[found[0]], self._config.read_text()))
        return [self.paths["nginx"], "-c", str(config), "-g", "daemon off;"]

    def answers(self) -> bool:
        """Be it that nobody is behind it."""
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/healthz", verify=False).status_code > 0  # noqa: S501
        return False

    def kill(self) -> None:
        """In good order: its workers would outlive it."""
        self.process.terminate()
        self.process.wait()


def documented_roles(url: str, find: Find, database: str = "zenserve") -> dict[str, str]:
    """Have ``deploy/postgresql.sql`` make the database on this server; its URLs, by role."""
    command = [find("psql"), "-v", "ON_ERROR_STOP=1", "-v", f"database={database}", "-q", "-d", url]
    passwords = {f"ZENSERVE_{role}_PASSWORD": "of a test" for role in ("OWNER", "SERVICE")}
    file = ROOT / "deploy" / "postgresql.sql"
    subprocess.run([*command, "-f", str(file)], env=os.environ | passwords, check=True)
    server = url.rpartition("@")[2].rpartition("/")[0]
    return {
        role: f"postgresql://zenserve_{role}:of%20a%20test@{server}/{database}"
        for role in ("owner", "service")
    }


def free_port() -> int:
    """One that no connection is given by chance while a server is down: those have ports from 32,768 on."""
    while True:
        port = secrets.choice(range(20_000, 32_000))
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def fresh_database(url: str) -> str:
    """The URL of a new, empty database on the server of this one; of a ``test_`` database, of a copy."""
    server, _, like = url.rpartition("/")
    name, given = f"test_{secrets.token_hex(6)}", like if like.startswith("test_") else "template1"
    copy = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(given))
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(copy)
    return f"{server}/{name}"


def fresh_broker(url: str) -> str:
    """The same URL, of a Redis database that is now empty."""
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture(scope="session")
def postgres_url(program: Find) -> Iterator[str]:
    """A PostgreSQL server; take a ``fresh_database`` of it."""
    if given := os.environ.get("ZENSERVE_TEST_POSTGRES_URL"):
        yield given
        return
    server = Postgres(program)
    yield server.url
    server.close()


@pytest.fixture(scope="session")
def redis_url(program: Find) -> Iterator[str]:
    """A Redis server; take it as a ``fresh_broker``."""
    if given := os.environ.get("ZENSERVE_TEST_REDIS_URL"):
        yield given
        return
    server = Redis(program)
    yield server.url
    server.close()


@contextmanager
def object_store() -> Iterator[str]:
    """``s3://BUCKET`` of an empty bucket, with ``AWS_*`` in the environment for it."""
    import s3fs  # type: ignore[import-untyped]
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
            patch.setenv("AWS_ACCESS_KEY_ID", "zenserve")
            patch.setenv("AWS_SECRET_ACCESS_KEY", PASSWORD)
            patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            s3fs.S3FileSystem().mkdir("zenserve")
            yield "s3://zenserve"
    finally:
        server.stop()


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """``s3://BUCKET`` of an empty bucket, with ``AWS_*`` in the environment for it; take a prefix there."""
    if given := os.environ.get("ZENSERVE_TEST_S3_URL"):
        yield given
        return
    for module in ("moto.server", "s3fs"):
        pytest.importorskip(module)
    with object_store() as url:
        yield url
