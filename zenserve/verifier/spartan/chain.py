"""Chains of renewals: from a commitment as it was registered to the one that a proof opens.

A proof of a statement with linked segments begins, for each, with how many links there are (one byte), and of
each link the new root (32 bytes), the length of its proof (4 bytes, little-endian), and that.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Final, NamedTuple

from blake3 import blake3

from zenserve.verifier.spartan.commitment import Rows
from zenserve.verifier.spartan.ledger import MOST_LINKS
from zenserve.verifier.spartan.merkle import DIGEST_BYTES
from zenserve.verifier.spartan.proof import MalformedError
from zenserve.verifier.spartan.renewal import is_renewed

_LENGTH: Final = 4
_MOST_FOUND: Final = 1024
_FOUND: Final[dict[tuple[bytes, int, bytes, bytes, bytes], None]] = {}
"""Links that hold, those found first going first. No commitment's end can be taken for what follows it."""
_TURN: Final = Lock()


class Link(NamedTuple):
    """``proof``: that ``root`` is a commitment to the values of the one before."""

    root: bytes
    proof: bytes


def to_bytes(chain: Sequence[Link]) -> bytes:
    parts = (link.root + len(link.proof).to_bytes(_LENGTH, "little") + link.proof for link in chain)
    return bytes([len(chain)]) + b"".join(parts)


def split(data: bytes, count: int) -> tuple[list[list[Link]], bytes]:
    """So many chains, and what follows. Raises ``MalformedError``."""
    chains, at = list[list[Link]](), 0

    def take(length: int) -> bytes:
        nonlocal at
        at += length
        if at > len(data):
            raise MalformedError("the proof is shorter than its chains of renewals")
        return data[at - length : at]

    for _ in range(count):
        (links,) = take(1)
        if links > MOST_LINKS:
            raise MalformedError(f"a commitment was renewed more than {MOST_LINKS} times")
        chains.append([])
        for _ in range(links):
            root, length = take(DIGEST_BYTES), int.from_bytes(take(_LENGTH), "little")
            chains[-1].append(Link(root, take(length)))
    return chains, data[at:]


def end(rows: Rows, size: int, root: bytes, chain: Sequence[Link]) -> bytes | None:
    """The root at the end of the chain that begins with ``root``, None where a link does not hold."""
    for link in chain:
        if not _holds(rows, size, root, link):
            return None
        root = link.root
    return root


def _holds(rows: Rows, size: int, root: bytes, link: Link) -> bool:
    """Proofs about one commitment begin with the same links: each is verified once."""
    what = rows.identity, size, root, link.root, blake3(link.proof).digest()
    if what in _FOUND:
        return True
    if not is_renewed(rows, size, root, link.root, link.proof):
        return False
    with _TURN:
        _FOUND[what] = None
        if len(_FOUND) > _MOST_FOUND:
            del _FOUND[next(iter(_FOUND))]
    return True
