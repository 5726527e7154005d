"""The database: connections, short transactions, migrations."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.orm import Session

import migrations

BUSY_TIMEOUT_SECONDS = 10


class Database:
    """SQLite in WAL mode. Reads never block; writers queue up at ``BEGIN IMMEDIATE``."""

    def __init__(self, path: Path) -> None:
        self.engine = create_engine(
            f"sqlite:///{path}", connect_args={"timeout": BUSY_TIMEOUT_SECONDS, "check_same_thread": False}
        )
        event.listen(self.engine, "connect", _configure_connection)
        event.listen(self.engine, "begin", _begin)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A snapshot to read from."""
        with Session(self.engine) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction, committed on leaving the block and rolled back on an exception."""
        with Session(_writing(self.engine), expire_on_commit=False) as session, session.begin():
            yield session

    def migrate(self) -> None:
        """Bring the schema to the newest revision."""
        with _writing(self.engine).begin() as connection:
            command.upgrade(_alembic(connection), "head")

    def at_head(self) -> bool:
        """Whether the schema is the one this code was written for."""
        with self.engine.connect() as connection:
            current = MigrationContext.configure(connection).get_current_heads()
        return set(current) == set(ScriptDirectory.from_config(_alembic()).get_heads())

    def close(self) -> None:
        self.engine.dispose()


def _writing(engine: Engine) -> Engine:
    return engine.execution_options(zenserve_writes=True)


def _configure_connection(connection: sqlite3.Connection, _record: object) -> None:
    # The driver's own transaction control is off: it begins too late, and a snapshot that was read
    # before it cannot be upgraded to a writing one while others write (SQLITE_BUSY_SNAPSHOT).
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("zenserve_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _alembic(connection: Connection | None = None) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config
