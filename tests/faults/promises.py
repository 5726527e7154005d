"""What the service promises whatever befalls it, held against its database and what callers were given."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.faults.cluster import OVER, Cluster
from tests.patience import until
from zenserve.client import Client
from zenserve.prover.registry import SYSTEMS
from zenserve.service.storage.repositories import stored
from zenserve.verifier.documents import KeyFile, ProofDocument
from zenserve.verifier.judging import Case, judge_each
from zenserve.verifier.keys import OpenedKey, opened
from zenserve.verifier.spartan import chain
from zenserve.verifier.spartan.key import SpartanKey

LOST, DATABASE = "resource.worker_lost", "resource.database"
RETIRED = ("conflict.retired", "conflict.restored")
_WORKER = ("worker process killed", "worker killed", "worker-2 killed")
_POSTGRES = ("PostgreSQL restarted",)
CAUSES: dict[str, tuple[str, ...]] = {
    LOST: (*_WORKER, *_POSTGRES, "restored"),
    DATABASE: _POSTGRES,
}
"""What must have happened during an attempt that failed so."""
_SLACK = timedelta(seconds=2)


@dataclass(frozen=True)
class Disturbance:
    what: str
    began: datetime
    ended: datetime


def jobs_are_true(
    cluster: Cluster, done: Iterable[Disturbance], restored: Mapping[str, datetime]
) -> Iterator[str]:
    """What is wrong with the jobs. ``restored``: those that a restore brought back, and when: what was
    committed to before may be retired.
    """
    query, done = cluster.query, list(done)
    told: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for job_id, *event in query(
        "SELECT job_id, state, attempt, at FROM job_events ORDER BY job_id, revision"
    ):
        state, attempt, at = event
        told[job_id].append((state, attempt, at.replace(tzinfo=UTC)))
    columns = "id, kind, state, attempt, failures, problem"
    for job_id, kind, state, attempt, failures, problem in query(f"SELECT {columns} FROM jobs"):  # noqa: S608
        ends = [event[0] for event in told[job_id] if event[0] in OVER]
        if state in OVER and (ends != [state] or told[job_id][-1][0] != state):
            yield f"{job_id} ended {ends}, and is {state}"
        tried = len(failures)
        # A parent that a shard failed, and what was canceled while it ran, had an attempt under way.
        at_work = {"succeeded": (1,), "failed": (0, 1), "canceled": (0, 1)}.get(state, (0, 1))
        if attempt - tried not in at_work:
            yield f"{job_id} is {state} in attempt {attempt} after {tried} failures"
        if (problem is not None) != (state == "failed"):
            yield f"{job_id} is {state}, and its problem {problem}"
        if problem is not None and not _is_known(problem["code"], job_id, restored):
            yield f"{job_id} ({kind}) failed: {problem}, after {failures}"
        for failure in failures:
            began = next((at for _, number, at in told[job_id] if number == failure["attempt"]), None)
            code, ended = failure["code"], datetime.fromisoformat(failure["at"])
            if code in RETIRED and job_id in restored:
                continue
            if began is None or not _happened(CAUSES.get(code, ()), began, ended, done):
                yield f"{job_id}, attempt {failure['attempt']}: {code} ({failure['detail']}), and no cause"


def _is_known(code: str, job_id: str, restored: Mapping[str, datetime]) -> bool:
    """Whether a job may fail so: where it was brought back, or where it was tried as often as can be."""
    return job_id in restored if code in RETIRED else code in CAUSES


def _happened(causes: tuple[str, ...], began: datetime, ended: datetime, done: list[Disturbance]) -> bool:
    return any(
        each.what in causes and each.began <= ended + _SLACK and each.ended >= began - _SLACK for each in done
    )


def messages_are_single(cluster: Cluster) -> Iterator[str]:
    """Webhooks are told of each end once."""
    for job_id, count in cluster.query(
        "SELECT job_id, count(*) FROM deliveries GROUP BY 1 HAVING count(*) > 1"
    ):
        yield f"webhooks are told {count} times of {job_id}"
    for (job_id,) in cluster.query(
        """SELECT id FROM jobs WHERE kind IN ('proof', 'accuracy') AND finished_at IS NOT NULL
        AND id NOT IN (SELECT job_id FROM deliveries)"""
    ):
        yield f"webhooks are not told of {job_id}"


def secrets_are_gone(cluster: Cluster) -> Iterator[str]:
    """No sealed input in any row, and in the store what rows name."""
    left = """SELECT (SELECT count(*) FROM proofs WHERE input IS NOT NULL)
        + (SELECT count(*) FROM shards WHERE opening IS NOT NULL)"""
    try:
        until(lambda: cluster.query(left) == [(0,)], "the deletion of all inputs")
    except AssertionError as late:
        yield str(late)
    with cluster.runtime.database.read() as session:
        kept = stored(session)
    yield from (f"the store lacks {digest}" for digest in cluster.runtime.store.missing(kept))


class Published:
    """The documents that callers have, of all lives of the service, and what these show."""

    def __init__(self) -> None:
        self.documents: list[ProofDocument] = []
        self._given: dict[str, dict[str, Any]] = {}
        self._keys: dict[str, OpenedKey] = {}
        self.openings: dict[str, set[bytes]] = defaultdict(set)
        """Of each root under Spartan, in hex, what it was opened in."""
        self.budgets: dict[str, int] = {}

    def collect(self, client: Client, settled: Iterable[str] = ()) -> Iterator[str]:
        """Take all that there are; those of ``settled`` must be what they were."""
        proofs = {each.id: client.get_proof_document for each in client.proofs(state="succeeded")}
        models = {each.id: client.get_registration for each in client.models(state="succeeded")}
        for job_id, fetch in (proofs | models).items():
            document = fetch(job_id)
            before = self._given.get(job_id)
            if before == document:
                continue
            if before is not None and job_id in settled:
                yield f"{job_id} was done again"
            self._given[job_id] = document
            yield from self._take(client, job_id, ProofDocument.model_validate(document))

    def _take(self, client: Client, job_id: str, document: ProofDocument) -> Iterator[str]:
        key_id = document.statement.verification_key.id
        if key_id not in self._keys:
            key = opened(KeyFile.model_validate(client.get_verification_key(key_id)), SYSTEMS)
            if key.system.judges_by_circuits:
                key.system.take_circuit(client.get_circuit_of_key(key_id))
            self._keys[key_id] = key
        case = Case(document, self._keys[key_id])
        (verdict,) = judge_each([case])
        self.documents.append(document)
        if not verdict.valid:
            yield f"{job_id} is not valid: {verdict.detail}"
        elif isinstance(case.key.verifying, SpartanKey):
            self._count(case, case.key.verifying)

    def _count(self, case: Case, key: SpartanKey) -> None:
        """A link opens the commitment before it and its own; a proof opens the end of each chain."""
        for claim in case.claims():
            chains, proof = chain.split(claim.proof, len(key.linked_sizes))
            for commitment, links in zip(claim.commitments, chains, strict=True):
                root = commitment
                for link in links:
                    self._open(key, root, link.proof)
                    self._open(key, link.root, link.proof)
                    root = link.root
                self._open(key, root, proof)
        if (dataset := case.statement.dataset) is not None:
            for shard in dataset.shards:  # the sum of their counts is shown by a proof of its own
                self._open(key, bytes.fromhex(shard.correct), bytes.fromhex(dataset.blinding))

    def _open(self, key: SpartanKey, root: bytes, proof: bytes) -> None:
        self.openings[root.hex()].add(proof)
        self.budgets[root.hex()] = (key.tail or 0) // key.code.queries

    def overspent(self) -> Iterator[str]:
        for root, proofs in self.openings.items():
            if len(proofs) > self.budgets[root]:
                yield f"the root {root} was opened {len(proofs)} times, of {self.budgets[root]}"

    def fullest(self) -> Counter[str]:
        """How many roots were opened how often, of how often they can be."""
        return Counter(f"{len(proofs)} of {self.budgets[root]}" for root, proofs in self.openings.items())
