"""Checks, from this host, that a deployment can do its work: one finding for each thing that can be wrong.

A failed check does not stop the others, except that the check of the schema needs the database, and checks
that read the database need the schema.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Final, Literal

from zenserve.base.memory import free_memory
from zenserve.errors import FileFormatError, ZenError
from zenserve.kernels.target import available_targets
from zenserve.prover import registry
from zenserve.service import encryption, openings
from zenserve.service.basis import stored_bases
from zenserve.service.runtime import Runtime
from zenserve.service.storage import schema
from zenserve.service.storage.database import clock
from zenserve.service.storage.repositories import Circuits, described, stored
from zenserve.service.storage.repositories.accounts import Tenants
from zenserve.service.storage.repositories.deployment import Deployment
from zenserve.service.storage.repositories.workers import Workers
from zenserve.service.worker.abilities import Abilities
from zenserve.verifier.registry import FIRST

Verdict = Literal["ok", "warn", "fail"]

_SKEW_SECONDS: Final = 2.0
_LARGEST_SKEW_SECONDS: Final = 300.0
"""S3 refuses callers whose clock is off by a quarter of an hour; orphans of the store are told by age."""
_DISK_BYTES: Final = (1 << 30, 10 << 30)
_MEMORY_BYTES: Final = 2 << 30
_NAMED: Final = 3
"""Of the artifacts that are lost."""


@dataclass(frozen=True)
class Finding:
    """``detail`` says what there is; of what is not well, ``remedy`` says what to do."""

    name: str
    verdict: Verdict
    detail: str
    remedy: str | None = None


def examine(runtime: Runtime, *, deep: bool = False) -> Iterator[Finding]:
    """All findings, each as soon as it is there. ``deep``: read all artifacts against their digests."""
    yield from examine_beside_work(runtime, deep=deep)
    yield _checked("backend", _backend, runtime)


def examine_beside_work(runtime: Runtime, *, deep: bool = False) -> Iterator[Finding]:
    """All findings but the one that opens the GPU: a process that goes on would keep the GPU's memory."""
    yield _checked("database", _database, runtime)
    schema = _checked("schema", _schema, runtime)
    yield schema
    broker = _checked("broker", _broker, runtime)
    yield broker
    if broker.verdict == "ok":
        yield _checked("beat", _beat, runtime)
    yield _checked("store", _store, runtime)
    if schema.verdict == "ok":
        yield _checked("artifacts", _deep_artifacts if deep else _artifacts, runtime)
        yield _checked("secret", _secret, runtime)
        yield _checked("basis", _basis, runtime)
        yield _checked("openings", _openings, runtime)
        yield _checked("clock", _clock, runtime)
        yield _checked("workers", _workers, runtime)
        if runtime.settings.oidc_issuer is not None:
            yield _checked("issuer", _issuer, runtime)
    yield _checked("disk", _disk, runtime)
    yield _checked("memory", _memory, runtime)
    yield _checked("processor", _processor, runtime)


def _checked(name: str, check: Callable[[Runtime], Finding], runtime: Runtime) -> Finding:
    try:
        return check(runtime)
    except Exception as error:  # whatever a driver raises is what is to be found out here
        is_remote = isinstance(error, ZenError) and error.code == "resource.storage"
        cause = error.__cause__ if is_remote and error.__cause__ else error
        lines = str(cause).strip().splitlines()
        return Finding(name, "fail", lines[0] if lines else type(cause).__name__, _REMEDIES.get(name))


_REMEDIES: Final = {
    "database": "see that it runs, and that ZENSERVE_DATABASE_URL is right",
    "schema": "run `zenserve migrate`",
    "broker": "see that it runs, and that ZENSERVE_BROKER_URL is right",
    "store": "see that it runs, and that ZENSERVE_STORE_URL and AWS_* are right",
    "artifacts": "bring the store's backup back (each file's name is its SHA-256); a ceremony's key may be"
    " installed again: `zenserve key install`",
    "openings": "after a restore `zenserve openings retire`, after a move `zenserve openings keep`",
    "issuer": "see that it answers this host, and that ZENSERVE_OIDC_ISSUER is spelled as it spells itself",
    "backend": "set ZENSERVE_BACKEND=cpu, or install the extra `gpu` and give this host the driver",
}


