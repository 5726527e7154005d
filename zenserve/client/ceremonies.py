"""Endpoints of ceremonies: keys that several parties make together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from zenserve.client.calls import Calls, delete, get, new_key, path, post
from zenserve.client.errors import ClientError
from zenserve.client.flows import Flow, Request, Stream, endpoint, listing
from zenserve.client.resources import Ceremony, CircuitFields, Contribution

_PIECE_BYTES: Final = 8 << 20
"""So much of a file is asked for at once: where that breaks off, it alone is asked for again."""


class Holding(Calls):
    """Ceremonies, from their opening to their keys (docs/ceremony.md)."""

    @endpoint
    def open_ceremony(
        self,
        model_id: str,
        circuits: Sequence[CircuitFields],
        *,
        name: str = "unnamed",
        idempotency_key: str | None = None,
    ) -> Flow[Ceremony]:
        """Open a ceremony for the keys of a model's circuits. Takes the scope ``admin``."""
        body = {"model_id": model_id, "name": name, "circuits": list(circuits)}
        key = idempotency_key or new_key()
        return self._read(Ceremony, post("ceremonies", body=body, idempotency_key=key))

    @endpoint
    def get_ceremony(self, ceremony_id: str) -> Flow[Ceremony]:
        """A ceremony: how far it is, its circuits and who contributed."""
        return self._read(Ceremony, get("ceremonies", ceremony_id))

    @listing
    def ceremonies(
        self, *, created_after: datetime | None = None, created_before: datetime | None = None
    ) -> Stream[Ceremony]:
        """The tenant's ceremonies, the newest first."""
        return self._pages(Ceremony, "ceremonies", created_after=created_after, created_before=created_before)

    @endpoint
    def get_ceremony_file(self, ceremony_id: str, sha256: str) -> Flow[bytes]:
        """A file of a ceremony: a circuit's present ``state``, its ``statement``, or the ``powers`` of tau.
        What breaks off is taken up again. Raises ``ClientError`` where something else comes.
        """
        content, total = b"", 1
        while len(content) < total:
            wanted = {"Range": f"bytes={len(content)}-{len(content) + _PIECE_BYTES - 1}"}
            request = Request("GET", path("ceremonies", ceremony_id, "files", sha256), wanted)
            response = yield from self._good(request)
            content += response.content
            total = int(response.headers.get("Content-Range", "").rpartition("/")[2] or len(content))
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ClientError(f"what came for the file {sha256} is another")
        return content

    @endpoint
    def create_contribution(
        self,
        ceremony_id: str,
        extends: Sequence[str],
        states: Sequence[bytes],
        *,
        idempotency_key: str | None = None,
    ) -> Flow[Contribution]:
        """Hand in a contribution to all circuits, in their order: the ``states`` that it made of those whose
        SHA-256 it ``extends``. Takes the scope ``contribute``.
        """
        pairs = []
        for earlier, state in zip(extends, states, strict=True):
            sha256 = yield from self._upload(state)
            pairs.append({"extends": earlier, "sha256": sha256})
        key = idempotency_key or new_key()
        request = post(
            "ceremonies", ceremony_id, "contributions", body={"states": pairs}, idempotency_key=key
        )
        return (yield from self._read(Contribution, request))

    @endpoint
    def get_contribution(self, contribution_id: str) -> Flow[Contribution]:
        """A contribution, and how far its verification is."""
        return self._read(Contribution, get("contributions", contribution_id))

    @endpoint
    def cancel_contribution(self, contribution_id: str) -> Flow[Contribution]:
        """Take a contribution back that is not verified yet."""
        return self._cancel(Contribution, contribution_id)

    @endpoint
    def close_ceremony(self, ceremony_id: str, beacon: str, *, rounds: int = 10) -> Flow[Ceremony]:
        """Announce the public value that will close the ceremony, and take no more contributions. Takes the
        scope ``admin``, as all that follows.
        """
        body = {"beacon": beacon, "rounds": rounds}
        return self._read(Ceremony, post("ceremonies", ceremony_id, "close", body=body))

    @endpoint
    def finish_ceremony(
        self, ceremony_id: str, value: str, *, development: bool = False
    ) -> Flow[Contribution]:
        """Give the value that was announced, 32 bytes in hex, and have the keys made and used.

        Where nobody contributed to the powers of tau, the service refuses unless ``development`` keys are
        wanted.
        """
        body = {"value": value} | ({"development": True} if development else {})
        return self._read(Contribution, post("ceremonies", ceremony_id, "finish", body=body))

    @endpoint
    def cancel_ceremony(self, ceremony_id: str) -> Flow[Ceremony]:
        """Stop the opening of a ceremony."""
        return self._cancel(Ceremony, ceremony_id)

    @endpoint
    def delete_ceremony(self, ceremony_id: str) -> Flow[None]:
        """Forget a ceremony. Keys that it made stay."""
        return self._done(delete("ceremonies", ceremony_id))
