"""Queries to openings and their answers, computed for all places at once. ``zenserve.verifier.spartan``
computes the same one by one."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.kernels import FrArray, fr
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import WIDE
from zenserve.verifier.spartan.transcript import Transcript

Places = NDArray[np.uint32]
"""Of columns, ascending."""

_PART: Final = 31
"""Bytes of a number that are below the modulus whatever they are."""


def places(transcript: Transcript, label: str, code: Code) -> Places:
    """``Transcript.places``, as many as the code has queries."""
    count, mask = code.queries, np.uint32(code.length - 1)
    numbers = np.frombuffer(transcript.draw(label, 8 * count), "<u4") & mask
    found, first = np.unique(numbers, return_index=True)
    while len(found) < count:
        numbers = np.frombuffer(transcript.draw_again(8 * len(numbers)), "<u4") & mask
        found, first = np.unique(numbers, return_index=True)
    last = np.partition(first, count - 1)[count - 1]
    return np.asarray(found[first <= last], np.uint32)


def weights(transcript: Transcript, count: int) -> FrArray:
    """``Transcript.challenges``: uint64[count, 4], Montgomery."""
    drawn = np.frombuffer(transcript.draw("weights", WIDE * count), np.uint8).reshape(count, WIDE)
    parts = np.zeros((-(-WIDE // _PART), count, 32), np.uint8)
    for index, part in enumerate(parts):
        own = drawn[:, index * _PART : (index + 1) * _PART]
        part[:, : own.shape[1]] = own
    lowest, *higher = fr.from_canonical(parts.view("<u8"))
    for part, power in zip(higher, _POWERS, strict=True):
        lowest = fr.add(lowest, fr.mul(part, power))
    return np.asarray(lowest)


def siblings(places: Places, log_leaves: int) -> Places:
    """``zenserve.verifier.spartan.merkle.siblings``"""
    levels = np.arange(log_leaves, dtype=np.uint32)[:, np.newaxis]
    nodes = (places + np.uint32(1 << log_leaves)) >> levels
    # Of equal nodes of a level, which stand side by side, an even one is taken at the last, an odd one at the
    # first: beside it stands its sibling then, if it is there.
    beside = np.zeros((log_leaves, len(places) + 2), np.uint32)
    beside[:, 1:-1] = nodes
    odd = (nodes & 1).astype(bool)
    other = np.where(odd, beside[:, :-2], beside[:, 2:])
    return np.asarray((nodes ^ 1)[(other != nodes) & (other != nodes ^ 1)])


def columns(entries: FrArray) -> NDArray[np.uint8]:
    """uint8[places, bytes], of a matrix's entries at some places, uint64[rows, places, 4], canonical."""
    by_place = entries.swapaxes(0, 1).astype("<u8", order="C")
    return by_place.reshape(len(by_place), -1).view(np.uint8)


def opening(salts: NDArray[np.uint8] | None, columns: NDArray[np.uint8], path: NDArray[np.uint8]) -> bytes:
    """``zenserve.verifier.spartan.proof.Opening.to_bytes``: uint8[places, 32], [places, bytes] and [siblings,
    32].
    """
    opened = columns if salts is None else np.concatenate([salts, columns], axis=1)
    return opened.tobytes() + path.tobytes()


_POWERS: Final = fr.from_ints(1 << 8 * _PART * index for index in range(1, -(-WIDE // _PART)))
