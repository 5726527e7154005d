"""Every error ZenServe raises on purpose, each with a stable ``code`` that clients may rely on.

    ZenError
    ├── InputError              what the caller handed in is wrong; the message names the field and the remedy
    │   ├── EncodingError       bytes that are no field element or curve point      encoding.*
    │   ├── ModelError          an ONNX file that cannot become a circuit           model.*
    │   ├── TensorError         a network input that the circuit cannot take        input.*
    │   ├── StatementError      constraints or a witness that do not fit together   statement.*
    │   ├── FileFormatError     a key, proof or circuit file that cannot be read    file.*
    │   ├── CeremonyError       powers or contributions that are not what they say  ceremony.*
    │   └── RequestError        an API request that cannot be served                request.*
    ├── NotFoundError           no such resource                                    not_found
    ├── ConflictError           the resource's state does not allow it              conflict.*
    ├── AccessError             the caller is not known, or may not do it           auth.*
    ├── Cancelled               the caller's progress callback asked to stop        cancelled
    └── ResourceError           memory, time, size or number would be exceeded      resource.*, quota.*

A refused proof is not an error: ``groth16.verify`` answers with a ``Verdict`` (see ``groth16.verify``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from zenserve.codes import Code


class ZenError(Exception):
    """Base of the tree. ``code`` is stable and machine-readable; ``field`` names the input at fault."""

    def __init__(self, code: Code, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.code, self.message, self.field)


@contextmanager
def naming(place: object) -> Iterator[None]:
    """Errors that are raised within are noted to be about this file, option or part."""
    try:
        yield
    except ZenError as error:
        error.add_note(str(place))
        raise


def in_words(error: Exception) -> str:
    """An error as a person reads it: what it is about (``naming``), the message, the code."""
    return f"{named(error)} [{error.code}]" if isinstance(error, ZenError) else named(error)


def named(error: Exception) -> str:
    """Return the notes on what the error is about, and its message."""
    text = error.message if isinstance(error, ZenError) else str(error)
    return ": ".join([*getattr(error, "__notes__", ()), text])


def _rebuild(kind: type[ZenError], code: Code, message: str, field: str | None) -> ZenError:
    return kind(code, message, field=field)


class InputError(ZenError):
    """An error in what the caller passed."""


class EncodingError(InputError):
    """Bytes that are not the canonical encoding of a field element or a curve point."""


class ModelError(InputError):
    """An ONNX file that cannot become a circuit."""


class TensorError(InputError):
    """A network input that the circuit cannot take: shape, NaN, range."""


class StatementError(InputError):
    """Constraints that could wrap around the field, or a witness that does not satisfy them."""


class FileFormatError(InputError):
    """A file that is truncated, corrupt, of another version or of another kind."""


class CeremonyError(InputError):
    """A trusted setup's powers of tau or contributions that are not what they say, or do not fit."""


class RequestError(InputError):
    """An API request that cannot be served as it stands."""


class NotFoundError(ZenError):
    """No such resource."""


class ConflictError(ZenError):
    """The resource's present state does not allow the operation."""


class AccessError(ZenError):
    """The caller is not known, or may not do what it asks for."""


class Cancelled(ZenError):  # noqa: N818 - an outcome that was asked for
    """Raised by a progress callback to stop a long computation at its next stage."""

    def __init__(
        self, code: Code = "cancelled", message: str = "cancelled by the caller", *, field: str | None = None
    ) -> None:
        super().__init__(code, message, field=field)


class ResourceError(ZenError):
    """The work would exceed a limit: of memory, time or size, or of what one tenant or caller may have."""
