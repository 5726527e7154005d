"""Matrices of field elements, committed to by a Merkle tree over the columns of their code words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kernels
from base.randomness import Secrets
from kernels import FrArray, fr
from verifier.spartan import merkle
from verifier.spartan.admission import Commitment
from verifier.spartan.code import Code
from verifier.spartan.commitment import SALTS, SEED_BYTES, TAILS, bound, stream
from verifier.spartan.proof import Opening

_TOP_LIMB_MASK = np.uint64(2 ** (fr.modulus.bit_length() - 192) - 1)


@dataclass(frozen=True, eq=False)
class Committed:
    """``rows``: uint64[rows, degree, 4], Montgomery; ``words``: the code words, uint64[rows, length, 4],
    canonical; ``salts``: uint8[length, 32]; ``nodes``: the tree. Secret, but for ``commitment``.
    """

    code: Code
    rows: FrArray
    words: FrArray
    salts: NDArray[np.uint8]
    nodes: NDArray[np.uint8]
    commitment: Commitment

    @property
    def root(self) -> bytes:
        return self.commitment.root

    def holds(self, values: FrArray) -> bool:
        """Whether it is to these values, uint64[n, 4]."""
        if len(values) != self.commitment.size:
            return False
        width = self.code.degree - self.commitment.tail
        parts = [values[start : start + width] for start in range(0, len(values), width)]
        return all(np.array_equal(row[: len(part)], part) for row, part in zip(self.rows, parts, strict=True))

    def open(self, places: list[int]) -> Opening:
        """The columns at these places, ascending."""
        columns = self.words[:, places].swapaxes(0, 1).astype("<u8")
        path = self.nodes[merkle.siblings(places, self.code.log_length)]
        return Opening(
            entries(self.salts[places], 32), entries(columns, 32 * len(self.words)), entries(path, 32)
        )


def commit(
    values: FrArray,
    code: Code,
    tail: int,
    seed: bytes,
    *,
    secret: Secrets,
    extra: FrArray | None = None,
    threads: int = 1,
) -> Committed:
    """Commit to uint64[n, 4], Montgomery, in rows with ``tail`` random places each.

    Tails and salts follow from ``seed``, 32 bytes, and the values: two vectors under one seed share none.
    ``extra``: rows of their own, uint64[m, degree, 4], without a tail. ``secret`` erases what is kept.
    """
    with Secrets() as for_now:
        plain = for_now(fr.to_canonical(values, threads)).astype("<u8", copy=False)
        seed = bound(seed, plain.reshape(-1).view(np.uint8).data)
        del plain
    width = code.degree - tail
    count = -(-len(values) // width)
    more = 0 if extra is None else len(extra)
    rows = secret(np.zeros((count + more, code.degree, 4), dtype=np.uint64))
    fill_rows(rows[:count], values, tail)
    rows[:count, width:] = elements(seed, count * tail, secret).reshape(count, tail, 4)
    if extra is not None:
        rows[count:] = extra
    words = secret(_code_words(code, rows, secret, threads))
    salts = np.frombuffer(stream(seed, SALTS, code.length * SEED_BYTES), dtype=np.uint8)
    salts = secret(salts.reshape(code.length, SEED_BYTES).copy())
    leaves = kernels.blake3.columns(words, merkle.LEAF_KEY, salts=salts, threads=threads)
    nodes = kernels.blake3.tree(leaves, merkle.NODE_KEY, threads)
    root = merkle.root(nodes[1].tobytes(), len(values), tail, code.log_degree, code.log_length)
    return Committed(code, rows, words, salts, nodes, Commitment(root, len(values), tail))


def fill_rows(rows: FrArray, values: FrArray, tail: int) -> None:
    """Values, uint64[n, 4], into the rows that they need, uint64[rows, degree, 4], but for the last ``tail``
    places of each. What they leave is not written to.
    """
    width = rows.shape[1] - tail
    full, left = divmod(len(values), width)
    rows[:full, :width] = values[: full * width].reshape(full, width, 4)
    if left:
        rows[full, :left] = values[full * width :]


def _code_words(code: Code, rows: FrArray, secret: Secrets, threads: int) -> FrArray:
    """uint64[rows, length, 4], canonical."""
    domain = kernels.Domain(code.log_length)
    if code.degree < domain.size // 4:
        narrow, rows = rows, secret(np.zeros((len(rows), domain.size // 4, 4), dtype=np.uint64))
        rows[:, : code.degree] = narrow
    return domain.encode(rows, threads)


def words_for(count: int) -> int:
    """So many words of a stream have ``count`` elements, but with probability 2^-120: nine of ten are."""
    return count + count // 4 + 64


def elements(seed: bytes, count: int, secret: Secrets) -> FrArray:
    """``count`` elements, as good as uniform: of the stream's words of 255 bits those that are below r.
    uint64[count, 4], Montgomery."""
    wanted = words_for(count)
    while True:
        words = np.frombuffer(stream(seed, TAILS, 32 * wanted), dtype="<u8")
        drawn = secret(words.reshape(-1, 4).copy())
        drawn[:, 3] &= _TOP_LIMB_MASK
        found = secret(drawn[fr.is_canonical(drawn)])
        if len(found) >= count:
            return secret(fr.from_canonical(found[:count]))
        wanted *= 2


def entries(array: NDArray[Any], size: int) -> list[bytes]:
    """Of ``size`` bytes each."""
    data = array.tobytes()
    return [data[i : i + size] for i in range(0, len(data), size)]


def to_bytes(values: FrArray, threads: int = 1) -> bytes:
    """Montgomery to canonical, little-endian."""
    return fr.to_canonical(values, threads).astype("<u8", copy=False).tobytes()
