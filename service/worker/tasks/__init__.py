"""What jobs do, by kind. Each runs in a worker, on a claimed job, and ends it in the transaction that writes
its results."""

from __future__ import annotations

from collections.abc import Callable

from service.runtime import Runtime
from service.worker.heartbeat import Hold
from service.worker.tasks.accuracy import prove_accuracy, prove_shard
from service.worker.tasks.ceremonies import open_ceremony, take_contribution
from service.worker.tasks.datasets import commit_dataset
from service.worker.tasks.proofs import make_proof
from service.worker.tasks.registration import register_model
from service.worker.tasks.streams import begin_stream

TASKS: dict[str, Callable[[Runtime, Hold], None]] = {
    "model": register_model,
    "dataset": commit_dataset,
    "proof": make_proof,
    "accuracy": prove_accuracy,
    "shard": prove_shard,
    "ceremony": open_ceremony,
    "contribution": take_contribution,
    "stream": begin_stream,
}