def _issuer(runtime: Runtime) -> Finding:
    from zenserve.service.access.issuer import Issuer  # which needs what may not be installed

    async def count_keys() -> int:
        try:
            return await issuer.count_keys()
        finally:
            await issuer.close()

    issuer = Issuer(runtime.settings)
    published = asyncio.run(count_keys())
    with runtime.database.read() as session:
        named = {rule.tenant_id for rule in issuer.rules}
        shut = sorted(tenant_id for tenant_id in named if not Tenants(session).is_live(tenant_id))
    if shut:
        remedy = "correct ZENSERVE_OIDC_GROUPS, or `zenserve tenants resume`"
        return Finding("issuer", "warn", f"users of {', '.join(shut)} are refused: no such tenant", remedy)
    return Finding("issuer", "ok", f"{issuer.url}, {published} keys")


def _database(runtime: Runtime) -> Finding:
    start = time.monotonic()
    revision = schema.revision_of(runtime.database)
    milliseconds = 1000 * (time.monotonic() - start)
    kind = runtime.database.engine.dialect.name
    return Finding("database", "ok", f"{kind} answers in {milliseconds:.0f} ms, schema {revision}")


def _schema(runtime: Runtime) -> Finding:
    if schema.at_head(runtime.database):
        return Finding("schema", "ok", "is this version's")
    return Finding("schema", "fail", "is not this version's", _REMEDIES["schema"])


def _broker(runtime: Runtime) -> Finding:
    runtime.queue.ping()
    kind = "Redis" if runtime.settings.broker_url else "files in the data directory"
    return Finding("broker", "ok", f"{kind} answers")


def _openings(runtime: Runtime) -> Finding:
    found = openings.counts(runtime)
    return Finding(
        "openings", "ok", f"{found.commitments} commitments are counted, {found.retired} are retired"
    )


def _store(runtime: Runtime) -> Finding:
    store, data = runtime.store, b"zenserve doctor " + secrets.token_bytes(16)
    digest = store.put(data)
    try:
        same = store.get(digest) == data
    finally:
        store.delete(digest)
    where = runtime.settings.store_url or f"files in {runtime.settings.data_dir}"
    if not same:
        return Finding("store", "fail", f"{where}: what was written reads otherwise", "mend the store")
    return Finding("store", "ok", f"{where}: written, read and deleted")


def _artifacts(runtime: Runtime) -> Finding:
    """Check that the store has all files that the database names."""
    with runtime.database.read() as session:
        known = described(session)
    return _lost(runtime, known, runtime.store.missing(known.keys()), "are there; `--deep` reads them")


def _deep_artifacts(runtime: Runtime) -> Finding:
    """Check that the content of each file in the store has the digest that the database names."""
    with runtime.database.read() as session:
        known = described(session)
    damaged = {digest for digest in known if not runtime.store.is_intact(digest)}
    return _lost(runtime, known, damaged, "are what their digests say")


def _lost(runtime: Runtime, known: Mapping[str, str], lost: Set[str], well: str) -> Finding:
    with runtime.database.read() as session:
        # Deleted meanwhile, as jobs end, is not lost.
        lost = lost & stored(session)
        needed = lost - Circuits(session).made_anew()
    if not lost:
        return Finding("artifacts", "ok", f"{len(known)} {well}")
    named = [
        f"{known[digest]} ({digest[:12]}…)" for digest in sorted(lost, key=lambda each: each not in needed)
    ]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    detail = f"{len(named)} of {len(known)} are lost or changed: {', '.join(named[:_NAMED])}{more}"
    if needed:
        return Finding("artifacts", "fail", detail, _REMEDIES["artifacts"])
    return Finding("artifacts", "warn", detail, "none is needed: the next job makes these keys anew")


