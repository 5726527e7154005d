"""The fields of documents, the limits on their sizes, and the canonical JSON text of a document."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import rfc8785
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from zenserve.verifier.document import is_printable


def _printable(text: str) -> str:
    if not is_printable(text):
        raise ValueError("control characters and spaces but one kind are not allowed")
    return text


def _moment(text: str) -> str:
    """Months end at 12, and February at 28 or 29."""
    try:
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")
    except ValueError:
        raise ValueError("there is no such moment") from None
    return text


Kind = Literal["input", "reference", "dataset", "output"]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 in hex.", examples=["5d" * 32])]
Commitment = Annotated[
    str,
    Field(
        pattern=r"^([0-9a-f]{2}){32,64}$",
        description="In hex, as long as its commitment scheme has it.",
        examples=["8f" * 48],
    ),
]
Opening = Annotated[
    dict[str, Any], Field(description="What shows a commitment to be to values; by commitment scheme.")
]
Time = Annotated[
    str,
    Field(
        pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        description="RFC 3339, UTC, whole seconds.",
        examples=["2026-11-22T10:00:00Z"],
    ),
    AfterValidator(_moment),
]
Issuer = Annotated[
    str, Field(pattern=r"^[0-9a-f]{64}$", description="Ed25519 public key in hex.", examples=["d7" * 32])
]
MOST_INTEGER: Final = (1 << 53) - 1
"""The largest integer of a document, which programs in any language read exactly (RFC 8785)."""
Name = Annotated[str, Field(pattern="^[a-z_]{1,40}(/[A-Za-z0-9_.-]{1,64})?$")]
"""Of several inputs and outputs, each has its own name behind the slash
(``zenserve.verifier.schemes.called``).
"""
OWN_NAME: Final = "^[A-Za-z0-9_.-]{1,64}$"
"""Of one of several inputs or outputs."""
InputName = Annotated[str, Field(pattern=OWN_NAME)]
# One complaint about a list or an object is enough: to collect them all takes a thousand times its memory.
Numbers = Annotated[list[int], Field(fail_fast=True)]
Integer = Annotated[int, Field(ge=-MOST_INTEGER, le=MOST_INTEGER)]
Integers = Annotated[list[Integer], Field(fail_fast=True)]
Values = Annotated[dict[Name, Integer | Integers], Field(fail_fast=True)]
Size = Annotated[int, Field(ge=1, le=MOST_INTEGER)]

MOST_SHARDS: Final = 1 << 16
MOST_AXES: Final = 16
MOST_CHALLENGE: Final = 200
MOST_NAMES: Final = 16
"""Of values, and of commitments, in one statement."""

Challenge = Annotated[
    str, Field(min_length=1, max_length=MOST_CHALLENGE, examples=["for Ada"]), AfterValidator(_printable)
]


class Document(BaseModel):
    """Immutable, exact: nothing is converted, nothing is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def is_absent(value: object) -> bool:
    return value is None


def canonical(value: Any) -> bytes:
    """The one JSON text of a document or of JSON-able data, as RFC 8785 has it, so that programs in any
    language hash the same bytes.

    Raises ``ValueError`` for what that does not have: integers beyond ``MOST_INTEGER``, numbers that are not
    finite, halves of surrogates.
    """
    return rfc8785.dumps(value.model_dump(mode="json") if isinstance(value, BaseModel) else value)


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, to the second. Raises ``ValueError`` for a time without a zone."""
    if moment.tzinfo is None:
        raise ValueError("a moment needs a time zone")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
