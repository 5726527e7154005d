"""Documents of proofs where they are kept: in a row, and their proofs in the store where these are long.

A document of a few shards of transparent proofs has tens of megabytes. What a row has is what lists and pages
show; the proofs are read to be handed on alone, piece by piece.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import Proof
from zenserve.verifier.documents import ProofDocument
from zenserve.verifier.stream import Missed

_IN_A_ROW: Final = 1 << 16
"""Bytes of proofs."""
_PIECE: Final = 1 << 18


class Kept(NamedTuple):
    """``row``: the document, without its proofs where ``stored`` has these: their digest in the store."""

    row: dict[str, Any]
    stored: str | None

    def write(self, proof: Proof) -> None:
        proof.document, proof.proofs = self.row, self.stored


def keep(runtime: Runtime, document: ProofDocument) -> Kept:
    """Store the document's proofs if they are too long for a row.

    A caller that does not write the result to a row must have ``stored`` deleted.
    """
    row = document.model_dump(mode="json")
    if sum(map(len, document.proofs)) <= 2 * _IN_A_ROW:
        return Kept(row, None)
    return Kept(row, runtime.store.put(json.dumps(row.pop("proofs")).encode()))


def missed(problem: Mapping[str, Any] | None) -> Missed:
    """Return the entry of a stream's chain for a frame whose job made no proof.

    The job has this problem, or was canceled.
    """
    return Missed(missed=str(problem["code"]).removeprefix("resource.") if problem else "canceled")


def pieces(runtime: Runtime, proof: Proof) -> Iterator[bytes]:
    """The whole document, as JSON. Raises ``FileFormatError`` (``file.missing``)."""
    row = json.dumps(proof.document, separators=(",", ":")).encode()
    return iter([row]) if proof.proofs is None else _joined(row, runtime.store.path(proof.proofs))


def _joined(row: bytes, proofs: Path) -> Iterator[bytes]:
    yield row.removesuffix(b"}") + b',"proofs":'
    with proofs.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece
    yield b"}"
