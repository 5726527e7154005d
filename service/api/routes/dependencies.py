"""FastAPI dependencies of the endpoints."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Self, cast

from fastapi import Depends, Header, Path, Query, Request, Security
from fastapi.security import HTTPBearer
from pydantic import AwareDatetime, Field

from zenserve.errors import RequestError
from zenserve.service.access.keys import key_required
from zenserve.service.access.principal import Principal, Scope
from zenserve.service.api.schemas import State
from zenserve.service.api.watcher import Seat, Watcher
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.paging import LONGEST, Place, Window
from zenserve.service.storage.repositories.lists import Filters
from zenserve.service.submissions import labels
from zenserve.service.submissions.requests import MOST_REFERENCE, PRINTABLE, ModelReference, Name
from zenserve.verifier.schemes import Scheme

LONGEST_WAIT_SECONDS = 60
_BEARER = HTTPBearer(
    auto_error=False, description="An API key, `zen_…`, or an access token of the service's issuer"
)


async def _runtime(request: Request) -> Runtime:
    return cast(Runtime, request.app.state.runtime)


async def _watcher(request: Request) -> Watcher:
    return cast(Watcher, request.app.state.watcher)


def needs(*scopes: Scope) -> Callable[..., Coroutine[Any, Any, Principal]]:
    """A dependency: the caller, who has one of these scopes; without any, whoever is known.

    Raises ``AccessError`` (``auth.required``, ``auth.scope``).
    """

    # The bearer is for the API's description; who shows it was found out by ``authentication``.
    async def caller(request: Request, _bearer: object = Security(_BEARER, scopes=scopes)) -> Principal:
        principal: Principal | None = request.state.principal
        if principal is None:
            raise key_required()
        if scopes:
            principal.require(*scopes)
        return principal

    return caller


WatcherDep = Annotated[Watcher, Depends(_watcher)]
Known = Annotated[Principal, Depends(needs())]


@dataclass(frozen=True)
class Preference:
    """The preferences of a caller (RFC 7240).

    ``wait``: seconds to wait for the result, at most a minute. ``dry_run``: make nothing.
    """

    wait: int
    dry_run: bool

    @classmethod
    def of(cls, prefer: str | None) -> Self:
        wait = re.search(r"\bwait=([0-9]{1,6})", prefer or "")
        dry_run = re.search(r"(?:^|,)\s*dry-run\s*(?:$|[,;=])", prefer or "") is not None
        return cls(min(int(wait[1]), LONGEST_WAIT_SECONDS) if wait else 0, dry_run)


async def _preference(
    prefer: Annotated[
        str | None,
        Header(
            description="`wait=N`: answer when the job is over, or after N seconds. `dry-run`, of proofs:"
            " only say what it would show and take.",
            examples=["wait=10"],
        ),
    ] = None,
) -> Preference:
    return Preference.of(prefer)


PreferenceDep = Annotated[Preference, Depends(_preference)]


@dataclass(frozen=True)
class Patience:
    """The seconds that a caller waits for the result, and the caller's seat if it waits."""

    seconds: int = 0
    seat: Seat | None = None


async def _patience(
    watcher: WatcherDep, principal: Known, preference: PreferenceDep
) -> AsyncIterator[Patience]:
    if not preference.wait:
        yield Patience()
        return
    with watcher.seat(principal) as seat:
        yield Patience(preference.wait, seat)


PatienceDep = Annotated[Patience, Depends(_patience)]


async def _wait(preference: PreferenceDep, patience: PatienceDep) -> Patience:
    """Refuse a dry run, which proofs alone have.

    To ignore the preference would make what the caller did not want to be made.
    """
    if preference.dry_run:
        raise RequestError("request.invalid", "Prefer: a dry run is there for proofs alone", field="Prefer")
    return patience


async def _seat(watcher: WatcherDep, principal: Known) -> AsyncIterator[Seat]:
    with watcher.seat(principal) as seat:
        yield seat


async def _window(
    limit: Annotated[int, Query(ge=1, le=LONGEST, description="How many on a page.")] = 50,
    cursor: Annotated[
        str | None,
        Query(max_length=200, description="The `next_cursor` of the page before.", examples=["MTc2Mzg="]),
    ] = None,
) -> Window:
    return Window(limit, Place.read(cursor) if cursor is not None else None)


# Far enough from the ends of the calendar for any time zone.
_Moment = Annotated[AwareDatetime, Field(ge="1970-01-02T00:00:00Z", le="9000-01-01T00:00:00Z")]


async def _created(
    created_after: Annotated[_Moment | None, Query(description="Only what was made after this.")] = None,
    created_before: Annotated[_Moment | None, Query(description="Only what was made before this.")] = None,
) -> Filters:
    return Filters(created_after=created_after, created_before=created_before)


LabelPair = Annotated[str, Field(json_schema_extra={"pattern": labels.PAIR})]


async def _labels(
    label: Annotated[
        list[LabelPair] | None,
        Query(description="Only what has this label, `name=value`; of several, all.", examples=[["run=17"]]),
    ] = None,
) -> dict[str, str]:
    return labels.read(label)


@dataclass(frozen=True)
class Period:
    """From ``since`` on, before ``until``."""

    since: datetime
    until: datetime


async def _period(
    since: Annotated[
        _Moment | None, Query(description="From then on; the last 30 days unless given.")
    ] = None,
    until: Annotated[_Moment | None, Query(description="Before then; now unless given.")] = None,
) -> Period:
    end = until or now()
    return Period(since or end - timedelta(days=30), end)


PeriodDep = Annotated[Period, Depends(_period)]
RuntimeDep = Annotated[Runtime, Depends(_runtime)]
WaitDep = Annotated[Patience, Depends(_wait)]
SeatDep = Annotated[Seat, Depends(_seat)]
WindowDep = Annotated[Window, Depends(_window)]
LabelFilter = Annotated[dict[str, str], Depends(_labels)]
CreatedDep = Annotated[Filters, Depends(_created)]
StateFilter = Annotated[State | None, Query(description="Only what is in this state.")]
ModelFilter = Annotated[
    ModelReference | None,
    Query(description="Only what is of this model: its id, or NAME, NAME@VERSION.", examples=["mdl_5d1f0c"]),
]
NameFilter = Annotated[Name | None, Query(description="Only what has this name.", examples=["credit"])]
ModelNameFilter = Annotated[
    Name | None,
    Query(description="Only what is of models of this name, in all versions.", examples=["credit"]),
]
SchemeFilter = Annotated[Scheme | None, Query(description="Only proofs of this scheme.")]
FramesFilter = Annotated[bool, Query(description="Frames of streams, too.", examples=[True])]
Id = Annotated[str, Path(max_length=MOST_REFERENCE, pattern=PRINTABLE, description="Its id.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="The same key with the same request gives the same resource, once.",
        examples=["order-66"],
    ),
]
Reader = Annotated[Principal, Depends(needs("read", "admin"))]
Prover = Annotated[Principal, Depends(needs("prove"))]
Registrar = Annotated[Principal, Depends(needs("register"))]
Revealer = Annotated[Principal, Depends(needs("reveal"))]
Uploader = Annotated[Principal, Depends(needs("prove", "register", "contribute"))]
Contributor = Annotated[Principal, Depends(needs("contribute"))]
Witness = Annotated[Principal, Depends(needs("read", "contribute", "admin"))]
Manager = Annotated[Principal, Depends(needs("manage", "admin"))]
Admin = Annotated[Principal, Depends(needs("admin"))]
