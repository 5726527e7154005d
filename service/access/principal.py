"""Callers, and the scopes that say what they may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from zenserve.errors import AccessError, RequestError
from zenserve.service.storage.records.base import LOCAL_TENANT

Scope = Literal["read", "prove", "register", "reveal", "contribute", "manage", "admin"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)


@dataclass(frozen=True)
class Principal:
    """A caller: whose things it sees, the name that the audit log has for it, and what it may do."""

    tenant_id: str
    actor: str
    scopes: frozenset[str]
    address: str | None = None
    """The network address of the caller, for the audit log; None at the command line."""
    expires_at: float | None = None
    """Until when it is known, in seconds since 1970, where no API key says so."""

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    def sees(self, tenant_id: str) -> bool:
        return tenant_id == self.tenant_id or self.may("admin")

    @property
    def sight(self) -> str | None:
        """The tenant whose things it sees; None for all tenants'."""
        return None if self.may("admin") else self.tenant_id

    def require(self, *scopes: Scope) -> None:
        """Raises ``AccessError`` (``auth.scope``) unless it has one of them."""
        if self.scopes.isdisjoint(scopes):
            wanted = " or ".join(scopes)
            raise AccessError("auth.scope", f"this takes a key with the scope {wanted}")


LOCAL = Principal(LOCAL_TENANT, "local", frozenset(SCOPES))
"""The principal of every caller of a service that asks for no keys."""


def read_scopes(names: Sequence[str]) -> list[Scope]:
    """Scopes as they are typed; ``all`` is all of them. Raises ``RequestError`` (``request.invalid``)."""
    unknown = sorted(set(names) - {*SCOPES, "all"})
    if unknown:
        raise RequestError(
            "request.invalid", f"there is no scope {unknown[0]}; there are {', '.join(SCOPES)}"
        )
    return [scope for scope in SCOPES if scope in names or "all" in names]
