"""The schema that this code was written for, and the one that is there."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, select

from zenserve import migrations
from zenserve.errors import ResourceError
from zenserve.service.storage.database import Database

_MIGRATION_LOCK = 0x5A454E01


def migrate(database: Database, revision: str = "head") -> None:
    """Bring the schema to the newest revision, or back to an older one."""
    with database.for_migrations() as connection:
        if connection.dialect.name == "postgresql":  # of several that start at once, one migrates
            connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        config = _alembic(connection)
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        current = MigrationContext.configure(connection).get_current_revision()
        older = revision in known and current is not None and revision < current
        (command.downgrade if older else command.upgrade)(config, revision)


def revision_of(database: Database) -> str | None:
    """The schema's revision; None where there is no schema."""
    with database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def at_head(database: Database) -> bool:
    """Return whether the schema is the one this code was written for."""
    return revision_of(database) == _newest()


def require(database: Database) -> None:
    """Raises ``ResourceError`` (``resource.schema``) where it is another."""
    if not at_head(database):
        raise ResourceError(
            "resource.schema", "the schema is not the one of this version: run `zenserve migrate`"
        )


@cache
def _newest() -> str | None:
    """The revision that this code was written for. Strangers may ask, and each time it would be compiled."""
    return ScriptDirectory.from_config(_alembic()).get_current_head()


def _alembic(connection: Connection | None = None) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config
