"""Nights and restores: many callers ask the service, in its production shape, for jobs of all kinds, while
processes and servers are killed at random, and while the whole of it is backed up and restored. At the end
all that is promised holds, or the exit code is 1.

python -m tests.faults.rig --jobs 500 --seed 1 --minutes 40 --restores 2 --json rig.json

| it pins | by |
|---|---|
| nothing accepted is lost | each id that a caller was given is in the database, and over. What a restore |
| | loses is what was accepted after its backup had begun, by name |
| nothing is done twice | one job for each key, one end of each job, one message for each end; what was over |
| | in a backup has the same document after the restore |
| budgets hold | of each root, all proofs and renewals in the documents of all lives of the service are no |
| | more than its key allows: counted from the documents alone |
| failures are true | during each attempt that failed something happened that explains its reason |
| proofs hold | each document is judged here, under its key and circuit |
| nothing is left over | the store has what rows name, no input stays, `zenserve doctor --deep` passes |
| no 5xx but 503 with Retry-After | every answer, through the proxy and of the API itself, while processes |
| | are killed and stopped, and the service restored |

The same seed asks for the same and disturbs in the same order; which job is hit is up to the moment.
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from random import Random
from threading import Event, Lock
from typing import Any

import httpx

from tests.faults import promises
from tests.faults.cluster import INPUT
from tests.faults.production import Production, production
from tests.faults.promises import RETIRED, Disturbance, Published
from tests.patience import until
from tests.programs import find
from tests.service.support import labelled, tiny_calibration, tiny_onnx
from zenserve.client import ApiError, Client, JobError

CALLERS = 6
SYSTEMS = ("groth16", "spartan")
KILLS = {
    "worker process killed": 5,
    "worker killed": 1,
    "worker-2 killed": 1,
    "beat killed": 2,
    "API process killed": 3,
    "api killed": 1,
    "API stopped": 2,
    "PostgreSQL restarted": 1,
    "Redis restarted": 1,
    "Redis flushed": 2,
}
"""What befalls the service, and how often for each other; each at least once."""
CANCELED, REPEATED = 0.08, 0.1
"""Shares of the jobs: canceled a moment later; asked for again with the same key."""
LIMIT_SECONDS = 900.0

Ask = Callable[[Client, "Things", str, Random], Any]


@dataclass(frozen=True)
class Things:
    """What jobs of one life of the service are about."""

    life: int
    models: dict[str, Any]
    datasets: dict[str, Any]
    inputs: dict[str, Any]


def _proof(**fields: Any) -> Callable[[Things, str], dict[str, Any]]:
    return lambda things, system: {"values": INPUT, **fields}


KINDS: dict[str, tuple[int, Callable[[Things, str], dict[str, Any]]]] = {
    "inference, private input": (6, _proof()),
    "inference, public input": (5, _proof(input_privacy="public", reveal="logits")),
    "inference, committed input": (5, lambda things, system: {"input_id": things.inputs[system].id}),
    "values": (3, _proof(reveal="threshold", at_least=0.0)),
    "certificate": (1, _proof(scheme="robustness", input_privacy="public", radius=1)),
    "accuracy": (1, lambda things, system: {"scheme": "accuracy", "dataset_id": things.datasets[system].id}),
    "registration": (2, lambda things, system: {}),
}
"""Kinds of jobs, how often each is asked for, and what a proof's request has."""


@dataclass
class Accepted:
    """A job that a caller was given the id of."""

    id: str
    kind: str
    at: datetime


