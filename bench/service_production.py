"""One API process on PostgreSQL and Redis: what it takes of callers, with `/healthz` asked beside them, and
how far its memory grows by what they upload.
"""

from __future__ import annotations

import io
import json
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx
import numpy as np
import psutil
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from bench.digits import DIGITS
from bench.measure import alone
from bench.report import Report, Row
from bench.service_jobs import Production, production
from bench.serving import Server, ask, image, load_row, registered, running
from zenserve.base.processors import usable_cores
from zenserve.client import Client
from zenserve.client.api import succeeded
from zenserve.verifier.documents import ProofDocument, checked

CONNECTIONS: Final = 8
POSITIONS: Final = 4096
_BETWEEN_SECONDS: Final = 0.02
_LARGEST_BYTES: Final = (64 << 20) - (1 << 16)
"""Of a body, with what is around its files."""


class Asked(NamedTuple):
    """Requests of a kind: with ``unique``, each under an Idempotency-Key of its own."""

    path: str
    body: bytes
    unique: bool = False


def under_load(folder: Path, _report: Report, quick: bool) -> list[Row]:
    """Verifications of both systems and submissions, by one process; the worker is stopped meanwhile."""
    duration = 1.0 if quick else 10.0
    with _prepared(folder) as (made, kinds), running(folder, "api", settings=made.settings) as server:
        rows = [_healthz(server, made, None, 1, duration)]
        for name, kind in kinds.items():
            for connections in (1, CONNECTIONS):
                ask(server.url, kind.path, kind.body, connections, 0.5, kind.unique)  # all is loaded
                rows.append(_healthz(server, made, (name, kind), connections, duration))
        return rows


@contextmanager
def _prepared(folder: Path) -> Iterator[tuple[Production, dict[str, Asked]]]:
    with production() as made:
        with running(folder, "serve", settings=made.settings) as server:
            kinds = _kinds(server)
        yield made, kinds


def _kinds(server: Server) -> dict[str, Asked]:
    kinds = {}
    with Client(server.url, timeout=300) as client:
        for system in ("groth16", "spartan"):
            model = registered(client, system)
            body = {"model_id": model.id, "input": image()}
            proof = succeeded(client.wait(client.create_proof(model.id, image(), challenge="bench")))
            document = checked(ProofDocument, client.get_proof_document(proof.id))
            verified = {"proof": document.model_dump(mode="json")}
            kinds[f"{system}: verify"] = Asked("/v1/verify", json.dumps(verified).encode())
            kinds[f"{system}: submit"] = Asked("/v1/proofs", json.dumps(body).encode(), unique=True)
    return kinds


def _healthz(
    server: Server, made: Production, load: tuple[str, Asked] | None, connections: int, duration: float
) -> Row:
    """Requests as fast as they are answered, or none, and `/healthz` beside them fifty times a second."""
    before = server.cpu_seconds(), made.database_seconds()
    with ThreadPoolExecutor(2) as pool:
        watched = pool.submit(alone, watch, server.url, duration)
        times: list[float] = []
        refused, client = 0, 0.0
        if load is not None:
            kind = load[1]
            told = server.url, kind.path, kind.body, connections, duration, kind.unique
            (times, refused, client), _ = pool.submit(alone, ask, *told).result()
        health, _ = watched.result()
    count = len(times) + refused or len(health)
    api, database = (
        1e3 * (after - earlier) / count
        for after, earlier in zip((server.cpu_seconds(), made.database_seconds()), before, strict=True)
    )
    row = load_row(
        server,
        load[0] if load else "healthz alone",
        times or health,
        duration,
        api / 1e3,
        refused,
        connections,
    )
    spent = {"database_cpu_ms": database, "client_cpu_ms": 1e3 * client / count}
    row.more.update(spent)
    if load is not None:
        # Of a machine with nothing else to do, which has no moment of waiting.
        row.more["most_per_s"] = usable_cores() * 1e3 / (api + sum(spent.values()))
    row.more["healthz_p99_ms"] = 1e3 * statistics.quantiles(health, n=100, method="inclusive")[98]
    return row


def watch(url: str, duration: float) -> list[float]:
    """Seconds of each answer to `/healthz`, for so long."""
    times, until = [], time.perf_counter() + duration
    with httpx.Client(timeout=60) as client:
        client.get(f"{url}/healthz")
        while (start := time.perf_counter()) < until:
            client.get(f"{url}/healthz").raise_for_status()
            times.append(time.perf_counter() - start)
            time.sleep(_BETWEEN_SECONDS)
    return times


