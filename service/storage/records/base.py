"""Shared parts of all tables."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import JSON, DateTime, Dialect, TypeDecorator, text
from sqlalchemy.orm import DeclarativeBase

LOCAL_TENANT: Final = "tnt_local"
"""Owns what was made before there were tenants, and what is made where nobody is asked for a key."""

_JSON = JSON(none_as_null=True)


def new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"


class Utc(TypeDecorator[datetime]):
    """An aware UTC datetime; SQLite keeps it without its zone."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    type_annotation_map = {datetime: Utc, dict[str, Any]: _JSON, list[Any]: _JSON}  # noqa: RUF012


def where(condition: str) -> dict[str, Any]:
    """An index of a few rows among many: the reaper asks for them twice a second."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}
