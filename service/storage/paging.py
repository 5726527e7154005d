"""Lists in pages, newest first. A cursor is a place between two rows: rows that come or go move no page."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Self, TypeVar

from sqlalchemy import ColumnElement, ColumnExpressionArgument, literal, tuple_

from zenserve.errors import RequestError
from zenserve.service.storage.records.base import Utc

Row = TypeVar("Row")
LONGEST = 200


@dataclass(frozen=True)
class Place:
    """The position of a row in a list: after all newer rows."""

    at: datetime
    id: str

    def __str__(self) -> str:
        """A cursor."""
        text = f"{self.at.isoformat()}/{self.id}"
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @property
    def number(self) -> int:
        """The id of a row that has a number for one. Raises ``RequestError`` (``request.invalid``)."""
        if not re.fullmatch(r"[0-9]{1,9}", self.id):
            raise _unreadable()
        return int(self.id)

    @classmethod
    def read(cls, cursor: str) -> Self:
        """Raises ``RequestError`` (``request.invalid``)."""
        try:
            text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
            at, _, row_id = text.partition("/")
            moment = datetime.fromisoformat(at)
        except ValueError:  # of base64, of UTF-8, of the date
            raise _unreadable() from None
        if moment.utcoffset() != timedelta(0) or not re.fullmatch(r"\w{1,40}", row_id, re.ASCII):
            raise _unreadable()
        return cls(moment, row_id)


@dataclass(frozen=True)
class Window:
    """The part of a list that is asked for: so many rows, after this place."""

    limit: int
    after: Place | None

    def condition(
        self, at: ColumnExpressionArgument[datetime], row_id: ColumnExpressionArgument[str]
    ) -> ColumnElement[bool] | None:
        """Return the condition of rows that come after the place; None for the first page."""
        if self.after is None:
            return None
        return tuple_(at, row_id) < tuple_(literal(self.after.at, Utc()), literal(self.after.id))


@dataclass(frozen=True)
class Page(Generic[Row]):
    rows: Sequence[Row]
    next_cursor: str | None


def _unreadable() -> RequestError:
    return RequestError("request.invalid", "cursor: give the next_cursor of the page before", field="cursor")


def page(rows: Sequence[Row], window: Window, place: Callable[[Row], Any]) -> Page[Row]:
    """The page, of rows that were asked for with one more than its limit."""
    shown = rows[: window.limit]
    more = len(rows) > window.limit
    return Page(shown, str(place(shown[-1])) if more else None)
