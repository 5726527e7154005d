"""Jobs over HTTP: submissions while proofs run, pages of a long list, streams of events; on each database."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx
import psutil
from sqlalchemy import create_engine, insert, select
from sqlalchemy.orm import Session

from bench.measure import alone
from bench.report import Report, Row
from bench.serving import Server, image, load_row, registered, running
from tests.programs import find
from tests.servers import Postgres, Redis
from zenserve.client import Client
from zenserve.client.api import succeeded
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Proof

SUBMISSIONS: Final = 1000
CALLERS: Final = 8
LISTED: Final = 100_000
STREAMS: Final = 700


class Production(NamedTuple):
    """The settings of a service on PostgreSQL and Redis, and the database's process."""

    settings: dict[str, str]
    postgres: psutil.Process

    def database_seconds(self) -> float:
        """Processor seconds of all its processes, those that ended included."""
        own = float(sum(self.postgres.cpu_times()[:4]))
        return own + sum(sum(each.cpu_times()[:2]) for each in self.postgres.children())


@contextmanager
def production() -> Iterator[Production]:
    """PostgreSQL and Redis, which stop with it."""
    postgres, redis = Postgres(find), Redis(find)
    try:
        settings = {
            "ZENSERVE_DATABASE_URL": postgres.url,
            "ZENSERVE_BROKER_URL": redis.url,
            "ZENSERVE_SECRET_KEY": secrets.token_hex(32),
            "ZENSERVE_MAX_QUEUED": "1000000",
        }
        yield Production(settings, psutil.Process(postgres.process.pid))
    finally:
        redis.close()
        postgres.close()


def submissions(folder: Path, report: Report, quick: bool) -> list[Row]:
    """One worker proves what comes in, with all cores, while the rest is still coming."""
    loads = [_submissions(folder / "sqlite", "SQLite", {}, quick)]
    with production() as made:
        loads.append(_submissions(folder / "postgresql", "PostgreSQL, Redis", made.settings, quick))
    return loads


def pages(folder: Path, report: Report, quick: bool) -> list[Row]:
    """The first page, one from the middle, and one of a rare state."""
    loads = _pages(folder / "sqlite", "SQLite", {}, quick)
    with production() as made:
        loads += _pages(folder / "postgresql", "PostgreSQL", made.settings, quick)
    return loads


def streams(folder: Path, report: Report, quick: bool) -> list[Row]:
    """`/healthz` ten times a second, alone and beside streams of a job that waits."""
    with running(folder, "serve") as server, Client(server.url) as client:
        model = registered(client)
    loads = []
    with running(folder, "api", settings={"ZENSERVE_MAX_STREAMS": str(STREAMS)}) as server:
        with Client(server.url) as client:
            path = f"/v1/proofs/{client.create_proof(model.id, image()).id}/events"
        for count in (0, STREAMS):
            (times, spent, took), _ = alone(
                _beside, server.url, path, count, 20 if quick else 100, server.process.pid
            )
            name = f"healthz beside {count}" if count else "healthz alone"
            loads.append(load_row(server, name, times, took, spent / len(times), 0, count + 1))
    return loads


def _beside(url: str, path: str, count: int, asked: int, pid: int) -> tuple[list[float], float, float]:
    """Seconds of each answer beside ``count`` open streams, the server's processor seconds, and how long."""
    host, port = url.removeprefix("http://").split(":")
    times: list[float] = []

    async def ask() -> tuple[list[float], float, float]:
        writers = []
        for _ in range(count):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert b" 200 " in await reader.readline()
            writers.append(writer)
        server = psutil.Process(pid)
        before, began = sum(server.cpu_times()[:2]), time.perf_counter()
        async with httpx.AsyncClient(timeout=60) as client:
            for _ in range(asked):
                start = time.perf_counter()
                (await client.get(f"{url}/healthz")).raise_for_status()
                times.append(time.perf_counter() - start)
                await asyncio.sleep(0.1)
        spent, took = sum(server.cpu_times()[:2]) - before, time.perf_counter() - began
        for writer in writers:
            writer.close()
        return times, spent, took

    return asyncio.run(ask())


