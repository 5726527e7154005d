"""BLAKE2b (RFC 7693) taken up where somebody else left it, which ``hashlib`` cannot.

A ``.ptau`` file keeps of each contribution the state of a hash over what was handed to the contributor; the
contributor's own points are its last bytes.
"""

from __future__ import annotations

import struct
from typing import Final

STATE_BYTES: Final = 216
"""The block so far (128), h (8 u64), how many bytes went before the block, and how many are in it (u64)."""

_BLOCK_BYTES, _MASK = 128, (1 << 64) - 1
_STATE = struct.Struct("<128s8QQQ8x")
_IV = (
    0x6A09E667F3BCC908,
    0xBB67AE8584CAA73B,
    0x3C6EF372FE94F82B,
    0xA54FF53A5F1D36F1,
    0x510E527FADE682D1,
    0x9B05688C2B3E6C1F,
    0x1F83D9ABFB41BD6B,
    0x5BE0CD19137E2179,
)
_ORDER = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)
COLUMNS_AND_DIAGONALS: Final = (
    (0, 4, 8, 12),
    (1, 5, 9, 13),
    (2, 6, 10, 14),
    (3, 7, 11, 15),
    (0, 5, 10, 15),
    (1, 6, 11, 12),
    (2, 7, 8, 13),
    (3, 4, 9, 14),
)
"""Of a state of 4 by 4 words: what a round mixes. BLAKE2 has it from ChaCha."""


def finish(state: bytes, rest: bytes) -> bytes:
    """The digest, 64 bytes, of what ``state`` (216 bytes) is the state after, and then ``rest``.

    Raises ``ValueError`` for a state that says that more is in its block than fits.
    """
    block, *h, before, inside = _STATE.unpack(state)
    if inside > _BLOCK_BYTES:
        raise ValueError("a block of BLAKE2b holds 128 bytes")
    data = block[:inside] + rest
    # The last block is compressed differently, so a full one waits for what follows it.
    while len(data) > _BLOCK_BYTES:
        before += _BLOCK_BYTES
        h = _compress(h, data[:_BLOCK_BYTES], before, last=False)
        data = data[_BLOCK_BYTES:]
    h = _compress(h, data.ljust(_BLOCK_BYTES, b"\0"), before + len(data), last=True)
    return struct.pack("<8Q", *h)


def _compress(h: list[int], block: bytes, count: int, *, last: bool) -> list[int]:
    """RFC 7693, section 3.2. ``count``: all bytes up to here."""
    m = struct.unpack("<16Q", block)
    v = [*h, *_IV]
    v[12] ^= count & _MASK
    v[13] ^= (count >> 64) & _MASK
    v[14] ^= _MASK if last else 0
    for step in range(12):
        order = _ORDER[step % 10]
        for i, (a, b, c, d) in enumerate(COLUMNS_AND_DIAGONALS):
            _mix(v, a, b, c, d, m[order[2 * i]], m[order[2 * i + 1]])
    return [x ^ y ^ z for x, y, z in zip(h, v[:8], v[8:], strict=True)]


def _mix(v: list[int], a: int, b: int, c: int, d: int, x: int, y: int) -> None:
    v[a] = (v[a] + v[b] + x) & _MASK
    v[d] = _rotated(v[d] ^ v[a], 32)
    v[c] = (v[c] + v[d]) & _MASK
    v[b] = _rotated(v[b] ^ v[c], 24)
    v[a] = (v[a] + v[b] + y) & _MASK
    v[d] = _rotated(v[d] ^ v[a], 16)
    v[c] = (v[c] + v[d]) & _MASK
    v[b] = _rotated(v[b] ^ v[c], 63)


def _rotated(word: int, by: int) -> int:
    return (word >> by | word << (64 - by)) & _MASK
