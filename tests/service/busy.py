"""A service as it looks after a busy day: rows that the dashboard shows, made without doing the work."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from tests.service.shown import FORMS, certificate, described, digit, said_of, statement
from zenserve.service.access import keys
from zenserve.service.access.principal import Scope
from zenserve.service.jobs.claims import late
from zenserve.service.jobs.reaping import LOST_WORKER, lost_worker
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.records.accounts import AuditEntry, Tenant, Usage
from zenserve.service.storage.records.base import LOCAL_TENANT, Base
from zenserve.service.storage.records.ceremonies import Ceremony, CeremonyCircuit, Contribution
from zenserve.service.storage.records.jobs import Job, JobEvent, JobLabel, Worker
from zenserve.service.storage.records.resources import Circuit, Dataset, Model, Proof, Shard, VerificationKey
from zenserve.service.storage.records.streams import Frame, Stream, StreamModel
from zenserve.service.storage.records.webhooks import Delivery, Webhook
from zenserve.verifier.fields import Values

HOSTILE = """<script>alert("1")</script>'" onload=alert(2) & {{ 7 * 7 }}"""
TENANTS = {
    LOCAL_TENANT: "local",
    "tnt_acme": "Acme Diagnostics",
    "tnt_north": "Northwind Labs",
    "tnt_x": HOSTILE,
}
CEREMONIES = {
    phase: f"cer_5d1f0c77aa{place:02x}"
    for place, phase in enumerate(("opening", "open", "closing", "finished", "failed"))
}
"""By their phases; the last could not be opened."""
STAGES = {
    "load model": 0.03,
    "load key": 0.21,
    "witness": 0.36,
    "commit": 0.94,
    "constraints": 0.12,
    "quotient": 1.31,
    "msm_quotient": 2.86,
    "msm_private": 1.74,
    "msm_a": 0.88,
    "msm_b_g1": 0.61,
    "msm_b_g2": 2.12,
    "self-check": 0.01,
}
NO_MEMORY = {"code": "resource.memory", "detail": "the worker ran out of memory", "field": None}
TOO_LARGE = {
    "code": "model.memory",
    "detail": "1,849,672 constraints take about 22.4 GB of memory, and 16.0 GB are free: `zenserve compile`"
    " says what a smaller network, fewer bits or public weights would take",
    "field": None,
}
NETWORKS = (
    ("lenet5-mnist", 62_006, "public"),
    ("resnet18-chest-xray", 1_840_312, "committed"),
    ("shallownet", 102_411, "committed"),
    ("mobilenet-v2-0.35 quantised to 6 bits", 911_204, "public"),
    (HOSTILE, 51_200, "public"),
)


