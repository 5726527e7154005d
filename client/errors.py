"""What can go wrong.

ClientError
├── UnreachableError    no service answers at the address
├── ApiError            the service answered with a problem document
└── JobError            a job that was waited for failed or was canceled
"""

from __future__ import annotations

from typing import Any


class ClientError(Exception):
    """Base of the tree; its text is fit to show to a user."""


class UnreachableError(ClientError):
    """No service answers at the address."""


class ApiError(ClientError):
    """A problem document (RFC 9457). ``code`` is stable; ``field`` names the offending input, if any."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.code: str = problem.get("code", "unknown")
        self.detail: str = problem.get("detail", f"the answer, {status}, is not one of ZenServe")
        self.field: str | None = problem.get("field")
        super().__init__(f"{self.detail} [{self.code}]")


class JobError(ClientError):
    """A job ended without a result. ``state`` is ``failed`` or ``canceled``."""

    def __init__(self, job_id: str, state: str, problem: dict[str, Any] | None) -> None:
        self.job_id = job_id
        self.state = state
        self.code: str = (problem or {}).get("code", state)
        self.detail: str = (problem or {}).get("detail", f"{job_id} was {state}")
        super().__init__(f"{self.detail} [{self.code}]")
