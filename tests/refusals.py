"""Refusals, by their stable code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from zenserve import errors as zenerrors

_KINDS: dict[str, type[zenerrors.ZenError]] = {
    "auth": zenerrors.AccessError,
    "cancelled": zenerrors.Cancelled,
    "ceremony": zenerrors.CeremonyError,
    "conflict": zenerrors.ConflictError,
    "encoding": zenerrors.EncodingError,
    "file": zenerrors.FileFormatError,
    "input": zenerrors.TensorError,
    "model": zenerrors.ModelError,
    "not_found": zenerrors.NotFoundError,
    "quota": zenerrors.ResourceError,
    "request": zenerrors.RequestError,
    "resource": zenerrors.ResourceError,
    "statement": zenerrors.StatementError,
}


@contextmanager
def refuses(
    code: str, field: str | None = None, *, match: str | None = None
) -> Iterator[pytest.ExceptionInfo[zenerrors.ZenError]]:
    """What is done within raises the error of this ``code``, about this ``field`` where one is given."""
    with pytest.raises(_KINDS[code.partition(".")[0]], match=match) as error:
        yield error
    assert error.value.code == code
    if field is not None:
        assert error.value.field == field
