"""Backups of a deployment: the database's rows, the artifacts that they name, and the secret's fingerprint.

A backup is a folder: ``database/TABLE.jsonl``, a row a line, all from one snapshot; ``artifacts/ab/abcd…``,
as a store has them; and ``backup.json``, which is written last and has the digests of all, so that a partial
backup is none. The secret itself is not in a backup, and neither are signs of life of workers.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from sqlalchemy import ColumnElement, LargeBinary, Table, func, select, text, update
from sqlalchemy.orm import Session

from zenserve.errors import FileFormatError, RequestError, ResourceError
from zenserve.service import log, openings
from zenserve.service.runtime import Runtime
from zenserve.service.storage import schema
from zenserve.service.storage.database import is_postgresql, now
from zenserve.service.storage.records import (  # noqa: F401  all tables
    accounts,
    ceremonies,
    deployment,
    jobs,
    resources,
    streams,
    webhooks,
)
from zenserve.service.storage.records import openings as counted
from zenserve.service.storage.records.base import Base, Utc
from zenserve.service.storage.repositories import Circuits, described

MANIFEST: Final = "backup.json"
_FORMAT: Final = "zenserve backup"
_LEFT_OUT: Final = frozenset({jobs.Worker.__tablename__})
_WITHIN: Final = (jobs.Job.__table__, accounts.ApiKey.__table__, deployment.Artifact.__table__)
"""Tables that have rows in every deployment that was used."""
_AT_ONCE: Final = 500
_MOST_SNAPSHOTS: Final = 5


class Manifest(BaseModel):
    """The contents of a complete backup: ``tables`` with their files' SHA-256, ``artifacts`` by their own.

    ``issuer``: the public key of the secret's signatures, in hex, which tells the secret from others.
    ``made_anew``: proving keys that the store had lost already, and that jobs make anew.
    """

    format: str
    version: int
    made_at: datetime
    revision: str
    issuer: str
    tables: dict[str, str]
    rows: int
    artifacts: list[str]
    bytes: int
    made_anew: list[str]


def write(runtime: Runtime, folder: Path) -> Manifest:
    """Back the deployment up into the folder, which is empty or not there. The service may go on meanwhile.

    Raises ``RequestError`` (``request.settings``) where the folder is not empty, ``FileFormatError``
    (``file.missing``, ``file.corrupt``) where the store has lost what the database names, and
    ``ResourceError``.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise RequestError("request.settings", f"{folder} is not empty: name a new folder", field="FOLDER")
    revision = schema.revision_of(runtime.database)
    for _ in range(_MOST_SNAPSHOTS):
        with runtime.database.read() as session:
            named = described(session)
        _write_artifacts(runtime, folder, named)  # most of them, while jobs begin and end
        with runtime.database.read() as session:
            with _jobs_held(runtime):
                named, made_anew = described(session), Circuits(session).made_anew()
                lost = _write_artifacts(runtime, folder, named)
            tables, rows = _write_tables(session, folder)
        if not _is_needed(runtime, lost - made_anew):
            break
    else:
        raise ResourceError(
            "resource.internal", "the store changed throughout the backup: stop the service and try again"
        )
    files = [_artifact(folder, digest) for digest in named if digest not in lost]
    manifest = Manifest(
        format=_FORMAT,
        version=1,
        made_at=now(),
        revision=revision or "",
        issuer=runtime.vault.issuer.hex(),
        tables=tables,
        rows=rows,
        artifacts=sorted(file.name for file in files),
        bytes=sum(file.stat().st_size for file in files),
        made_anew=sorted(lost),
    )
    part = folder / f"{MANIFEST}.part"
    with part.open("w") as file:
        file.write(manifest.model_dump_json(indent=1))
        file.flush()
        os.fsync(file.fileno())
    part.rename(folder / MANIFEST)
    log.event("backup.written", rows=rows, artifacts=len(files))
    return manifest


def read(folder: Path) -> Manifest:
    """Check the backup in the folder, all of it. Raises ``FileFormatError`` where it is not whole."""
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise FileFormatError(
            "file.missing", f"{folder} has no {MANIFEST}: it is no backup, or one that was not finished"
        ) from None
    except ValidationError:
        raise FileFormatError("file.kind", f"{folder / MANIFEST} is not a backup's") from None
    if (manifest.format, manifest.version) != (_FORMAT, 1) or manifest.tables.keys() != _tables().keys():
        raise FileFormatError("file.version", "the backup is of another version: restore it with that one")
    for file, digest in _files(folder, manifest):
        if not file.is_file():
            raise FileFormatError("file.missing", f"the backup is not whole: {file} is not there")
        if _sha256(file) != digest:
            raise FileFormatError("file.hash", f"the backup is not whole: {file} has changed")
    return manifest


def restore(runtime: Runtime, folder: Path, manifest: Manifest) -> None:
    """Bring the backup, which was ``read``, into an empty deployment, and retire all openings: of commitments
    nobody knows how often they were opened since.

    Raises ``FileFormatError`` (``file.sealed``) where the deployment's secret is another, ``ResourceError``
    (``resource.schema``) where its schema is, and ``RequestError`` where it is not empty.
    """
    if manifest.issuer not in [issuer.hex() for issuer in runtime.vault.issuers]:
        raise FileFormatError(
            "file.sealed",
            "the backup was sealed with another secret: give this deployment the ZENSERVE_SECRET_KEY, or the"
            " file secret.key, of the service that was backed up",
        )
    if manifest.revision != schema.revision_of(runtime.database):
        raise ResourceError(
            "resource.schema",
            f"the backup has the schema {manifest.revision}: restore it with the version of the service that"
            " made it, and upgrade then (docs/operations.md)",
        )
    with runtime.database.read() as session:
        _require_empty(session)
    for digest in sorted(runtime.store.missing(set(manifest.artifacts))):
        with runtime.store.scratch() as scratch:
            shutil.copyfile(_artifact(folder, digest), scratch)
            runtime.store.adopt(scratch)
    with runtime.database.write(lasting=True) as session:
        _require_empty(session)
        for table in reversed(_tables().values()):
            session.execute(table.delete())
        for name, table in _tables().items():
            _read_table(session, table, folder / "database" / f"{name}.jsonl")
    if _has_ledger(runtime):
        openings.retire(runtime)
    log.event("backup.restored", rows=manifest.rows, artifacts=len(manifest.artifacts))