def _submissions(folder: Path, name: str, settings: dict[str, str], quick: bool) -> Row:
    folder.mkdir()
    count = 50 if quick else SUBMISSIONS
    with running(folder, "serve", settings=settings) as server, Client(server.url, timeout=120) as client:
        model = registered(client)
        succeeded(client.wait(client.create_proof(model.id, image())))  # keys and the worker are warm
        before = server.cpu_seconds()
        body = json.dumps({"model_id": model.id, "input": image()}).encode()
        (times, refused, took), _ = alone(_submit, server.url, body, count)
        cpu = (server.cpu_seconds() - before) / count
        done = sum(1 for _ in client.proofs(state="succeeded")) - 1
        return load_row(server, f"{name}; {done} proven meanwhile", times, took, cpu, refused, CALLERS)


def _submit(url: str, body: bytes, count: int) -> tuple[list[float], int, float]:
    """Seconds of each submission that was accepted, how many were not, and how long all took."""
    times: list[float] = []

    async def caller(client: httpx.AsyncClient, share: int) -> int:
        refused = 0
        for _ in range(share):
            start = time.perf_counter()
            headers = {"Content-Type": "application/json", "Idempotency-Key": secrets.token_hex(16)}
            answer = await client.post(f"{url}/v1/proofs", content=body, headers=headers)
            times.append(time.perf_counter() - start)
            refused += answer.status_code != httpx.codes.ACCEPTED
        return refused

    async def all_callers() -> int:
        async with httpx.AsyncClient(timeout=120) as client:
            shares = [count // CALLERS + (index < count % CALLERS) for index in range(CALLERS)]
            return sum(await asyncio.gather(*(caller(client, share) for share in shares)))

    start = time.perf_counter()
    refused = asyncio.run(all_callers())
    return times, refused, time.perf_counter() - start


def _pages(folder: Path, name: str, settings: dict[str, str], quick: bool) -> list[Row]:
    folder.mkdir()
    count = 2000 if quick else LISTED
    with running(folder, "serve", settings=settings) as server, Client(server.url) as client:
        model = registered(client)
        proof = succeeded(client.wait(client.create_proof(model.id, image())))
    url = settings.get("ZENSERVE_DATABASE_URL", f"sqlite:///{folder / 'data' / 'zenserve.sqlite'}")
    _multiply(url, proof.id, count)
    with running(folder, "api", settings=settings) as server:
        first = httpx.get(f"{server.url}/v1/proofs?limit=200").json()
        middle = first["next_cursor"]
        for _ in range(0 if quick else LISTED // 2 // 200 // 20):
            middle = httpx.get(f"{server.url}/v1/proofs?limit=200&cursor={middle}").json()["next_cursor"]
        queries = {
            "first page": "limit=50",
            "a later page": f"limit=50&cursor={middle}",
            "failed, one in a thousand": "limit=50&state=failed",
        }
        return [
            _read(server, f"{name}: {what}", f"/v1/proofs?{query}", 20 if quick else 200)
            for what, query in queries.items()
        ]


def _read(server: Server, name: str, path: str, count: int) -> Row:
    before = server.cpu_seconds()
    (times, refused, took), _ = alone(_get, server.url + path, count)
    cpu = (server.cpu_seconds() - before) / count
    return load_row(server, name, times, took, cpu, refused, 1)


def _get(url: str, count: int) -> tuple[list[float], int, float]:
    times, refused = [], 0
    with httpx.Client(timeout=60) as client:
        client.get(url)
        began = time.perf_counter()
        for _ in range(count):
            start = time.perf_counter()
            refused += client.get(url).status_code != httpx.codes.OK
            times.append(time.perf_counter() - start)
    return times, refused, time.perf_counter() - began


def _multiply(url: str, proof_id: str, count: int) -> None:
    """As many proofs as that, each a copy of this one, a second older than the one before."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with Session(engine) as session, session.begin():
        job, proof = (
            dict(session.execute(select(table.__table__).where(table.id == proof_id)).mappings().one())
            for table in (Job, Proof)
        )
        newest = datetime.now(UTC)
        for start in range(0, count, 1000):
            ids = [f"prf_{number:024x}" for number in range(start, min(start + 1000, count))]
            jobs: list[dict[str, Any]] = [
                job
                | {
                    "id": job_id,
                    "tenant_id": LOCAL_TENANT,
                    "idempotency_key": None,
                    "state": "failed" if number % 1000 == 0 else "succeeded",
                    "created_at": newest - timedelta(seconds=start + number),
                }
                for number, job_id in enumerate(ids)
            ]
            session.execute(insert(Job), jobs)
            session.execute(insert(Proof), [proof | {"id": job_id} for job_id in ids])
    engine.dispose()
