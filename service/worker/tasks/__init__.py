"""Tasks of jobs, by kind.

Each runs in a worker, on a claimed job, and ends the job in the transaction that writes its results.
"""

from __future__ import annotations

from collections.abc import Callable

from zenserve.service.runtime import Runtime
from zenserve.service.worker.heartbeat import Hold
from zenserve.service.worker.tasks.accuracy import prove_accuracy, prove_shard
from zenserve.service.worker.tasks.ceremonies import open_ceremony, take_contribution
from zenserve.service.worker.tasks.datasets import commit_dataset
from zenserve.service.worker.tasks.proofs import make_proof
from zenserve.service.worker.tasks.registration import register_model
from zenserve.service.worker.tasks.streams import begin_stream

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
