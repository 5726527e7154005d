"""The errors of the client.

ClientError
├── UnreachableError    no service answers at the address
├── ApiError            the service answered with a problem document
├── JobError            a job that was waited for failed or was canceled
└── SignatureError      a webhook's message that the service did not sign, or not lately
"""

from __future__ import annotations

from typing import Any


class ClientError(Exception):
    """Base of the tree; its text is fit to show to a user."""


class UnreachableError(ClientError):
    """No service answers at the address."""


class ApiError(ClientError):
    """A problem document (RFC 9457). ``code`` is stable; ``field`` names the offending input, if any.

    ``request_id`` is what to quote to the operator; ``retry_after``: seconds after which to try again, where
    the service is busy or a quota is used up.
    """

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.code: str = problem.get("code", "unknown")
        self.detail: str = problem.get("detail", f"the answer, {status}, is not one of ZenServe")
        self.field: str | None = problem.get("field")
        self.request_id: str | None = problem.get("request_id")
        self.retry_after = retry_after
        super().__init__(f"{self.detail} [{self.code}]")


class JobError(ClientError):
    """A job ended without a result. ``state`` is ``failed`` or ``canceled``."""

    def __init__(self, job_id: str, state: str, problem: dict[str, Any] | None) -> None:
        self.job_id = job_id
        self.state = state
        self.code: str = (problem or {}).get("code", state)
        self.detail: str = (problem or {}).get("detail", f"{job_id} was {state}")
        super().__init__(f"{self.detail} [{self.code}]")


class SignatureError(ClientError):
    """A webhook's message is not one that the service signed, or an old one. Not to be acted on."""