@dataclass
class Report:
    jobs: int
    seed: int
    seconds: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)
    ended: dict[str, int] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    requeues: dict[str, int] = field(default_factory=dict)
    restores: list[dict[str, Any]] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    documents: int = 0
    roots: dict[str, int] = field(default_factory=dict)
    """How many were opened how often, of how often they may be."""
    violations: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        yield f"{sum(self.kinds.values())} jobs accepted, seed {self.seed}: {self.seconds:.0f} s"
        tables = {
            "accepted": self.kinds,
            "ended": self.ended,
            "done to it": self.kills,
            "tried again after": self.requeues,
            "answers": self.statuses,
            "roots that were opened": self.roots,
        }
        for title, table in tables.items():
            yield from ("", title, *(f"  {name:32} {number:6}" for name, number in sorted(table.items())))
        yield from ("", f"documents judged {self.documents}")
        for restore in self.restores:
            kept, lost = restore["kept"], len(restore["lost"])
            yield f"restore, {restore['of']}: {kept} jobs back, {lost} accepted after the backup lost with it"
        yield from ("", f"violations {len(self.violations)}", *(f"  {each}" for each in self.violations))


class Rig:
    def __init__(self, service: Production, jobs: int, seed: int, minutes: float, restores: int) -> None:
        self._service = service
        self._jobs, self._seed, self._restores, self._minutes = jobs, seed, restores, minutes
        self.report = Report(jobs, seed)
        self._numbers, self._lock, self._over = count(), Lock(), 0
        self._open, self._ended = Event(), Event()
        self._accepted: dict[str, Accepted] = {}
        """By the key that they were asked for with."""
        self._lost: set[str] = set()
        self._back: dict[str, datetime] = {}
        self._settled: set[str] = set()
        self._done: list[Disturbance] = []
        self._published = Published()

    def run(self) -> None:
        began = time.monotonic()
        self._service.client.create_webhook("http://127.0.0.1:9/nobody-listens")  # what it is told is counted
        self._things = self._make_things(0)
        self._open.set()
        with ThreadPoolExecutor(CALLERS) as pool:
            callers = [pool.submit(self._call, direct=number % 3 == 0) for number in range(CALLERS)]
            try:
                self._disturb(callers)
            except BaseException:
                self._ended.set()
                self._open.set()
                raise
            for caller in callers:
                caller.result()
        until(self._is_over, "the end of all jobs", LIMIT_SECONDS)
        self._service.command("doctor", "--deep")
        self._close_life()
        self._find(*promises.secrets_are_gone(self._service))
        self._check_accepted()
        self._find(*self._published.overspent())
        self.report.documents = len(self._published.documents)
        self.report.roots = dict(self._published.fullest())
        self.report.seconds = time.monotonic() - began

    # What is asked for.

    def _make_things(self, life: int) -> Things:
        """Of a later life: those under Spartan anew, as a restore retires what there was."""
        client, new = self._service.client, SYSTEMS if life == 0 else ("spartan",)
        before = None if life == 0 else self._things
        models, datasets, inputs = {}, {}, {}
        for system in SYSTEMS:
            if before is not None and system not in new:
                models[system], datasets[system] = before.models[system], before.datasets[system]
                inputs[system] = before.inputs[system]
                continue
            parent = before.models[system].id if before else None
            key = f"{system}/{life}"
            models[system] = client.wait(self._register(client, system, f"model/{key}", parent))
            dataset = client.create_dataset(models[system].id, *labelled(6), privacy="private", shard_size=2)
            self._note(f"dataset/{key}", "dataset", dataset.id)
            datasets[system] = client.wait(dataset)
            inputs[system] = client.create_commitment(models[system].id, "input", INPUT)
        return Things(life, models, datasets, inputs)

    def _register(self, client: Client, system: str, key: str, parent: str | None = None) -> Any:
        made = client.create_model(
            tiny_onnx(),
            tiny_calibration(),
            weight_privacy="committed",
            system=system,
            parent_id=parent,
            idempotency_key=key,
        )
        self._note(key, f"registration, {system}", made.id)
        return made

    def _call(self, *, direct: bool) -> None:
        """A caller: one job after the other, until there are no more to ask for."""
        with self._service.caller(self._listen, direct=direct) as client:
            while not self._ended.is_set() and (number := next(self._numbers)) < self._jobs:
                try:
                    self._see_to(client, number)
                except Exception as error:
                    self._find(f"job {number}: {type(error).__name__}: {error}")
                with self._lock:
                    self._over += 1

    def _see_to(self, client: Client, number: int) -> None:
        """Ask for it and wait for its end; and again where a restore took it, or what it was about."""
        while True:
            random = Random(f"{self._seed}/{number}")
            things = self._things
            try:
                job = self._ask(client, things, number, random)
                if random.random() < CANCELED:
                    time.sleep(random.uniform(0, 0.5))
                    with suppress(ApiError):  # it was over already, or goes with a restore
                        (client.cancel_model if job.id.startswith("mdl") else client.cancel)(job.id)
                client.wait(job)
                return
            except JobError as error:
                if error.code not in RETIRED:
                    return  # canceled, or failed with a reason that is held against what happened
            except ApiError as error:
                if error.status not in (404, 409):
                    raise
            self._open.wait()
            if self._things is things:
                raise AssertionError("refused, though nothing was restored")

    def _ask(self, client: Client, things: Things, number: int, random: Random) -> Any:
        system, key = random.choice(SYSTEMS), f"{number}/{things.life}"
        kind = random.choices([*KINDS], [share for share, _ in KINDS.values()])[0]

        def ask() -> Any:
            if kind == "registration":
                return self._register(client, system, key)
            fields = KINDS[kind][1](things, system)
            made = client.create_proof(things.models[system].id, idempotency_key=key, **fields)
            self._note(key, f"{kind}, {system}", made.id)
            return made

        job = ask()
        if random.random() < REPEATED:
            ask()
        return job

    def _note(self, key: str, kind: str, job_id: str) -> None:
        with self._lock:
            known = self._accepted.setdefault(key, Accepted(job_id, kind, datetime.now(UTC)))
            if known.id != job_id:
                self._find(f"{key}: both {known.id} and {job_id}")

    def _listen(self, answer: httpx.Response) -> None:
        status = answer.status_code
        wrong = status >= 500 and not (status == 503 and "retry-after" in answer.headers)
        with self._lock:
            self.report.statuses[str(status)] += 1
            if wrong:
                self._find(f"{answer.request.method} {answer.request.url.path}: {status}")

    # What is done to it.

    def _disturb(self, callers: list[Future[None]]) -> None:
        """All of it in a random order, spread over the jobs, or over the minutes where jobs take longer."""
        random, began = Random(self._seed + 1), time.monotonic()
        more = max(0, self._jobs // 8 - len(KILLS))
        todo = [*KILLS, *random.choices([*KILLS], [*KILLS.values()], k=more)]
        random.shuffle(todo)
        steps = [self._back_up, self._restore] * self._restores
        for index, step in reversed([*enumerate(steps, 1)]):
            todo.insert(len(todo) * index // (len(steps) + 1), step)  # type: ignore[arg-type]
        for number, what in enumerate(todo):
            is_late = time.monotonic() > began + 60 * self._minutes
            if is_late and not callable(what):
                continue
            self._wait_for(self._jobs * number / len(todo), 0 if is_late else self._minutes * 60 / len(todo))
            self._service.until_ready()
            time.sleep(random.uniform(0, 1))
            if callable(what):
                what()
            else:
                self._do(what, lambda what=what: self._service.disturb(what, random))  # type: ignore[misc]
        wait(callers, max(0.0, began + 60 * self._minutes - time.monotonic()))
        self._ended.set()

    def _wait_for(self, jobs: float, seconds: float) -> None:
        """Until so many are over, or so long."""
        late = time.monotonic() + seconds
        while self._over < jobs and time.monotonic() < late:
            time.sleep(0.1)

    def _do(self, what: str, act: Callable[[], None]) -> None:
        began = datetime.now(UTC)
        print(f"{began:%H:%M:%S} {self._over:5} jobs over: {what}", file=sys.stderr)
        try:
            act()
        finally:
            self._done.append(Disturbance(what, began, datetime.now(UTC)))
            self.report.kills[what] += 1

    def _back_up(self) -> None:
        self._folder = self._service.folder / f"backup-{len(self._done)}"
        self._do("backed up", lambda: self._service.back_up(self._folder))

    def _restore(self) -> None:
        backup = next(each for each in reversed(self._done) if each.what == "backed up")
        self._open.clear()
        emptied = not self.report.restores
        self._do("restored", lambda: self._bring_back(backup, emptied=emptied))
        self._things = self._make_things(self._things.life + 1)
        self._open.set()

    def _bring_back(self, backup: Disturbance, *, emptied: bool) -> None:
        self._close_life()
        old = self._things.models["spartan"].id
        self._service.restore(self._folder, emptied=emptied)
        known = {each.id: each.at for each in list(self._accepted.values())}  # nothing is accepted by now
        kept = {job_id: state for job_id, state in self._service.query("SELECT id, state FROM jobs")}  # noqa: C416
        self._back |= {job_id: datetime.now(UTC) for job_id, state in kept.items()}
        self._settled = {job_id for job_id, state in kept.items() if state == "succeeded"}
        lost = known.keys() - kept.keys() - self._lost
        for job_id in sorted(lost):
            if known[job_id] < backup.began:
                self._find(f"{job_id}, accepted before the backup, is lost")
        for job_id in known.keys() & kept.keys():
            if known[job_id] > backup.ended:
                self._find(f"{job_id}, accepted after the backup, is there")
        self._lost |= lost
        of = "all lost" if emptied else "the database lost"
        self.report.restores.append({"of": of, "kept": len(kept), "lost": sorted(lost)})
        self._service.go_on()
        try:
            self._service.client.create_proof(old, INPUT)
        except ApiError as refused:
            if refused.code in RETIRED:
                return
        self._find(f"{old}, which the restore retired, is opened again")

    def _close_life(self) -> None:
        """Stop the work, and hold what was done against what is promised."""
        self._service.stop_work()
        self._find(*self._published.collect(self._service.client, self._settled))
        self._find(*promises.jobs_are_true(self._service, self._done, self._back))
        self._find(*promises.messages_are_single(self._service))

    def _is_over(self) -> bool:
        return self._service.query("SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')") == [(0,)]

    def _find(self, *violations: str) -> None:
        for each in violations:
            print(f"violation: {each}", file=sys.stderr)
        self.report.violations += violations

    def _check_accepted(self) -> None:
        query = self._service.query
        states = {
            job_id: (kind, state, (problem or {}).get("code", ""))
            for job_id, kind, state, problem in query(
                "SELECT id, kind, state, problem FROM jobs WHERE parent_id IS NULL"
            )
        }
        accepted = {each.id: each for each in self._accepted.values()}
        self._find(*(f"{each} is lost" for each in sorted(accepted.keys() - states.keys() - self._lost)))
        self._find(*(f"{each} is nobody's" for each in sorted(states.keys() - accepted.keys())))
        self.report.kinds = Counter(each.kind for each in accepted.values())
        self.report.ended = dict(Counter(" ".join(state).strip() for state in states.values()))
        causes = query("SELECT label, count FROM totals WHERE name = 'requeues' ORDER BY label")
        self.report.requeues = {label: int(number) for label, number in causes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--minutes",
        type=float,
        default=40.0,
        help="after which nothing is killed, and, once all restores are done, nothing asked for",
    )
    parser.add_argument("--restores", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--log", type=Path, metavar="FILE", help="what the service logs")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # whatever was started is stopped
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # the store's, for each request
    with tempfile.TemporaryDirectory() as folder, production(Path(folder), find, given.log) as service:
        rig = Rig(service, given.jobs, given.seed, given.minutes, given.restores)
        rig.run()
    print("\n".join(rig.report.lines()))
    if given.json:
        given.json.write_text(json.dumps(vars(rig.report), indent=1))
    sys.exit(bool(rig.report.violations))


if __name__ == "__main__":
    main()
