"""Matrices of field elements, committed to by a Merkle tree over the columns of their code words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.base.memory import KEPT, About
from zenserve.base.parallel import equal, in_turn, run
from zenserve.base.randomness import Secrets
from zenserve.errors import StatementError
from zenserve.kernels import FrArray, fr
from zenserve.kernels.hashing import CHUNK_BYTES
from zenserve.prover.spartan.queries import Places, columns, opening, siblings
from zenserve.verifier.spartan import merkle
from zenserve.verifier.spartan.admission import Commitment
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.commitment import SALTS, SEED_BYTES, TAILS, stream
from zenserve.verifier.spartan.field import FR

_TOP_LIMB_MASK = np.uint64(2 ** (fr.modulus.bit_length() - 192) - 1)
HELD_BYTES: Final = 1 << 31
"""Of code words, which take four times as many as the rows."""
SLAB_BYTES: Final = 1 << 26
"""So many are made at once."""
_NOWHERE: Final = np.zeros(0, np.uint32)
_PIECE: Final = 1 << 14
"""Elements that a thread takes at once."""


class Encoded(NamedTuple):
    """``words``: uint64[rows, length, 4], canonical; ``nodes``: the tree over their columns."""

    words: FrArray
    nodes: NDArray[np.uint8]


class Linked(NamedTuple):
    """A commitment that was made before: its root, and the seed that its tails and salts follow from."""

    root: bytes
    seed: bytes


def other_values() -> StatementError:
    return StatementError(
        "statement.openings",
        "the commitment is to other values, or of another code: pass the values it was made to",
        field="openings",
    )


@dataclass(frozen=True, eq=False)
class Committed:
    """``rows``: uint64[rows, degree, 4], Montgomery; ``salts``: uint8[length, 32]; ``encoded``: none where
    the words are too many, or the commitment was made before. ``salted``: openings have the salts, which are
    another commitment's where they have not. Secret, but for ``commitment``.
    """

    code: Code
    rows: FrArray
    salts: NDArray[np.uint8]
    commitment: Commitment
    threads: int
    encoded: Encoded | None
    salted: bool = True

    @property
    def root(self) -> bytes:
        return self.commitment.root

    @property
    def nbytes(self) -> int:
        encoded = 0 if self.encoded is None else self.encoded.words.nbytes + self.encoded.nodes.nbytes
        return self.rows.nbytes + self.salts.nbytes + encoded

    def holds(self, values: FrArray) -> bool:
        """Return whether the commitment is to these values, uint64[n, 4]."""
        if len(values) != self.commitment.size:
            return False
        width = self.code.degree - self.commitment.tail
        parts = (values[start : start + width] for start in range(0, len(values), width))
        rows = zip(self.rows, parts, strict=True)
        return all(equal(row[: len(part)], part, self.threads) for row, part in rows)

    def open(self, at: Places) -> bytes:
        """The columns there, as proofs have them. Raises ``StatementError`` (``statement.openings``) where
        the commitment was made before, to other values."""
        if self.encoded is None:
            entries, nodes = self._encoded_again(at)
        else:
            entries, nodes = self.encoded.words[:, at], self.encoded.nodes
        salts = self.salts[at] if self.salted else None
        return opening(salts, columns(entries), nodes[siblings(at, self.code.log_length)])

    def _encoded_again(self, at: Places) -> tuple[FrArray, NDArray[np.uint8]]:
        columns, nodes = _encoded(self.code, self.rows, self.salts, self.threads, at)
        if _root(nodes, self.commitment.size, self.commitment.tail, self.code) != self.root:
            raise other_values()
        return columns, nodes


def commit(
    values: FrArray,
    code: Code,
    tail: int,
    seed: bytes,
    *,
    secret: Secrets,
    extra: FrArray | None = None,
    salts: NDArray[np.uint8] | None = None,
    root: bytes | None = None,
    held_bytes: int = HELD_BYTES,
    threads: int = 1,
) -> Committed:
    """Commit to uint64[n, 4], Montgomery, in rows with ``tail`` random places each.

    Tails and salts follow from ``seed``, 32 bytes, and the values: two vectors under one seed share none.
    ``extra``: rows of their own, uint64[m, degree, 4], without a tail. ``salts``: another commitment's, which
    is opened at the same places. ``root``: that of a commitment that
    was made before; nothing is encoded then until it is opened. Code words that are more than ``held_bytes``
    are made again where they are opened. ``secret`` erases what is kept.
    """
    seed = _bound(seed, values, threads)
    width, count = code.degree - tail, -(-len(values) // (code.degree - tail))
    more = 0 if extra is None else len(extra)
    rows = secret(np.zeros((count + more, code.degree, 4), dtype=np.uint64))
    _fill(rows[:count], values, tail, threads)
    with Secrets() as for_now:
        rows[:count, width:] = elements(seed, count * tail, for_now, threads).reshape(count, tail, 4)
    if extra is not None:
        rows[count:] = extra
    salted = salts is None
    if salts is None:
        drawn = np.frombuffer(stream(seed, SALTS, code.length * SEED_BYTES), dtype=np.uint8)
        salts = secret(drawn.reshape(code.length, SEED_BYTES).copy())
    if root is not None:
        return Committed(code, rows, salts, Commitment(root, len(values), tail), threads, None)
    words = None
    if len(rows) * code.length * FR.element_bytes <= held_bytes:
        words = secret(np.empty((len(rows), code.length, 4), dtype=np.uint64))
    _, nodes = _encoded(code, rows, salts, threads, _NOWHERE, words)
    commitment = Commitment(_root(nodes, len(values), tail, code), len(values), tail)
    encoded = None if words is None else Encoded(words, nodes)
    return Committed(code, rows, salts, commitment, threads, encoded, salted)


def linked_to(
    values: FrArray,
    code: Code,
    tail: int,
    linked: Linked,
    *,
    secret: Secrets,
    beside: int | None = None,
    threads: int = 1,
) -> Committed:
    """Return the matrix that the commitment was made of. Other ``values`` are refused, now or when it is
    opened.

    If other proofs are about the same values, the matrix is kept for them (``zenserve.base.memory.KEPT``),
    provided that this leaves ``beside`` bytes for this proof; otherwise ``secret`` erases it. Raises
    ``StatementError`` (``statement.openings``).
    """
    kept: Committed | None = KEPT.get(key_of(linked, code, tail))
    if kept is not None:
        if not kept.holds(values):
            raise other_values()
        return kept
    make = partial(commit, values, code, tail, linked.seed, threads=threads)
    count = -(-len(values) // (code.degree - tail))
    size = FR.element_bytes * (count * (code.degree + code.length) + 3 * code.length)
    if beside is None or not KEPT.admits(size, beside):
        return make(root=linked.root, secret=secret)
    own = Secrets()
    try:
        made = make(secret=own)
        if made.root != linked.root:
            raise other_values()
    except BaseException:
        own.erase(threads)
        raise
    keep(made, linked, own)
    return made


def keep(made: Committed, linked: Linked, secret: Secrets) -> None:
    """For ``linked_to``. All that ``secret`` erases is ``made``'s."""
    key = key_of(linked, made.code, made.commitment.tail)
    KEPT.keep(key, made, partial(secret.erase, made.threads))


