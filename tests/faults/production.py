"""The service as docker-compose.yml has it, on one host: a cluster behind nginx, with an S3 store, keys for
callers, two processes of the API and two workers, each process with a data directory of its own.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import httpx
import psutil
import psycopg
import redis

from tests.faults.cluster import ZENSERVE, Cluster
from tests.patience import until
from tests.programs import Find
from tests.servers import Nginx, object_store
from zenserve.client import Client
from zenserve.service.runtime import Runtime

PROCESSES = ("api", "beat", "worker", "worker-2")
WORKERS = ("worker", "worker-2")
_PATIENCE_SECONDS = 300.0
"""Of callers, while the service is away: longer than a restore takes."""
_SCOPES = ("read", "prove", "register", "reveal", "admin")
_AT_WORK = """SELECT pid FROM workers JOIN jobs ON jobs.worker = workers.id
    WHERE jobs.state = 'running'"""


class Production(Cluster):
    def __init__(self, folder: Path, find: Find, store_url: str) -> None:
        for program in Nginx.programs:
            find(program)
        self._bucket = store_url.removeprefix("s3://")
        super().__init__(
            folder,
            find,
            store_url=f"{store_url}/artifacts",
            auth="keys",
            processes=2,
            lease_seconds=4.0,
            rate_per_minute=1_000_000,
            verify_per_minute=1_000_000,
            webhook_networks=["127.0.0.0/8"],
        )
        self.proxy = Nginx(find, f"127.0.0.1:{self.settings.port}")
        self._key = ""

    def begin(self) -> None:
        for name in PROCESSES:
            self.start(name)
        tenant = self.command("tenants", "add", "Rig")
        self._key = self.command("keys", "add", tenant, *_SCOPES, "--name", "rig")
        self.client.close()
        self.client = self.caller()
        self.until_ready()

    def command(self, *words: str) -> str:
        """A command of an operator on the API's host; what it prints."""
        command = [*ZENSERVE, *words]
        done = subprocess.run(
            command, env=self.environment("api"), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"zenserve {' '.join(words)}: {done.stderr}"
        return done.stdout.strip()

    def caller(
        self, listen: Callable[[httpx.Response], None] = lambda _: None, *, direct: bool = False
    ) -> Client:
        """Somebody outside, who asks through the proxy, or the API itself, and sees each answer."""
        url = self.settings.url if direct else self.proxy.url
        client = Client(url, api_key=self._key, retry_seconds=_PATIENCE_SECONDS)
        if not direct:
            context = ssl.create_default_context(cafile=self.proxy.certificate)
            client._http._transport = httpx.HTTPTransport(verify=context)
        client._http.event_hooks = {"response": [listen]}
        return client

    # What is done to it.

    def disturb(self, what: str, random: Random) -> None:
        match what:
            case "PostgreSQL restarted":
                self.postgres.kill()
                self.postgres.start()
            case "Redis restarted":
                self.redis.kill()
                self.redis.start()
            case "Redis flushed":
                self._flush()
            case "worker process killed":
                self._kill_at_work(random)
            case "API process killed":
                self._kill_one_of_the_api(random)
            case "API stopped":  # in good order, within its drain
                self.stop("api")
                self._start_again("api")
            case _:  # with its supervisor, as a host that goes down
                name = what.removesuffix(" killed")
                self.kill(name)
                self._start_again(name)

    def back_up(self, folder: Path) -> None:
        self.command("backup", str(folder))

    def stop_work(self) -> None:
        for name in ("beat", *WORKERS):
            self.stop(name)

    def restore(self, folder: Path, *, emptied: bool) -> None:
        """As docs/operations.md tells, once all is stopped but the API. ``emptied``: the store and the hosts'
        data directories are lost, too.
        """
        self.stop("api")
        self.runtime.close()
        with psycopg.connect(self.postgres.url, autocommit=True) as connection:
            connection.execute("DROP DATABASE zenserve WITH (FORCE)")
        self.make_database()
        self._flush()
        if emptied:
            shutil.rmtree(self.folder / "hosts")
            self._empty_store()
        self.command("restore", str(folder))
        self.runtime = Runtime.open(self.settings)

    def go_on(self) -> None:
        for name in PROCESSES:
            self.start(name)
        self.until_ready()
        self.command("doctor", "--deep")

    def _start_again(self, name: str) -> None:
        if name == "api":  # its processes notice that their supervisor is gone
            until(self._is_free, "the API's address")
        self.start(name)

    def _is_free(self) -> bool:
        with suppress(OSError), socket.create_server(("127.0.0.1", self.settings.port)):
            return True
        return False

    def _kill_at_work(self, random: Random) -> None:
        """A worker's process in the middle of a job, if one comes to have any; it has a supervisor."""
        worker = None
        deadline = time.monotonic() + 5.0
        while worker is None and time.monotonic() < deadline:
            pids = [pid for (pid,) in self.query(_AT_WORK)]
            here = [self.working(name) for name in WORKERS]
            worker = next((each for each in here if each is not None and each.pid in pids), None)
        time.sleep(random.uniform(0, 0.15))
        if worker is not None:
            with suppress(psutil.NoSuchProcess):
                worker.kill()

    def _kill_one_of_the_api(self, random: Random) -> None:
        children = [
            each for each in self.processes["api"].children() if "spawn_main" in " ".join(each.cmdline())
        ]
        if children:
            random.choice(children).kill()

    def _flush(self) -> None:
        with redis.Redis.from_url(self.redis.url) as client:
            client.flushall()

    def _empty_store(self) -> None:
        import s3fs  # type: ignore[import-untyped]

        files = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
        files.rm(f"{self._bucket}/artifacts", recursive=True)

    def close(self) -> None:
        super().close()
        self.proxy.close()


@contextmanager
def production(folder: Path, find: Find, log: Path | None = None) -> Iterator[Production]:
    """``log``: where its processes write, if not in the folder."""
    if log is not None:
        log.unlink(missing_ok=True)
        (folder / "log").symlink_to(log.absolute())
    with object_store() as store_url:
        service = Production(folder, find, store_url)
        try:
            service.begin()
            yield service
        finally:
            service.close()
