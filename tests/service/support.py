"""A tiny network, and workers that run in the test itself."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import uvicorn
from onnx import helper, numpy_helper
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.routing import BaseRoute

from tests.patience import until
from zenserve.service.app import create_app
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.jobs import Jobs, Terms
from zenserve.service.jobs.reaping import Reaping
from zenserve.service.runtime import Runtime
from zenserve.service.serve import listen
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Circuit
from zenserve.service.storage.repositories import Shards
from zenserve.service.worker.attempts import run_claimed, run_next
from zenserve.service.worker.heartbeat import Heartbeat

SHAPE = (4,)
# A value that is easy to search for, in the clear and as bytes, and inside the calibrated range.
SECRET = 0.7234567890123


def tiny_onnx(
    hidden: int = 5,
    inputs: int = 4,
    operator: str = "Relu",
    poison: float | None = None,
    *,
    embeds: bool = False,
    outputs: int = 3,
) -> bytes:
    """Dense, activation, dense: ``inputs`` -> ``hidden`` -> ``outputs``. ``poison`` replaces one weight; one
    that ``embeds`` ends with another activation.
    """
    random = np.random.default_rng(7)
    first = random.normal(size=(hidden, inputs)).astype(np.float32)
    second = random.normal(size=(outputs, hidden)).astype(np.float32)
    if poison is not None:
        first[1, 2] = poison
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w1"], ["h"], name="first", transB=1),
            helper.make_node(operator, ["h"], ["a"], name="activation"),
            helper.make_node("Gemm", ["a", "w2"], ["e" if embeds else "y"], name="second", transB=1),
            *([helper.make_node("Relu", ["e"], ["y"], name="embedding")] if embeds else []),
        ],
        "tiny",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", inputs])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", outputs])],
        [numpy_helper.from_array(first, "w1"), numpy_helper.from_array(second, "w2")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())


def named_onnx() -> bytes:
    """The tiny network, whose file says how wide its input is by a name alone."""
    model = onnx.load_from_string(tiny_onnx())
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "tokens"
    return bytes(model.SerializeToString())


def tiny_calibration(inputs: int = 4) -> bytes:
    return npy(np.random.default_rng(8).uniform(0, 1, size=(32, inputs)))


def npy(array: Any, *, allow_pickle: bool = False) -> bytes:
    """A ``.npy`` file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def labelled(size: int = 7, inputs: int = 4) -> tuple[bytes, bytes]:
    """Samples for the tiny network, inside its calibrated range, and labels."""
    random = np.random.default_rng(9)
    return npy(random.uniform(0, 1, size=(size, inputs))), npy(random.integers(0, 3, size=size))


class _Server(uvicorn.Server):
    """One that hears sooner that it is to stop."""

    async def main_loop(self) -> None:
        await self.on_tick(0)
        while not self.should_exit:
            await asyncio.sleep(0.01)


_ROUTES: list[BaseRoute] = []
"""Of all servers here: they hold nothing of any of them, and FastAPI works them out at the first request, for
longer than most tests take.
"""


@contextmanager
def serving(runtime: Runtime, **options: Any) -> Iterator[str]:
    """An API server in a thread, without any worker, with these options of uvicorn's. Its address."""
    app = create_app(runtime)
    _ROUTES[:] = app.router.routes = _ROUTES or app.router.routes
    with listen("127.0.0.1", 0) as listener:
        server = _Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1, **options))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        until(lambda: server.started)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def heart(runtime: Runtime, worker: str = "worker_test") -> Iterator[Heartbeat]:
    """A worker's heartbeat, without the worker."""
    heartbeat = Heartbeat(runtime, worker)
    heartbeat.start()
    try:
        yield heartbeat
    finally:
        heartbeat.finish()


def run_job(runtime: Runtime, heartbeat: Heartbeat, job_id: str) -> None:
    """Run this job from claim to end, whoever's turn it is; one that is not queued is left alone."""
    with runtime.database.write() as session:
        claim = Claims(session).claim(job_id, heartbeat.worker, runtime.settings.lease_seconds)
    if claim is not None:
        run_claimed(runtime, heartbeat, claim)


def work_on(runtime: Runtime, job_id: str) -> None:
    """Run a queued job here and now, as a worker would."""
    with heart(runtime) as heartbeat:
        run_job(runtime, heartbeat, job_id)


@contextmanager
def working(runtime: Runtime) -> Iterator[None]:
    """A worker in a thread, which takes whatever is queued."""
    done = threading.Event()

    def work() -> None:
        with heart(runtime) as heartbeat:
            while not done.wait(0.02):
                run_next(runtime, heartbeat)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def shards_of(runtime: Runtime, proof_id: str) -> list[str]:
    """The ids of a proof's shards, in order."""
    with runtime.database.read() as session:
        return [shard.id for shard in Shards(session).of(proof_id)]


def work_on_all(runtime: Runtime, proof_id: str) -> None:
    """Run a proof of accuracy from its plan over its shards to its end."""
    work_on(runtime, proof_id)
    for shard_id in shards_of(runtime, proof_id):
        work_on(runtime, shard_id)
    work_on(runtime, proof_id)


def proving_key_files(runtime: Runtime) -> list[Path]:
    """Of a store that keeps files: those that are there."""
    with runtime.database.read() as session:
        digests = session.scalars(select(Circuit.proving_key)).all()
    files = [runtime.settings.data_dir / "artifacts" / digest[:2] / digest for digest in digests]
    return [file for file in files if file.exists()]


def add_job(runtime: Runtime, job_id: str = "job_1", kind: str = "fake", terms: Terms | None = None) -> str:
    """A queued job without model or proof."""
    with runtime.database.write() as session:
        Jobs(session).create(job_id, kind, terms)
    return job_id


def load(runtime: Runtime, job_id: str = "job_1") -> Job:
    with runtime.database.read() as session:
        return session.scalars(select(Job).where(Job.id == job_id)).one()


def take_back(session: Session, max_attempts: int = 3) -> list[str]:
    """Take lost jobs back from their workers. The ids of those that are queued again."""
    reaping = Reaping(session)
    return [lost.id for lost in reaping.lost() if reaping.release(lost, max_attempts)]