class Day:
    """Rows, in the order in which they can be inserted."""

    def __init__(self, session: Session, seed: int = 7) -> None:
        self._session = session
        self._random = random.Random(seed)
        self._now = now()

    def fill(self, jobs: int = 400) -> None:
        self._tenants()
        models = [self._model(index) for index in range(8)]
        for _ in range(jobs):
            self._proof(self._random.choice(models), self._ended())
        for form in FORMS:
            self._shown(models[0], form)
        for position, state in enumerate(("running", "running", "queued", "queued", "queued", "queued")):
            self._proof(models[position % 4], self._unfinished(state, position))
        self._accuracy(models[1])
        self._workers()
        self._webhooks()
        self._audit()
        self._ceremonies()
        self._usage()

    def _add(self, *rows: Base) -> None:
        self._session.add_all(rows)
        self._session.flush()

    def _id(self, prefix: str, length: int = 24) -> str:
        return f"{prefix}_{self._hex(length)}"

    def _hex(self, length: int) -> str:
        return f"{self._random.getrandbits(4 * length):0{length}x}"

    def _ago(self, **past: float) -> datetime:
        return self._now - timedelta(**past)

    def _tenants(self) -> None:
        for index, (tenant_id, name) in enumerate(TENANTS.items()):
            if tenant_id != LOCAL_TENANT:
                self._add(
                    Tenant(id=tenant_id, name=name, created_at=self._ago(days=40 - index), max_running=8)
                )

    def _model(self, index: int) -> Model:
        name, constraints, privacy = NETWORKS[index % len(NETWORKS)]
        tenant_id = list(TENANTS)[index % len(TENANTS)]
        made = self._ago(days=20 - index, hours=index)
        failed = index == 6
        job = Job(
            id=self._id("mdl"),
            kind="model",
            tenant_id=tenant_id,
            state="failed" if failed else "succeeded",
            attempt=1,
            problem=NO_MEMORY if failed else None,
            created_at=made,
            enqueued_at=made,
            started_at=made + timedelta(seconds=1),
            finished_at=made + timedelta(seconds=90),
            timings={} if failed else {"compile": 2.1, "lagrange": 20.5, "columns": 31.0, "key_g2": 12.1},
        )
        key = None if failed else self._key(constraints, made)
        model = Model(
            id=job.id,
            name=name,
            weight_privacy=privacy,
            bits=8 if index % 3 else 6,
            quantised=self._hex(64),
            network=self._hex(64),
            commitment=self._hex(96) if privacy == "committed" else None,
            estimate={"constraints": constraints, "memory": constraints * 900, "cost": constraints / 60_000},
            verification_key_id=key,
        )
        self._add(job)
        self._add(model)
        return model

    def _key(self, constraints: int, made: datetime, circuit: dict[str, Any] | None = None) -> str:
        key = VerificationKey(
            id=self._hex(64),
            document={"setup": "development"},
            circuit=circuit or described("label"),
            created_at=made,
        )
        self._add(key)
        self._add(
            Circuit(
                digest=self._hex(64),
                proving_key=self._hex(64),
                proving_key_bytes=constraints * 420,
                constraints=constraints,
                uses=self._random.randrange(400),
                seconds={"cpu": STAGES, "gpu": {name: seconds / 9 for name, seconds in STAGES.items()}},
                verification_key_id=key.id,
                created_at=made,
            )
        )
        return key.id

    def _proof(self, model: Model, job: Job) -> None:
        job.tenant_id, job.kind = model.job.tenant_id, "proof"
        job.labels = {"team": "radiology", "note": HOSTILE} if job.queue == "cpu" else None
        self._add(job)
        self._add(
            *(
                JobLabel(
                    job_id=job.id, name=name, value=value, tenant_id=job.tenant_id, created_at=job.created_at
                )
                for name, value in (job.labels or {}).items()
            )
        )
        scheme = self._random.choice(("inference", "inference", "recognition"))
        values = {"label": 7} if scheme == "inference" else {"threshold": 400, "match": 1}
        document = _document({"scheme": scheme, "values": values})
        self._add(
            Proof(
                id=job.id,
                model_id=model.id,
                scheme=scheme,
                request={"input_privacy": "private", "reveal": "label", "challenge": "lunch at twelve"},
                verification_key_id=model.verification_key_id,
                document=document if job.state == "succeeded" else None,
            )
        )
        self._add(*self._events(job))

    def _shown(self, model: Model, form: str) -> None:
        """A proof whose statement is a real one."""
        job = self._ended("succeeded")
        self._proof(model, job)
        proof = self._session.get_one(Proof, job.id)
        proof.verification_key_id = self._key(1566, job.created_at, described(form))
        proof.scheme, proof.request = "inference", FORMS[form] | {"challenge": "lunch at twelve"}
        proof.document = {
            "statement": statement(form, 3, proof.verification_key_id, "lunch at twelve"),
            "proofs": ["…"],
        }

    def certify(self, values: Values) -> Proof:
        """A proof of ``certificate`` that shows these values, of a model that there is."""
        mine = select(Model).join(Job).where(Job.tenant_id == LOCAL_TENANT, Job.state == "succeeded")
        model = self._session.scalars(mine.order_by(Model.id)).first()
        assert model is not None
        job = self._ended("succeeded")
        self._proof(model, job)
        proof = self._session.get_one(Proof, job.id)
        proof.verification_key_id = self._key(5000, job.created_at, certificate().describe())
        proof.scheme, proof.request = "robustness", {"input_privacy": "public", "radius": values["radius"]}
        said = said_of(certificate(), values, proof.verification_key_id, None)
        proof.document = {"statement": said, "proofs": ["…"]}
        return proof

    def _job(self, made: datetime, **columns: Any) -> Job:
        return Job(
            **{
                "id": self._id("prf"),
                "queue": self._random.choice(("cpu", "gpu", "gpu")),
                "memory": self._random.randrange(1 << 28, 1 << 33),
                "cost": round(self._random.uniform(4, 40), 1),
                "created_at": made,
                "enqueued_at": made,
                **columns,
            }
        )

    def _ended(self, state: str | None = None) -> Job:
        made = self._ago(hours=self._random.triangular(0.05, 30, 6))
        pace = self._random.lognormvariate(0, 0.4)
        timings = {stage: round(seconds * pace, 4) for stage, seconds in STAGES.items()}
        started = made + timedelta(seconds=self._random.expovariate(0.2))
        finished = started + timedelta(seconds=sum(timings.values()))
        state = state or self._random.choices(("succeeded", "failed", "canceled"), (90, 7, 4))[0]
        job = self._job(
            made,
            state=state,
            stage="done",
            percent=100.0,
            attempt=1,
            started_at=started,
            finished_at=finished,
        )
        if state == "succeeded":
            job.timings = timings
        if state == "failed":
            self._break(job, finished)
        return job

    def _break(self, job: Job, at: datetime) -> None:
        problems = (lost_worker(3), NO_MEMORY, TOO_LARGE, late())
        job.problem = self._random.choices(problems, (5, 2, 3, 1))[0]
        lost = job.problem["code"] == LOST_WORKER
        job.attempt = 3 if lost or job.problem == NO_MEMORY else 1
        job.stage = "msm_quotient"
        job.failures = [
            {
                "attempt": attempt,
                "at": (at - timedelta(seconds=9 * (job.attempt - attempt))).isoformat(),
                **(lost_worker(attempt) if lost else job.problem),
            }
            for attempt in range(1, job.attempt + 1)
        ]

    def _unfinished(self, state: str, position: int) -> Job:
        made = self._ago(seconds=20 + 31 * position)
        if state == "queued":
            return self._job(made, state=state, priority=position % 3)
        return self._job(
            made,
            state=state,
            queue="gpu" if position == 0 else "cpu",
            worker=f"worker_{position:012x}",
            stage="msm_quotient",
            percent=40.0 + 20 * position,
            attempt=1 + position,
            started_at=self._ago(seconds=8),
            expected=STAGES,
            failures=[]
            if not position
            else [
                {
                    "attempt": 1,
                    "at": self._ago(seconds=30).isoformat(),
                    **lost_worker(1),
                }
            ],
        )

    def _events(self, job: Job) -> list[JobEvent]:
        seen: list[tuple[datetime, str, str | None, int]] = [(job.created_at, "queued", None, 0)]
        if job.started_at:
            at = job.started_at
            seen.append((at, "running", "starting", job.attempt))
            stages = {"load model": 0.4, "count": 5.2, "shards": 0.0} if job.kind == "accuracy" else STAGES
            for stage, seconds in stages.items():
                seen.append((at, "running", stage, job.attempt))
                at += timedelta(seconds=seconds)
                if at > (job.finished_at or self._now) or stage == job.stage:
                    break
        if job.finished_at:
            seen.append((job.finished_at, job.state, job.stage, job.attempt))
        job.revision = len(seen)
        return [
            JobEvent(job_id=job.id, revision=index, at=at, state=state, stage=stage, attempt=attempt)
            for index, (at, state, stage, attempt) in enumerate(seen)
        ]

    def _accuracy(self, model: Model) -> None:
        made = self._ago(minutes=12)
        common: dict[str, Any] = {"tenant_id": model.job.tenant_id, "queue": "cpu"}
        dataset = self._job(
            made,
            **common,
            id=self._id("dst"),
            kind="dataset",
            state="succeeded",
            attempt=1,
            started_at=made,
            finished_at=made,
        )
        job = self._job(
            made,
            **common,
            kind="accuracy",
            state="running",
            stage="shards",
            percent=37.5,
            attempt=1,
            started_at=made,
        )
        self._add(dataset, job)
        self._add(
            Dataset(
                id=dataset.id, model_id=model.id, name="holdout 2026-10", privacy="private", size=1000,
                sha256=self._hex(64), samples=self._hex(64), shard_size=125,
            )
        )  # fmt: skip
        self._add(
            Proof(
                id=job.id,
                model_id=model.id,
                scheme="accuracy",
                request={},
                dataset_id=dataset.id,
                document={},
            )
        )
        done = self._job(
            made,
            **common,
            kind="accuracy",
            state="succeeded",
            attempt=1,
            started_at=made,
            finished_at=self._now,
        )
        self._add(done)
        counted = {"scheme": "accuracy", "values": {"correct": 971, "size": 1000}}
        self._add(
            Proof(
                id=done.id, model_id=model.id, scheme="accuracy", request={}, dataset_id=dataset.id,
                document=_document(counted), verification_key_id=model.verification_key_id,
            )
        )  # fmt: skip
        for position in range(8):
            state = "succeeded" if position < 3 else "queued"
            ends = {"started_at": made, "finished_at": made + timedelta(seconds=80)} if position < 3 else {}
            shard = self._job(
                made, **common, **ends, id=self._id("shd"), kind="shard", state=state, parent_id=job.id
            )
            self._add(shard)
            self._add(Shard(id=shard.id, proof_id=job.id, position=position))
        self._add(*self._events(job))

    def _workers(self) -> None:
        h200 = {"name": "NVIDIA H200", "memory_used": 61 << 30, "memory_total": 141 << 30, "busy": 83}
        for index, (host, backend, silent) in enumerate(
            (
                ("gpu-1.prove.internal", "gpu", 1),
                ("cpu-1.prove.internal", "cpu", 2),
                ("cpu-2.prove.internal", "cpu", 95),
            )
        ):
            self._add(
                Worker(
                    id=f"worker_{index:012x}",
                    pid=100 + index,
                    host=host,
                    queues=["cpu", "gpu"] if backend == "gpu" else ["cpu"],
                    backend=backend,
                    threads=16,
                    memory=96 << 30,
                    devices=[h200] if backend == "gpu" else [],
                    started_at=self._ago(hours=9),
                    heartbeat_at=self._ago(seconds=silent),
                )
            )

    def _webhooks(self) -> None:
        for index, tenant_id in enumerate(("tnt_acme", "tnt_north")):
            webhook = Webhook(
                id=self._id("whk"),
                tenant_id=tenant_id,
                url=f"https://hooks.{tenant_id[4:]}.example/zenserve",
                events=["proof.succeeded", "proof.failed"],
                secret=b"sealed",
                created_at=self._ago(days=9),
                disabled_at=self._ago(hours=3) if index else None,
            )
            self._add(webhook)
            for number, state in enumerate(("delivered", "delivered", "waiting", "given up", "delivered")):
                at = self._ago(minutes=7 * number + 1)
                tries: list[dict[str, Any]] = [
                    {"at": at.isoformat(), "error": "timed out after 10 s", "seconds": 10.0}
                ]
                if state == "delivered":
                    tries.append({"at": at.isoformat(), "status": 204, "seconds": 0.12})
                self._add(
                    Delivery(
                        id=self._id("msg"), webhook_id=webhook.id, job_id=self._id("prf"),
                        event="proof.succeeded", body="{}", state=state, attempts=tries,
                        next_at=at, created_at=at,
                    )
                )  # fmt: skip

    def _ceremonies(self) -> None:
        mine = select(Model).join(Job).where(Job.tenant_id == LOCAL_TENANT, Job.state == "succeeded")
        model = self._session.scalars(mine.order_by(Model.id)).first()
        assert model is not None
        for place, (phase, ceremony_id) in enumerate(CEREMONIES.items()):
            made, ended = self._ago(hours=7, minutes=place), self._ago(hours=6)
            state = {"opening": "running", "failed": "failed"}.get(phase, "succeeded")
            job = self._job(made, id=ceremony_id, kind="ceremony", state=state, started_at=made, attempt=1)
            job.finished_at = None if phase == "opening" else ended
            job.problem = NO_MEMORY if phase == "failed" else None
            ceremony = Ceremony(id=ceremony_id, model_id=model.id, name=f"{model.name}, {phase}")
            ceremony.powers, ceremony.asked = self._hex(64), [{"scheme": "inference"}]
            ceremony.powers_contributions = 0 if phase == "finished" else 54
            if phase in ("closing", "finished"):
                ceremony.closes_with, ceremony.rounds = "drand quicknet, round 12345678", 10
                ceremony.closing_at = self._ago(hours=2)
            if phase == "finished":
                ceremony.beacon = self._hex(64)
            self._add(job)
            self._add(ceremony)
            if phase in ("open", "closing", "finished"):
                self._contribute(ceremony, model)

    def _contribute(self, ceremony: Ceremony, model: Model) -> None:
        for position, scheme in enumerate(("inference", "robustness")):
            circuit = CeremonyCircuit(ceremony_id=ceremony.id, position=position, form={"scheme": scheme})
            circuit.circuit, circuit.statement = self._hex(64), self._hex(64)
            circuit.start, circuit.state = self._hex(64), self._hex(64)
            circuit.constraints, circuit.size, circuit.next_size = 1566, 812_345, 813_000
            if ceremony.beacon and position == 0:
                circuit.verification_key_id = model.verification_key_id
            self._add(circuit)
        for place, name in enumerate(("Ada", HOSTILE, *([None] if ceremony.beacon else [])), 1):
            at = self._ago(hours=6 - place)
            ended = {"state": "succeeded", "attempt": 1, "started_at": at, "finished_at": at}
            job = self._job(at, id=self._id("ctb", 12), kind="contribution", **ended)
            self._add(job)
            self._add(
                Contribution(
                    id=job.id,
                    ceremony_id=ceremony.id,
                    place=place,
                    name=name,
                    beacon=None if name else ceremony.beacon,
                    hashes=[self._hex(64), self._hex(64)],
                )
            )

    def _usage(self) -> None:
        """Of three tenants, one of which is gone."""
        for place, tenant_id in enumerate((LOCAL_TENANT, "tnt_acme", "tnt_gone")):
            for hours in (0.5, 30, 300):
                self._add(
                    Usage(
                        tenant_id=tenant_id,
                        kind="proof",
                        ended_at=self._ago(hours=hours),
                        seconds=4000 / (1 + place),
                        rows=1_000_000,
                        bytes=1 << 22,
                    )
                )

    def _audit(self) -> None:
        actions = (
            "key.create",
            "proof.cancel",
            "proof.retry",
            "login.create",
            "key.refuse",
            "opening.reveal",
        )
        for index in range(30):
            self._add(
                AuditEntry(
                    at=self._ago(minutes=60 - 2 * index),
                    tenant_id=self._random.choice(list(TENANTS)),
                    actor=f"key_{self._hex(12)}",
                    action=actions[index % len(actions)],
                    target=self._id("prf") if index % 2 else None,
                    request_id=f"req_{self._hex(12)}",
                    address="192.0.2.17",
                )
            )


