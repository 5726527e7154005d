"""Many jobs while processes and servers are killed at random: all that is promised holds at the end.

python -m tests.faults.chaos --jobs 200 --seed 1
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random

import psutil
import redis

from client import ApiError, Client, Dataset, Model
from service.storage.repositories import stored
from tests.faults.cluster import INPUT, OVER, Cluster
from tests.programs import Find, find
from tests.service.support import labelled, until
from verifier.documents import KeyFile, ProofDocument
from verifier.judging import Case, judge_each
from verifier.keys import opened

PROCESSES = ("api", "beat", "worker", "worker-2")
SERVERS = ("PostgreSQL restarted", "Redis restarted", "Redis flushed")
SOME = {"accuracy": 0.04, "canceled": 0.1, "repeated": 0.1}
"""Shares of the jobs: proofs of accuracy, in shards; asked for again; canceled a moment later."""
LIMIT_SECONDS = 900.0
_AT_WORK = """SELECT pid FROM workers JOIN jobs ON jobs.worker = workers.id
    WHERE jobs.state = 'running'"""


class Chaos:
    """A service, what it is asked for, and what is done to it. The same seed asks for the same, and disturbs
    in the same order; which job is hit is up to the moment.
    """

    def __init__(self, cluster: Cluster, jobs: int, seed: int) -> None:
        self._cluster = cluster
        self._count = jobs
        self._seed = seed
        self.kills: Counter[str] = Counter()
        self.left_for_the_sweep = 0
        self.seconds = 0.0

    def run(self) -> None:
        """Raises ``AssertionError`` where a promise is broken."""
        for name in PROCESSES:
            self._cluster.start(name)
        self._cluster.until_ready()
        client, model = self._cluster.client, self._cluster.model()
        dataset = client.wait(client.create_dataset(model.id, *labelled(6), privacy="private", shard_size=2))
        client.create_webhook("http://127.0.0.1:9/nobody-listens")  # what it is to be told is counted
        started = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self._ask, model, dataset)
            self._disturb(asked)
            proofs = asked.result()
        until(self._is_over, "the end of all jobs", LIMIT_SECONDS)
        self.seconds = time.monotonic() - started
        self._check(proofs)

    def summary(self) -> str:
        query = self._cluster.query
        ended = query(
            """SELECT kind, state, count(*), COALESCE(problem ->> 'code', '') FROM jobs
            GROUP BY 1, 2, 4 ORDER BY 1, 2, 4"""
        )
        causes = query("SELECT label, count FROM totals WHERE name = 'requeues' ORDER BY label")
        lines = [f"{self._count} jobs, seed {self._seed}: {self.seconds:.0f} s"]
        lines += [
            "",
            "ended",
            *(f"  {kind:8} {state:9} {count:8} {code}".rstrip() for kind, state, count, code in ended),
        ]
        lines += ["", "killed", *(f"  {kind:26} {count:4}" for kind, count in sorted(self.kills.items()))]
        lines += ["", "tried again after", *(f"  {cause:26} {count:4}" for cause, count in causes)]
        lines += ["", f"files left for the sweep     {self.left_for_the_sweep:4}"]
        return "\n".join(lines)

    # What is asked for.

    def _ask(self, model: Model, dataset: Dataset) -> list[str]:
        """The ids of the proofs."""
        with Client(self._cluster.settings.url, retry_seconds=120.0) as client, ThreadPoolExecutor(4) as pool:
            return list(
                pool.map(lambda number: self._ask_for(client, number, model, dataset), range(self._count))
            )

    def _ask_for(self, client: Client, number: int, model: Model, dataset: Dataset) -> str:
        random, key = Random(f"{self._seed}/{number}"), f"{number}"
        accuracy, repeated, canceled = (random.random() < share for share in SOME.values())
        if accuracy or number == 0:
            ask = partial(client.create_proof, model.id, scheme="accuracy", dataset_id=dataset.id)
        else:
            ask = partial(client.create_proof, model.id, INPUT)
        time.sleep(random.uniform(0, 1))
        proof_id = ask(idempotency_key=key).id
        assert not repeated or ask(idempotency_key=key).id == proof_id
        if canceled:
            time.sleep(random.uniform(0, 0.5))
            with suppress(ApiError):  # it was over already
                client.cancel(proof_id)
        return proof_id

    # What is done to it.

    def _disturb(self, asked: Future[list[str]]) -> None:
        random = Random(self._seed + 1)
        todo = random.choices(("a worker", *PROCESSES), (5, 2, 2, 1, 1), k=max(6, self._count // 5))
        for server in SERVERS:
            todo.insert(random.randrange(len(todo) // 2), server)
        for what in todo:
            time.sleep(random.uniform(0.2, 1.2))
            if asked.done() and self._is_over() and self.kills.keys() > set(SERVERS):
                return  # on a fast machine
            self._do(what, random)
            self.kills[what] += 1

    def _do(self, what: str, random: Random) -> None:
        cluster = self._cluster
        match what:
            case "PostgreSQL restarted":
                cluster.postgres.kill()
                cluster.postgres.start()
            case "Redis restarted":
                cluster.redis.kill()
                cluster.redis.start()
            case "Redis flushed":
                with redis.Redis.from_url(cluster.redis.url) as client:
                    client.flushall()
            case "a worker":  # under its supervisor, which starts another
                self._kill_at_work(random)
            case _:  # as where something else starts it again
                cluster.kill(what)
                cluster.start(what)

    def _kill_at_work(self, random: Random) -> None:
        """A worker's process in the middle of a job, if one comes to have any."""
        worker = None
        deadline = time.monotonic() + 5.0
        while worker is None and time.monotonic() < deadline:
            pids = [pid for (pid,) in self._cluster.query(_AT_WORK)]
            here = [self._cluster.working(name) for name in ("worker", "worker-2")]
            worker = next((each for each in here if each is not None and each.pid in pids), None)
        time.sleep(random.uniform(0, 0.15))
        if worker is not None:
            with suppress(psutil.NoSuchProcess):
                worker.kill()

    def _is_over(self) -> bool:
        return self._cluster.query("SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')") == [(0,)]

    # What is promised.

    def _check(self, proofs: list[str]) -> None:
        self._check_jobs(proofs)
        self._check_proofs()
        self._check_secrets()

    def _check_jobs(self, proofs: list[str]) -> None:
        query = self._cluster.query
        columns = "id, kind, state, attempt, failures, problem"
        jobs = {row[0]: row for row in query(f"SELECT {columns} FROM jobs")}  # noqa: S608
        asked = {job_id for job_id, kind, *_ in jobs.values() if kind in ("proof", "accuracy")}
        assert len(proofs) == self._count
        assert asked == set(proofs), "one job for each key"
        told: dict[str, list[str]] = {job_id: [] for job_id in jobs}
        for job_id, state in query("SELECT job_id, state FROM job_events ORDER BY job_id, revision"):
            told[job_id].append(state)
        for job_id, kind, state, attempt, failures, problem in jobs.values():
            ends = [each for each in told[job_id] if each in OVER]
            assert ends == [told[job_id][-1]] == [state], (job_id, told[job_id])
            tried = len(failures or ())
            # A parent that a shard failed, and what was canceled while it ran, had an attempt under way.
            at_work = {
                "succeeded": (1,),
                "failed": (0, 1) if kind == "accuracy" else (0,),
                "canceled": (0, 1),
            }
            assert attempt - tried in at_work[state], (job_id, state, attempt, failures)
            assert (problem is not None) == (state == "failed"), (job_id, state, problem)
            assert state != "failed" or kind == "accuracy" or tried == self._cluster.settings.max_attempts
        messages = query("SELECT count(*), count(DISTINCT job_id) FROM deliveries")
        assert messages == [(len(proofs), len(proofs))], "one message for each end"

    def _check_proofs(self) -> None:
        keys = {
            key_id: opened(KeyFile.model_validate(self._cluster.client.get_verification_key(key_id)))
            for (key_id,) in self._cluster.query("SELECT DISTINCT verification_key_id FROM proofs")
            if key_id is not None
        }
        made = self._cluster.query(
            "SELECT verification_key_id, document FROM proofs JOIN jobs USING (id) WHERE state = 'succeeded'"
        )
        assert made
        verdicts = judge_each([Case(ProofDocument.model_validate(each), keys[key]) for key, each in made])
        assert [verdict.reason for verdict in verdicts if not verdict.valid] == []

    def _check_secrets(self) -> None:
        """No sealed input in any row, nor in the store after a sweep: what was killed between storing and
        committing leaves files that no row names.
        """
        cluster = self._cluster
        left = """SELECT (SELECT count(*) FROM proofs WHERE input IS NOT NULL)
            + (SELECT count(*) FROM shards WHERE opening IS NOT NULL)"""
        until(lambda: cluster.query(left) == [(0,)], "the deletion of all inputs")
        for name in PROCESSES:
            cluster.stop(name)
        with cluster.runtime.database.read() as session:
            kept = stored(session)
        self.left_for_the_sweep = cluster.runtime.store.delete_others(kept, age_seconds=-60.0)
        files = {path.name for path in (cluster.settings.data_dir / "artifacts").glob("*/*")}
        assert files == kept


@contextmanager
def chaos(folder: Path, find: Find, jobs: int, seed: int) -> Iterator[Chaos]:
    cluster = Cluster(folder, find, webhook_networks=["127.0.0.0/8"], lease_seconds=4.0)
    try:
        yield Chaos(cluster, jobs, seed)
    finally:
        cluster.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chaos(Path(folder), find, given.jobs, given.seed) as run:
        run.run()
        print(run.summary())


if __name__ == "__main__":
    main()
