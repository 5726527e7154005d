"""A real service for benchmarks to load: its processes, what they take, and callers beside it."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
import psutil

from bench.digits import DIGITS
from bench.measure import alone
from bench.report import Row
from zenserve.client import Client, Model
from zenserve.client.api import succeeded

START_SECONDS: Final = 300.0
# No more than it takes to see what the machine can do, of one address.
UNLIMITED: Final = {
    "ZENSERVE_AUTH": "off",
    "ZENSERVE_VERIFY_PER_MINUTE": "10000000",
    "ZENSERVE_RATE_PER_MINUTE": "10000000",
}


@dataclass
class Server:
    url: str
    process: psutil.Process
    processes: int

    @property
    def api(self) -> list[psutil.Process]:
        """The processes that answer: not the worker beside them."""
        family = [self.process, *self.process.children(recursive=True)]
        return [process for process in family if "zenserve.service.worker" not in process.cmdline()]

    def cpu_seconds(self) -> float:
        return sum(sum(process.cpu_times()[:2]) for process in self.api)

    def peak_mb(self) -> float:
        """The most that one of them had at once, since it started or was told to forget."""
        return self._most_mb("VmHWM")

    def memory_mb(self) -> float:
        """The most that one of them has now."""
        return self._most_mb("VmRSS")

    def forget_peak(self) -> None:
        for process in self.api:
            Path(f"/proc/{process.pid}/clear_refs").write_text("5")

    def _most_mb(self, name: str) -> float:
        statuses = (Path(f"/proc/{process.pid}/status").read_text() for process in self.api)
        sizes = (line.split()[1] for status in statuses for line in status.splitlines() if name in line)
        return max(map(int, sizes)) / 1024


def load_row(
    server: Server, name: str, times: list[float], took: float, cpu: float, refused: int, connections: int
) -> Row:
    """Requests over ``connections`` that ask again as soon as they are answered; the time is the median's.

    ``times``: seconds of each request; ``took``: of all of them; ``cpu``: of the API for each item, of which
    a request may have several, as for "per_s".
    """
    ranks = statistics.quantiles(times, n=100, method="inclusive")
    more = {
        "processes": server.processes,
        "per_s": len(times) / took,
        "p99_ms": 1e3 * ranks[98],
        "cpu_ms": 1e3 * cpu,
        "refused": refused,
    }
    return Row(name, connections, ranks[49], peak_mb=server.peak_mb(), more=more)


@contextmanager
def running(
    folder: Path, command: str, *, processes: int = 1, settings: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """``zenserve`` with this command, on a data directory in ``folder``, once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    here = {"ZENSERVE_DATA_DIR": str(folder / "data"), "ZENSERVE_PROCESSES": str(processes)}
    with (folder / "service.log").open("w+") as log:
        process = subprocess.Popen(  # noqa: S603  a fixed command
            [sys.executable, "-c", "from zenserve.service.cli import main; main()", command, "--port", port],
            env=os.environ | UNLIMITED | here | dict(settings or {}),
            stdout=log,
            stderr=log,
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _answers(f"http://127.0.0.1:{port}/healthz"):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"the service did not start:\n{Path(log.name).read_text()}")
                time.sleep(0.1)
            yield Server(f"http://127.0.0.1:{port}", psutil.Process(process.pid), processes)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def registered(client: Client, system: str = "groth16") -> Model:
    """The digits network, its weights committed."""
    model = client.create_model(
        (DIGITS / "digits.onnx").read_bytes(),
        (DIGITS / "calibration.npy").read_bytes(),
        name="digits",
        system=system,
        weight_privacy="committed",
    )
    return succeeded(client.wait(model))


def image() -> list[Any]:
    """One that the network has never seen."""
    images = np.load(DIGITS / "held_out.npz", allow_pickle=False)["images"]
    return list(images[0].tolist())


def load(
    server: Server, name: str, path: str, body: bytes, *, connections: int, duration: float, items: int = 1
) -> Row:
    """What ``connections`` get that post ``body`` for ``duration`` seconds, after a moment of the same."""
    alone(ask, server.url, path, body, connections, 1.0)
    before = server.cpu_seconds()
    (times, refused, _), _ = alone(ask, server.url, path, body, connections, duration)
    cpu = (server.cpu_seconds() - before) / (items * (len(times) + refused))
    return load_row(server, name, times, duration / items, cpu, refused, connections)


def ask(
    url: str, path: str, body: bytes, connections: int, duration: float, unique: bool = False
) -> tuple[list[float], int, float]:
    """Seconds of each answer with status 200 or 202, how many others there were, and the processor seconds of
    asking. ``unique``: each request has an Idempotency-Key of its own."""
    host, port = url.removeprefix("http://").split(":")
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    rest = f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    began, times = time.process_time(), list[float]()
    refused = 0

    def request() -> bytes:
        key = f"Idempotency-Key: {secrets.token_hex(16)}\r\n" if unique else ""
        return f"{head}{key}".encode() + rest

    async def caller(until: float) -> None:
        nonlocal refused
        reader, writer = await asyncio.open_connection(host, int(port))
        while (start := time.perf_counter()) < until:
            writer.write(request())
            answer = await reader.readuntil(b"\r\n\r\n")
            length = answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            if answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 202")):
                times.append(time.perf_counter() - start)
            else:
                refused += 1
        writer.close()

    async def all_callers() -> None:
        until = time.perf_counter() + duration
        await asyncio.gather(*(caller(until) for _ in range(connections)))

    asyncio.run(all_callers())
    return times, refused, time.process_time() - began


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.TransportError:
        return False
