"""The database: connections, short transactions, its clock."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event, func, select
from sqlalchemy.orm import Session

from zenserve.errors import RequestError
from zenserve.service.settings import Settings

BUSY_TIMEOUT_SECONDS = 10
_POSTGRESQL_OPTIONS = (
    "-c timezone=UTC -c lock_timeout=10s -c statement_timeout=60s -c idle_in_transaction_session_timeout=60s"
)
_CLOCK = "clock"
_SQLITE = "sqlite:///"


class Database:
    """SQLite in WAL mode, where reads never block and writers queue up at ``BEGIN IMMEDIATE``; or PostgreSQL,
    where reads see one snapshot and writers lock the rows that they decide by.
    """

    def __init__(self, url: str) -> None:
        self._turn: AbstractContextManager[object] = nullcontext()
        self._thread = threading.local()
        if url.startswith("sqlite"):
            self.engine, self._reading, self._writing = _sqlite(url)
            # SQLite has writers look again after a sleep; those of one process can do better.
            self._turn = threading.Lock()
        else:
            self.engine, self._reading, self._writing = _postgresql(url)
        self._lasting = self._writing.execution_options(zenserve_lasting=True)

    @classmethod
    def from_settings(cls, settings: Settings) -> Database:
        return cls(_url(settings))

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A snapshot to read from."""
        with Session(self._reading) as session:
            yield session

    @contextmanager
    def write(self, *, lasting: bool = False) -> Iterator[Session]:
        """A transaction, committed on leaving the block and rolled back on an exception. One that is
        ``lasting`` is on the disk by then: of others SQLite may lose the last when the power fails.

        Raises ``RuntimeError`` within another of the same thread: it would wait for itself.
        """
        if getattr(self._thread, "writes", False):
            raise RuntimeError("this thread is within a transaction: give its session on")
        self._thread.writes = True
        try:
            engine = self._lasting if lasting else self._writing
            with self._turn, Session(engine, expire_on_commit=False) as session, session.begin():
                yield session
        finally:
            self._thread.writes = False

    def for_migrations(self) -> AbstractContextManager[Connection]:
        """A transaction on the bare connection."""
        return self._writing.begin()

    def close(self) -> None:
        self.engine.dispose()


def clock(session: Session) -> datetime:
    """The database's time, the one clock that all hosts share: the same throughout a session."""
    moment = session.info.get(_CLOCK)
    if moment is None:
        shared = (
            session.scalar(select(func.clock_timestamp())) if is_postgresql(session) else datetime.now(UTC)
        )
        assert isinstance(shared, datetime)  # noqa: S101  narrows the type
        moment = session.info[_CLOCK] = shared.astimezone(UTC)
    return moment


def now() -> datetime:
    """This host's time, for what is only shown."""
    return datetime.now(UTC)


def is_made(settings: Settings) -> bool:
    """Return whether the database exists, or has a server to ask: asking SQLite would create the file."""
    url = _url(settings)
    return not url.startswith(_SQLITE) or Path(url.removeprefix(_SQLITE)).exists()


def is_postgresql(session: Session) -> bool:
    return session.get_bind().dialect.name == "postgresql"


def _url(settings: Settings) -> str:
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return f"{_SQLITE}{settings.data_dir / 'zenserve.sqlite'}"


def _postgresql(url: str) -> tuple[Engine, Engine, Engine]:
    if find_spec("psycopg") is None:
        raise RequestError(
            "request.settings",
            "ZENSERVE_DATABASE_URL: PostgreSQL needs pip install 'psycopg[binary]'",
            field="ZENSERVE_DATABASE_URL",
        )
    engine = create_engine(
        url.replace("postgresql://", "postgresql+psycopg://", 1),
        pool_size=8,
        max_overflow=32,
        pool_timeout=10,
        # After a restart of the server the first use of each connection finds out, not the caller.
        pool_pre_ping=True,
        connect_args={"connect_timeout": 5, "options": _POSTGRESQL_OPTIONS},
        hide_parameters=True,
    )
    reading = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    return engine, reading, engine


def _sqlite(url: str) -> tuple[Engine, Engine, Engine]:
    engine = create_engine(
        url,
        connect_args={"timeout": BUSY_TIMEOUT_SECONDS, "check_same_thread": False},
        hide_parameters=True,  # errors would quote them, and others' logs quote errors
    )
    event.listen(engine, "connect", _configure_connection)
    event.listen(engine, "begin", _begin)
    return engine, engine, engine.execution_options(zenserve_writes=True)


def _configure_connection(connection: sqlite3.Connection, _record: object) -> None:
    # The driver's own transaction control is off: it begins too late, and a snapshot that was read
    # before it cannot be upgraded to a writing one while others write (SQLITE_BUSY_SNAPSHOT).
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    lasting, writes = (options.get(f"zenserve_{name}", False) for name in ("lasting", "writes"))
    connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if lasting else 'NORMAL'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