def _secret(runtime: Runtime) -> Finding:
    """Check that the newest network can be opened: everything is sealed with the same secret."""
    with runtime.database.read() as session:
        model = Deployment(session).newest_model()
    if model is None:
        return Finding("secret", "ok", "nothing is sealed yet")
    try:
        encryption.get(runtime, f"model:{model.id}", model.quantised)
    except FileFormatError as error:
        of = {
            "file.sealed": "give all hosts the ZENSERVE_SECRET_KEY that the service began with",
            "file.missing": "bring back the store's backup that goes with the database's, or mount it",
        }
        detail = f"the network of {model.id}: {error.message}"
        return Finding("secret", "fail", detail, of.get(error.code, "bring back the store's backup"))
    return Finding("secret", "ok", f"opens the network of {model.id}")


def _basis(runtime: Runtime) -> Finding:
    stored = stored_bases(runtime, registry.find(FIRST))
    if not stored:
        return Finding(
            "basis",
            "warn",
            "there is none yet: the first commitment makes one, for development",
            "before anything is committed: `zenserve basis import POWERS`, of several parties",
        )
    return Finding("basis", "ok", f"of {' and '.join(f'{each.points:,}' for each in stored)} points")


def _clock(runtime: Runtime) -> Finding:
    with runtime.database.read() as session:
        session.connection()  # so that connecting takes no part in what follows
        before = time.time()
        theirs = clock(session).timestamp()
        skew = max(before - theirs, theirs - time.time(), 0.0)  # however long the answer took
    verdict: Verdict = "ok" if skew < _SKEW_SECONDS else "warn" if skew < _LARGEST_SKEW_SECONDS else "fail"
    return Finding(
        "clock",
        verdict,
        f"{skew:.1f} s from the database's",
        None if verdict == "ok" else "let all hosts keep time by NTP",
    )


def _workers(runtime: Runtime) -> Finding:
    with runtime.database.read() as session:
        waiting, live = Deployment(session).waiting(), Workers(session).live()
    start = "start one: `zenserve worker`"
    for queue, count, memory in waiting:
        there = [worker.memory for worker in live if queue in (worker.queues or ())]
        if not there:
            detail = f"none takes from the queue {queue}, where jobs wait: {count}"
            return Finding("workers", "fail", detail, start)
        if max(there) < memory:
            detail = (
                f"a job in the queue {queue} takes {memory / 1e9:.1f} GB, and none has more than "
                f"{max(there) / 1e9:.1f}"
            )
            return Finding("workers", "warn", detail, "start a larger worker, or cancel the job")
    if not live:
        return Finding("workers", "warn", "none is alive", start)
    shown = ", ".join(f"{worker.host} ({'+'.join(worker.queues or ())})" for worker in live)
    return Finding("workers", "ok", f"{len(live)} alive: {shown}")


def _beat(runtime: Runtime) -> Finding:
    if runtime.queue.has_scheduler():
        return Finding("beat", "ok", "runs")
    return Finding(
        "beat",
        "warn",
        "none runs: nothing is taken back from dead workers, told to webhooks or deleted",
        "start one: `zenserve beat`",
    )


def _disk(runtime: Runtime) -> Finding:
    free, (least, little) = shutil.disk_usage(runtime.settings.data_dir).free, _DISK_BYTES
    verdict: Verdict = "fail" if free < least else "warn" if free < little else "ok"
    remedy = None if verdict == "ok" else "make room, or give ZENSERVE_DATA_DIR a larger disk"
    return Finding("disk", verdict, f"{free / 1e9:.1f} GB free in {runtime.settings.data_dir}", remedy)


def _memory(runtime: Runtime) -> Finding:
    free = free_memory()
    if free < _MEMORY_BYTES:
        return Finding(
            "memory", "warn", f"{free / 1e9:.1f} GB free", "proofs of larger networks wait or fail"
        )
    return Finding("memory", "ok", f"{free / 1e9:.1f} GB free")


def _processor(runtime: Runtime) -> Finding:
    target, *_ = available_targets()
    if target == "portable":
        return Finding(
            "processor", "warn", "kernels: portable", "a processor with AVX-512 IFMA proves faster"
        )
    return Finding("processor", "ok", f"kernels: {target}, {runtime.settings.threads} threads")


def _backend(runtime: Runtime) -> Finding:
    columns = Abilities.of(runtime.settings).columns()
    devices = ", ".join(device["name"] for device in columns["devices"] or ())
    return Finding("backend", "ok", f"{columns['backend']}{f': {devices}' if devices else ''}")
