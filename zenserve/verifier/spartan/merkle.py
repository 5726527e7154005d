"""Openings of Merkle trees at many places at once: paths that meet are given once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from blake3 import blake3

DIGEST_BYTES: Final = 32
LEAF_KEY: Final = blake3(b"zenserve spartan 1: leaf").digest()
NODE_KEY: Final = blake3(b"zenserve spartan 1: node").digest()
_ROOT_KEY: Final = blake3(b"zenserve spartan 1: root").digest()


class Opened(Protocol):
    """Columns of a tree with their salts, which may be empty, and the hashes of ``siblings``."""

    @property
    def salts(self) -> Sequence[bytes]: ...
    @property
    def columns(self) -> Sequence[bytes]: ...
    @property
    def path(self) -> Sequence[bytes]: ...


def leaf(salt: bytes, column: bytes) -> bytes:
    """The hash of one column, 32 bytes: ``salt`` (32 bytes), then its entries, canonical."""
    return blake3(salt + column, key=LEAF_KEY).digest()


def node(left: bytes, right: bytes) -> bytes:
    """The hash of two children."""
    return blake3(left + right, key=NODE_KEY).digest()


def root(top: bytes, values: int, tail: int, log_degree: int, log_length: int) -> bytes:
    """Return the commitment to a tree: the hash of its node 1 and the shape of the matrix below it."""
    shape = b"".join(number.to_bytes(8, "little") for number in (values, tail, log_degree, log_length))
    return blake3(top + shape, key=_ROOT_KEY).digest()


def siblings(places: Sequence[int], log_leaves: int) -> list[int]:
    """The nodes that an opening of the leaves ``places``, ascending, gives, in order; node 1 is the root."""
    known, found = [(1 << log_leaves) + place for place in places], list[int]()
    while known[0] > 1:
        present = set(known)
        found += [node ^ 1 for node in known if node ^ 1 not in present]
        known = list(dict.fromkeys([node // 2 for node in known]))
    return found


def siblings_count(places: Sequence[int], log_leaves: int) -> int:
    """Return the number of ``siblings``."""
    known, count = {(1 << log_leaves) + place for place in places}, 0
    for _ in range(log_leaves):
        above = {node // 2 for node in known}
        known, count = above, count + 2 * len(above) - len(known)
    return count


def top(leaves: Mapping[int, bytes], log_leaves: int, path: Sequence[bytes]) -> bytes:
    """Node 1, by the leaves at some places and the hashes of ``siblings``, exactly as many."""
    given = iter(path)
    level = sorted(((1 << log_leaves) + place, digest) for place, digest in leaves.items())
    while level[0][0] > 1:
        above, here = list[tuple[int, bytes]](), iter(level)
        following = next(here, None)
        while following is not None:
            (place, digest), following = following, next(here, None)
            if place % 2:
                parent = node(next(given), digest)
            elif following is not None and following[0] == place + 1:
                parent, following = node(digest, following[1]), next(here, None)
            else:
                parent = node(digest, next(given))
            above.append((place // 2, parent))
        level = above
    return level[0][1]