def key_of(linked: Linked, code: Code, tail: int) -> About:
    """Return the key that the commitment's matrix is kept by, whatever the number of opened columns."""
    return About(linked.root, (linked.seed, code.log_degree, tail))


def _encoded(
    code: Code,
    rows: FrArray,
    salts: NDArray[np.uint8],
    threads: int,
    at: Places,
    words: FrArray | None = None,
) -> tuple[FrArray, NDArray[np.uint8]]:
    """The code words there, uint64[rows, places, 4], and the tree over all columns. The words are
    written to ``words``, or else gone thereafter."""
    columns = np.empty((len(rows), len(at), 4), dtype=np.uint64)
    hashes = kernels.blake3.column_hashes(
        len(rows), code.length, merkle.LEAF_KEY, salts=salts, threads=threads
    )
    parts = list(hashes.slabs(max(1, SLAB_BYTES // (CHUNK_BYTES * code.length))))
    with Secrets() as secret:
        if words is None:
            most = max(part.stop - part.start for part in parts)
            slab = secret(np.empty((most, code.length, 4), dtype=np.uint64))
        for part in parts:
            own = slab[: part.stop - part.start] if words is None else words[part]
            encode(code, rows[part], own, secret, threads)
            hashes.take(own)
            columns[part] = own[:, at]
    return columns, kernels.blake3.tree(hashes.digests(), merkle.NODE_KEY, threads)


def _root(nodes: NDArray[np.uint8], size: int, tail: int, code: Code) -> bytes:
    return merkle.root(nodes[1].tobytes(), size, tail, code.log_degree, code.log_length)


def _bound(seed: bytes, values: FrArray, threads: int) -> bytes:
    """``zenserve.verifier.spartan.commitment.bound``"""
    hasher = blake3(key=seed)
    starts = range(0, len(values), _PIECE)
    canonical = (partial(fr.to_canonical, values[start : start + _PIECE]) for start in starts)
    for part in in_turn(canonical, threads):
        hasher.update(part.astype("<u8", copy=False).reshape(-1).view(np.uint8).data)
        part.fill(0)
    return hasher.digest()


def _fill(rows: FrArray, values: FrArray, tail: int, threads: int) -> None:
    """``fill_rows``, row by row."""
    width = rows.shape[1] - tail
    calls = (
        partial(fill_rows, rows[i : i + 1], values[i * width : (i + 1) * width], tail)
        for i in range(len(rows))
    )
    run(calls, threads)


def fill_rows(rows: FrArray, values: FrArray, tail: int) -> None:
    """Values, uint64[n, 4], into the rows that they need, uint64[rows, degree, 4], but for the last ``tail``
    places of each. What they leave is not written to.
    """
    width = rows.shape[1] - tail
    full, left = divmod(len(values), width)
    rows[:full, :width] = values[: full * width].reshape(full, width, 4)
    if left:
        rows[full, :left] = values[full * width :]


def encode(code: Code, rows: FrArray, out: FrArray, secret: Secrets, threads: int) -> None:
    """The code words, canonical: uint64[rows, length, 4]."""
    domain = kernels.Domain(code.log_length)
    if code.degree < domain.size // 4:
        narrow, rows = rows, secret(np.zeros((len(rows), domain.size // 4, 4), dtype=np.uint64))
        rows[:, : code.degree] = narrow
    domain.encode(rows, threads, out=out)


def words_for(count: int) -> int:
    """So many words of a stream have ``count`` elements, but with probability 2^-120: nine of ten are."""
    return count + count // 4 + 64


def elements(seed: bytes, count: int, secret: Secrets, threads: int = 1) -> FrArray:
    """``count`` elements, as good as uniform: of the stream's words of 255 bits those that are below r.
    uint64[count, 4], Montgomery."""
    found, wanted = secret(np.empty((count, 4), dtype=np.uint64)), words_for(count)
    have, drawn = 0, 0
    with Secrets() as for_now:
        while have < count:
            ends = range(drawn, drawn + wanted, _PIECE)
            calls = (partial(_drawn, seed, start, min(_PIECE, drawn + wanted - start)) for start in ends)
            for part in in_turn(calls, threads):
                taken = for_now(part)[: count - have]
                found[have : have + len(taken)] = taken
                have += len(taken)
            drawn += wanted
    return found


def _drawn(seed: bytes, start: int, count: int) -> FrArray:
    """The elements among so many of the stream's words."""
    with Secrets() as secret:
        data = stream(seed, TAILS, FR.element_bytes * count, FR.element_bytes * start)
        words = secret(np.frombuffer(data, dtype="<u8").reshape(-1, 4).copy())
        words[:, 3] &= _TOP_LIMB_MASK
        return fr.from_canonical(secret(words[fr.is_canonical(words)]))


def to_bytes(values: FrArray, threads: int = 1) -> bytes:
    """Montgomery to canonical, little-endian."""
    return fr.to_canonical(values, threads).astype("<u8", copy=False).tobytes()
