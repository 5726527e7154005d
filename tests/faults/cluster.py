"""The production shape on one host: PostgreSQL, Redis, and the processes of the service, to be disturbed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
from pydantic import SecretStr
from sqlalchemy import text

from tests.faults.accident import DEAF, held_at
from tests.patience import until
from tests.programs import Find
from tests.servers import Postgres, Redis, documented_roles, free_port
from tests.service.support import tiny_calibration, tiny_onnx
from zenserve.client import Client, Model
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings
from zenserve.service.storage import schema
from zenserve.service.storage.database import Database

INPUT = [0.1, 0.2, 0.3, 0.4]
LEASE_SECONDS = 3600.0  # no stall outlasts it, and no test is rescued by its end
START_SECONDS = 600.0
"""For processes to start on the busiest of machines."""
OVER = ("succeeded", "failed", "canceled")
ZENSERVE = (sys.executable, "-c", "from zenserve.service.cli import main; main()")
_IN_TRANSACTION = """SELECT count(*) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()"""


class Cluster:
    """Servers, and processes by name: ``api``, ``beat``, ``worker``, ``worker-2``, and whatever else is
    started. They have the role ``zenserve_service`` of ``deploy/postgresql.sql``; with a remote store each
    is a host, with a data directory of its own.

    Each worker stays at the witness of its job as long as the file ``held`` is there.
    """

    def __init__(self, folder: Path, find: Find, **settings: Any) -> None:
        self.folder = folder
        self.held = folder / "held"
        for program in ("psql", *Postgres.programs, *Redis.programs):  # none is started where one is missing
            find(program)
        self.find = find
        self.postgres, self.redis = Postgres(find), Redis(find)
        defaults: dict[str, Any] = {
            "data_dir": folder / "data",
            "database_url": SecretStr(self.make_database()),
            "broker_url": SecretStr(self.redis.url),
            "secret_key": SecretStr("of a test"),
            "port": free_port(),
            "auth": "off",
            "backend": "cpu",
            "threads": 1,
            "basis_points": 256,
            "retry_seconds": 0.0,
            "lease_seconds": LEASE_SECONDS,
        }
        self.settings = Settings(**defaults | settings)
        self.runtime = Runtime.open(self.settings)
        self.client = Client(self.settings.url, retry_seconds=60.0)
        self.processes: dict[str, psutil.Popen] = {}

    def make_database(self) -> str:
        """An empty one, migrated by its owner; its URL for the service."""
        urls = documented_roles(self.postgres.url, self.find)
        owner = Database(urls["owner"])
        schema.migrate(owner)
        owner.close()
        return urls["service"]

    def start(self, name: str, *command: str, **environment: str) -> psutil.Popen:
        """A process with the cluster's settings: ``zenserve name`` unless another command is given."""
        with (self.folder / "log").open("a") as log:
            process = psutil.Popen(
                command or (*ZENSERVE, name.partition("-")[0]),
                stdout=log,
                stderr=log,
                env=self.environment(name) | held_at("witness", self.held) | environment,
                start_new_session=True,
            )
        self.processes[name] = process
        return process

    def environment(self, name: str) -> dict[str, str]:
        """The environment of a process, on its host."""
        host = {"ZENSERVE_DATA_DIR": str(self.folder / "hosts" / name)} if self.settings.store_url else {}
        return os.environ | self.settings.environment() | host

    def kill(self, name: str) -> None:
        """Without a warning, and without its children: those have to notice."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def stop(self, name: str) -> None:
        """In good order, once it has come so far as to hear of it."""
        process = self.processes.pop(name)
        until(lambda: process.poll() is not None or _listens(process), f"{name} to listen to signals")
        process.terminate()
        assert process.wait(120) == 0

    def accidents(self, *what: str, **environment: str) -> psutil.Popen:
        """Workers, one after the other, to each of whom this happens."""
        command = (sys.executable, "-m", "tests.faults.accident", *what)
        return self.start(f"accidents-{len(self.processes)}", *command, **environment)

    def working(self, name: str = "worker") -> psutil.Process | None:
        """The process that a supervisor lets work, if there is one now."""
        with suppress(psutil.NoSuchProcess):
            return next((child for child in self.processes[name].children()), None)
        return None

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Worker and beat stand still within the block, whichever job waits, and hold up nobody."""
        until(self.working, "the worker")
        worker = self.working()
        assert worker is not None
        still = (worker, self.processes["beat"])

        def stand_still() -> bool:
            for process in still:
                process.suspend()
            if self.query(_IN_TRANSACTION) == [(0,)]:
                return True
            for process in still:
                process.resume()
            return False

        until(stand_still, "a moment without transactions")
        try:
            yield
        finally:
            for process in still:
                process.resume()

    @contextmanager
    def holding(self, *, deaf: bool = False) -> Iterator[None]:
        """Jobs of the cluster's workers come as far as the witness, and go on after the block, or when they
        are to stop and are not deaf.
        """
        self.held.write_text(DEAF if deaf else "")
        try:
            yield
        finally:
            self.held.unlink()

    def query(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        with self.runtime.database.read() as session:
            return [tuple(row) for row in session.execute(text(sql), values)]

    def logged(self, event: str) -> int:
        """How often the processes have said so."""
        return (self.folder / "log").read_text().count(event)

    def let_leases_run_out(self) -> None:
        with self.runtime.database.write() as session:
            session.execute(text("UPDATE jobs SET lease_expires_at = now() WHERE worker IS NOT NULL"))

    def job(self, job_id: str) -> dict[str, Any]:
        """The columns of a job that a caller sees, from the database."""
        names = ("state", "stage", "attempt", "failures", "problem", "worker")
        (row,) = self.query(f"SELECT {', '.join(names)} FROM jobs WHERE id = :id", id=job_id)  # noqa: S608
        return dict(zip(names, row, strict=True))

    def jobs(self) -> int:
        ((count,),) = self.query("SELECT count(*) FROM jobs")
        return int(count)

    def prove(self, model: Model, count: int = 1, **options: Any) -> list[str]:
        return [self.client.create_proof(model.id, INPUT, **options).id for _ in range(count)]

    def ask(self, model: Model, key: str | None = None) -> httpx.Response:
        """For a proof, once: without the client's patience."""
        headers = {"Idempotency-Key": key} if key else {}
        body = {"model_id": model.id, "input": INPUT}
        return httpx.post(f"{self.settings.url}/v1/proofs", json=body, headers=headers, timeout=30)

    def until_held(self, proof_id: str, stage: str = "witness") -> None:
        until(lambda: self.job(proof_id)["stage"] == stage, f"{proof_id} to be at its {stage}")

    def until_over(self, job_id: str) -> dict[str, Any]:
        until(lambda: self.job(job_id)["state"] in OVER, f"{job_id} to be over")
        return self.job(job_id)

    def until_ready(self) -> None:
        until(self.client.is_ready, "the service to be ready", START_SECONDS)

    def ended_well(self, proof_id: str, *failures: str) -> None:
        """It succeeded in the attempt after these failures, its proof verifies, and its input is gone."""
        job = self.until_over(proof_id)
        assert job["state"] == "succeeded", job
        assert [failure["code"] for failure in job["failures"]] == list(failures)
        assert job["attempt"] == len(failures) + 1
        assert self.client.verify(self.client.get_proof_document(proof_id)).valid
        left = "SELECT count(*) FROM proofs WHERE id = :id AND input IS NOT NULL"
        until(lambda: self.query(left, id=proof_id) == [(0,)], "the input to be deleted")

    def model(self, system: str | None = None) -> Model:
        """A registered network with committed weights: its proofs take a tenth of a second."""
        made = self.client.create_model(
            tiny_onnx(), tiny_calibration(), weight_privacy="committed", system=system
        )
        return self.client.wait(made)

    def close(self) -> None:
        """Stop everything; processes that stay are killed, and are an error."""
        self.held.unlink(missing_ok=True)
        family = [each for process in self.processes.values() for each in _family(process)]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.resume()
                process.send_signal(signal.SIGTERM)
        _, alive = psutil.wait_procs(family, timeout=60)
        for process in alive:
            process.kill()
        self.client.close()
        self.runtime.close()
        self.redis.close()
        self.postgres.close()
        assert not alive, "processes stayed behind"
        until(lambda: not self.strays(), "workers whose supervisor was killed to stop")

    def strays(self) -> list[psutil.Process]:
        """Processes of this cluster, whoever their parent is now."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("ACCIDENT", "").endswith(f"={self.held}"):
                    found.append(process)
        return found


def _listens(process: psutil.Process) -> bool:
    """Whether it has a handler for SIGTERM yet (proc_pid_status(5), SigCgt)."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def _family(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return []
