"""Users of an OpenID provider: the groups that their tokens name decide the tenant and the scopes.

A user in none of the groups of ``ZENSERVE_OIDC_GROUPS`` is refused, and so is one whose groups belong to
several tenants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy.orm import Session

from zenserve.errors import AccessError, RequestError
from zenserve.service.access import audit
from zenserve.service.access.principal import Principal, Scope, read_scopes
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings
from zenserve.service.storage.repositories.accounts import Tenants, suspended

_SUBJECT = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
_NAMES = ("preferred_username", "email", "name", "sub")
_MAX_NAME = 200


@dataclass(frozen=True)
class Rule:
    """The tenant and the scopes that members of one of the provider's groups get."""

    group: str
    tenant_id: str
    scopes: frozenset[Scope]


@dataclass(frozen=True)
class Identity:
    """A user that the provider vouches for until ``expires_at``, in seconds since 1970."""

    subject: str
    name: str
    groups: list[str]
    """The user's groups at the provider that a rule names."""
    expires_at: float

    @classmethod
    def from_claims(cls, claims: Mapping[str, Any], rules: Sequence[Rule], groups_claim: str) -> Self | None:
        """The user of a token that was verified; None where ``sub`` is not what OpenID Connect allows."""
        subject, named = claims["sub"], claims.get(groups_claim)
        if not isinstance(subject, str) or not _SUBJECT.fullmatch(subject):
            return None
        claimed = named if isinstance(named, list) else [named]
        groups = [rule.group for rule in rules if rule.group in claimed]
        names = (_printable(claims.get(each)) for each in _NAMES)
        return cls(subject, next(filter(None, names)), groups, claims["exp"])


def read_rules(settings: Settings) -> list[Rule]:
    """Raises ``RequestError`` (``request.settings``) for a scope that does not exist."""
    rules = []
    for entry in settings.oidc_groups:
        group, _, right = entry.rpartition("=")
        tenant_id, _, scopes = right.partition(":")
        try:
            rules.append(Rule(group, tenant_id, frozenset(read_scopes(scopes.split("+")))))
        except RequestError as error:
            name = "ZENSERVE_OIDC_GROUPS"
            raise RequestError("request.settings", f"{name}: {error.message}", field=name) from None
    return rules


def principal_of(
    session: Session, rules: Sequence[Rule], identity: Identity, address: str | None
) -> Principal:
    """The user's tenant, and the scopes of all its groups together.

    Raises ``AccessError`` (``auth.groups``, ``auth.suspended``).
    """
    matching = [rule for rule in rules if rule.group in identity.groups]
    tenants = {rule.tenant_id for rule in matching}
    if len(tenants) != 1:
        reason = "your groups belong to several tenants" if tenants else "none of your groups is let in here"
        raise AccessError("auth.groups", f"{reason}: ask whoever runs the service")
    tenant_id = tenants.pop()
    if not Tenants(session).is_live(tenant_id):
        raise suspended()
    scopes = frozenset[str]().union(*(rule.scopes for rule in matching))
    return Principal(tenant_id, _actor(identity), scopes, address, identity.expires_at)


def authenticate(
    runtime: Runtime,
    rules: Sequence[Rule],
    identity: Identity | None,
    address: str | None,
    to_note: Callable[[], bool] = lambda: True,
) -> Principal:
    """The caller whose token was verified; ``identity`` is None where the token is not good. A refusal is
    noted in the audit log, if it is ``to_note``.

    Raises ``AccessError`` (``auth.invalid``, ``auth.groups``, ``auth.suspended``).
    """
    try:
        if identity is None:
            raise AccessError("auth.invalid", "the issuer's token is not for this service, or not good now")
        with runtime.database.read() as session:
            return principal_of(session, rules, identity, address)
    except AccessError:
        if to_note():
            actor = _actor(identity) if identity else "nobody"
            with runtime.database.write() as session:
                audit.note(session, Principal("", actor, frozenset(), address), "token.refuse", None)
        raise


def _printable(name: object) -> str:
    return "".join(filter(str.isprintable, name))[:_MAX_NAME] if isinstance(name, str) else ""


def _actor(identity: Identity) -> str:
    return f"oidc:{identity.subject}"