def _tables() -> dict[str, Table]:
    """In an order in which rows come before those that refer to them."""
    return {table.name: table for table in Base.metadata.sorted_tables if table.name not in _LEFT_OUT}


def _write_tables(session: Session, folder: Path) -> tuple[dict[str, str], int]:
    (folder / "database").mkdir(mode=0o700, exist_ok=True)
    digests, rows = {}, 0
    for name, table in _tables().items():
        path = folder / "database" / f"{name}.jsonl"
        with path.open("wb") as file:
            for row in session.execute(select(table).execution_options(yield_per=_AT_ONCE)):
                file.write(json.dumps(list(map(_encoded, row)), ensure_ascii=False).encode() + b"\n")
                rows += 1
            file.flush()
            os.fsync(file.fileno())
        digests[name] = _sha256(path)
    return digests, rows


@contextmanager
def _jobs_held(runtime: Runtime) -> Iterator[None]:
    """Let no job be added, end or be deleted: what only lives as long as a job stays in the store meanwhile.
    SQLite has one writer anyway.
    """
    with runtime.database.write() as session:
        if is_postgresql(session):
            session.execute(text(f"LOCK TABLE {jobs.Job.__tablename__} IN SHARE MODE"))
        yield


def _write_artifacts(runtime: Runtime, folder: Path, named: Mapping[str, str]) -> set[str]:
    """Copy those that are not in the folder yet. Return those that the store does not have."""
    lost = set()
    for digest in named:
        path = _artifact(folder, digest)
        if path.exists():
            continue
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy = path.with_name(f"{digest}.part")
        try:
            runtime.store.copy(digest, copy)
        except FileFormatError:
            copy.unlink(missing_ok=True)
            lost.add(digest)
        else:
            copy.rename(path)
    return lost


def _is_needed(runtime: Runtime, lost: set[str]) -> bool:
    """Return whether another snapshot is due: files that this one names were deleted meanwhile, as jobs end.

    Raises ``FileFormatError`` where the store has lost files that the database still names.
    """
    if not lost:
        return False
    with runtime.database.read() as session:
        named = described(session)
    if still := sorted(lost & named.keys()):
        raise FileFormatError(
            "file.missing",
            f"there is no whole backup of this service: its store has lost {named[still[0]]}"
            f"{f' and {len(still) - 1} more' if still[1:] else ''}: `zenserve doctor --deep` names all",
        )
    return True


def _read_table(session: Session, table: Table, file: Path) -> None:
    """Insert the rows. Those that refer to others of the same table do so once all are there."""
    own = next((key.parent for key in table.foreign_keys if key.column.table is table), None)
    references: list[tuple[Any, Any]] = []
    rows: list[dict[str, Any]] = []
    with file.open("rb") as lines:
        for line in lines:
            row = {
                column.name: _decoded(column, value)
                for column, value in zip(table.columns, json.loads(line), strict=True)
            }
            if own is not None and row[own.name] is not None:
                references.append((row["id"], row[own.name]))
                row[own.name] = None
            rows.append(row)
            if len(rows) == _AT_ONCE:
                session.execute(table.insert(), rows)
                rows = []
    if rows:
        session.execute(table.insert(), rows)
    for row_id, reference in references:
        session.execute(update(table).where(table.c.id == row_id).values({own: reference}))
    _go_on_counting(session, table)


def _go_on_counting(session: Session, table: Table) -> None:
    """Have the next row's number be none that is there; SQLite sees to it itself."""
    column = table.autoincrement_column
    if column is None or not is_postgresql(session):
        return
    highest = session.scalar(select(func.max(column))) or 0
    sequence = func.pg_get_serial_sequence(table.name, column.name)
    if highest and session.scalar(select(sequence)) is not None:
        # Who may not change tables may not set sequences either.
        numbers = select(func.nextval(sequence)).select_from(func.generate_series(1, highest).alias())
        session.execute(numbers).all()


def _require_empty(session: Session) -> None:
    """Raises ``RequestError`` where anything was ever done with the deployment."""
    if any(session.scalar(select(func.count()).select_from(table)) for table in _WITHIN):
        raise RequestError(
            "request.settings",
            "this deployment is not empty: restore into another data directory or database, or move what is"
            " here away first",
        )


def _has_ledger(runtime: Runtime) -> bool:
    with runtime.database.read() as session:
        return session.scalar(select(func.count()).select_from(counted.Ledger)) == 1


def _encoded(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _decoded(column: ColumnElement[Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column.type, Utc):
        return datetime.fromisoformat(value)
    return base64.b64decode(value) if isinstance(column.type, LargeBinary) else value


def _files(folder: Path, manifest: Manifest) -> Iterator[tuple[Path, str]]:
    """All that a backup has, with the digests."""
    for name, digest in manifest.tables.items():
        yield folder / "database" / f"{name}.jsonl", digest
    for digest in manifest.artifacts:
        yield _artifact(folder, digest), digest


def _artifact(folder: Path, digest: str) -> Path:
    return folder / "artifacts" / digest[:2] / digest


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