def growth(folder: Path, _report: Report, quick: bool) -> list[Row]:
    """What one upload after the other adds to the memory of the API's own process: at most, and for good."""
    largest = 1 << 20 if quick else _LARGEST_BYTES
    with running(folder, "serve") as server, Client(server.url) as client:
        digits = registered(client)
    with running(folder, "api") as server, httpx.Client(base_url=server.url, timeout=600) as http:
        calibration = (DIGITS / "calibration.npy").read_bytes()
        small = {"model": (DIGITS / "digits.onnx").read_bytes(), "calibration": calibration}
        http.post("/v1/models", files=small)  # all is loaded
        http.post("/v1/proofs", json={"model_id": digits.id, "input": image()})
        side = int((largest // 4) ** 0.5)
        positions = 64 if quick else POSITIONS
        wide = {"model": dense(side), "calibration": npy((2, side))}
        shape = np.load(DIGITS / "calibration.npy").shape[1:]
        count = largest * 63 // 64 // (4 * int(np.prod(shape)))
        dataset = {"samples": npy((count, *shape)), "labels": saved(np.zeros(count, np.uint8))}
        uploads: dict[str, tuple[str, dict[str, str], dict[str, bytes]]] = {
            f"attention over {positions:,} positions": (
                "/v1/models", {}, {"model": attention(positions), "calibration": npy((2, positions, 2))},
            ),
            "a network": ("/v1/models", {}, wide),
            "samples": ("/v1/datasets", {"model_id": digits.id}, dataset),
            "no network": ("/v1/models", {}, {"model": bytes(largest), "calibration": calibration}),
        }  # fmt: skip
        return [_grown(server, http, name, *upload) for name, upload in uploads.items()]


def _grown(
    server: Server, http: httpx.Client, name: str, path: str, fields: dict[str, str], files: dict[str, bytes]
) -> Row:
    process = psutil.Process(server.process.pid)
    own = Server(server.url, _Alone(process), 1)
    own.forget_peak()
    before, start = own.memory_mb(), time.perf_counter()
    answer = http.post(path, data=fields, files=files)
    taken, size = time.perf_counter() - start, sum(map(len, files.values()))
    code = answer.json().get("code") if answer.is_error else None
    more = {"left_mb": own.memory_mb() - before, "status": answer.status_code, "code": code, "s": taken}
    return Row(name, size, own.peak_mb() - before, unit="MB", more=more)


class _Alone(psutil.Process):  # type: ignore[misc]  # it has no types
    """Without its children."""

    def __init__(self, process: psutil.Process) -> None:
        super().__init__(process.pid)

    def children(self, recursive: bool = False) -> list[Any]:
        return []


def npy(shape: tuple[int, ...]) -> bytes:
    """Samples of this shape, as float32."""
    return saved(np.random.default_rng(1).random(shape, dtype=np.float32))


def saved(values: NDArray[Any]) -> bytes:
    content = io.BytesIO()
    np.save(content, values)
    return content.getvalue()


def dense(side: int) -> bytes:
    """A network that is one square of weights."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    return _onnx(nodes, [1, side], [1, side], {"w": (side, side)})


def attention(positions: int, width: int = 2) -> bytes:
    """One head: a network of some kilobytes with tensors of positions times positions."""
    nodes = [helper.make_node("MatMul", ["x", name], [f"{name}x"]) for name in "qkv"]
    nodes += [
        helper.make_node("Transpose", ["kx"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["qx", "kt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "vx"], ["mixed"]),
        helper.make_node("ReduceMean", ["mixed"], ["y"], axes=[1], keepdims=0),
    ]
    return _onnx(nodes, [1, positions, width], [1, width], dict.fromkeys("qkv", (width, width)))


def _onnx(nodes: list[Any], taken: list[int], given: list[int], weights: dict[str, tuple[int, ...]]) -> bytes:
    rng = np.random.default_rng(0)
    graph = helper.make_graph(
        nodes,
        "bench",
        [helper.make_tensor_value_info("x", 1, taken)],
        [helper.make_tensor_value_info("y", 1, given)],
        [
            numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)
            for name, shape in weights.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())
