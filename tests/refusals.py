"""Refusals, by their stable code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from zenserve import errors

_KINDS: dict[str, type[errors.ZenError]] = {
    "auth": errors.AccessError,
    "cancelled": errors.Cancelled,
    "ceremony": errors.CeremonyError,
    "conflict": errors.ConflictError,
    "encoding": errors.EncodingError,
    "file": errors.FileFormatError,
    "input": errors.TensorError,
    "model": errors.ModelError,
    "not_found": errors.NotFoundError,
    "quota": errors.ResourceError,
    "request": errors.RequestError,
    "resource": errors.ResourceError,
    "statement": errors.StatementError,
}


@contextmanager
def refuses(
    code: str, field: str | None = None, *, match: str | None = None
) -> Iterator[pytest.ExceptionInfo[errors.ZenError]]:
    """What is done within raises the error of this ``code``, about this ``field`` where one is given."""
    with pytest.raises(_KINDS[code.partition(".")[0]], match=match) as error:
        yield error
    assert error.value.code == code
    if field is not None:
        assert error.value.field == field