def _document(said: dict[str, Any]) -> dict[str, Any]:
    return {"statement": {"claim": "…", "challenge": None, "commitments": {}, **said}, "proofs": ["…"]}


def fill(runtime: Runtime, jobs: int = 400) -> None:
    with runtime.database.write() as session:
        Day(session).fill(jobs)


def fill_certificate(runtime: Runtime) -> str:
    """One within 16 steps, and how far its label leads. Its id."""
    circuit, q = certificate(), digit(3)
    with runtime.database.write() as session:
        proof = Day(session, seed=11).certify(circuit.values(q, 16))
        course = json.dumps(circuit.course(q, 16)).encode()
        proof.margins = runtime.vault.seal(course, f"margins:{proof.id}")
        return proof.id


def fill_stream(runtime: Runtime, frames: int = 420) -> str:
    """A stream over the models that there are, which goes on: the classes change twice, and some frames are
    missed. Its id.
    """
    rng, begun = random.Random(3), now() - timedelta(minutes=9)
    with runtime.database.write() as session:
        mine = select(Model).join(Job).where(Job.tenant_id == LOCAL_TENANT, Job.state == "succeeded")
        models = session.scalars(mine.order_by(Model.id).limit(2)).all()
        job = Job(id="str_5d1f0c77aa01", kind="stream", state="running", stage="frames", started_at=begun)
        job.created_at = job.enqueued_at = begun
        stream = Stream(id=job.id, name="gate 3", classes=10, input_privacy="private", backlog=16, rules={})
        stream.begun_at, stream.deadline_seconds = begun, 30
        stream.rules, stream.batch_seconds = {"batch": 4}, 10
        stream.count, stream.over, stream.head = frames + 5, frames, {}
        stream.models = [StreamModel(place=place, model_id=each.id) for place, each in enumerate(models)]
        session.add_all([job, stream])
        session.flush()
        end, jobs, proofs, shown = begun, list[Job](), list[Proof](), list[Frame]()
        for number in range(frames):
            run, own = divmod(number, 150)
            place = 0 if own < 25 else 1
            took = rng.uniform(0.9, 1.1) * (0.31 if place else 1.4)
            made = max(begun + timedelta(seconds=number), end - timedelta(seconds=2 + rng.random()))
            end = max(made, end) + timedelta(seconds=took)
            missed = number in range(160, 168)
            proof = Job(id=f"prf_5d1f0c77{number:04x}", kind="proof", parent_id=job.id, created_at=made)
            proof.enqueued_at, proof.started_at, proof.finished_at, proof.attempt = made, made, end, 1
            proof.state, proof.problem = ("failed", late()) if missed else ("succeeded", None)
            proof.timings = {} if missed else {"witness": took}
            jobs.append(proof)
            proofs.append(Proof(id=proof.id, model_id=models[place].id, scheme="inference", request={}))
            label = rng.randrange(10) if rng.random() < 0.08 else rng.choice(((0, 1), (3, 8, 5), (7, 2))[run])
            seen = {} if missed else {"model": place, "seen": label, "answer": label}
            if number >= 200:  # before, they came too slowly
                seen["batch"] = number - number % 4
            shown.append(Frame(id=proof.id, stream_id=job.id, number=number, **seen))
        for rows in (jobs, proofs, shown):
            session.add_all(rows)
            session.flush()
    return str(job.id)


def key_for(runtime: Runtime, tenant_id: str, *scopes: Scope, name: str = "a key") -> str:
    """A key that can be shown."""
    row, key = keys.make_key(tenant_id, name, list(scopes))
    with runtime.database.write() as session:
        session.add(row)
    return key
