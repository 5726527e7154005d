"""Matrices by rows, and streams that fill them, against numpy and the blake3 package."""

from __future__ import annotations

import numpy as np
import pytest
from blake3 import blake3

from tests.gpu.known import device
from tests.kernels.strategies import R
from zenserve.gpu import hashing, rows
from zenserve.kernels import fr

KEY = bytes(range(32))


def _bytes(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(data, np.uint8)


# One block, one chunk, two, an odd number on several levels, more than a block merges.
@pytest.mark.parametrize("count", [1, 2, 3, 32, 33, 64, 65, 32 * 7 - 5, 32 * 300 + 1])
def test_elements_are_hashed_as_bytes(count: int) -> None:
    values = fr.from_ints([pow(3, i, R) for i in range(count)])
    message = fr.to_canonical(values).astype("<u8").tobytes()
    found = device.empty(32, np.uint8)
    hashing.of_elements(device, device.upload(values), device.upload(_bytes(KEY)), found)
    assert device.download(found).tobytes() == blake3(message, key=KEY).digest()


@pytest.mark.parametrize("context", ["", "zenserve spartan 1: tails", "x" * 64])
def test_streams(context: str) -> None:
    found = device.empty(64 * 131, np.uint8)
    hashing.Context(device, context).expand(device.upload(_bytes(KEY)), found)
    assert device.download(found).tobytes() == blake3(KEY, derive_key_context=context).digest(length=64 * 131)


@pytest.mark.parametrize(("count", "tail"), [(37, 3), (12, 0), (13, 5), (1, 12)])
def test_rows_have_values_and_tails(count: int, tail: int) -> None:
    degree = 13
    width = degree - tail
    many = -(-count // width)
    values = fr.from_ints(list(range(1, count + 1)))
    stream = np.random.default_rng(count).integers(0, 1 << 64, (2 * many * tail + 20, 4), dtype=np.uint64)
    matrix = device.empty((many, degree, 4), np.uint64)
    rows.lay_out(device, device.upload(values), width, matrix)
    rows.fill_tails(device, device.upload(stream), tail, matrix)
    plain = [int.from_bytes(word.tobytes(), "little") % 2**255 for word in stream]
    elements = [word for word in plain if word < R]
    expected = [*range(1, count + 1), *[0] * (many * width - count)]
    for index, row in enumerate(device.download(matrix)):
        own = expected[index * width : (index + 1) * width] + elements[index * tail : (index + 1) * tail]
        assert fr.to_ints(row) == own


def test_rows_are_extended_and_columns_gathered() -> None:
    matrix = fr.from_ints(list(range(R - 18, R))).reshape(3, 6, 4)
    extended = device.empty((3, 16, 4), np.uint64)
    rows.extend(device, device.upload(matrix), extended)
    expected = np.zeros((3, 16, 4), np.uint64)
    expected[:, :6] = fr.to_canonical(matrix)
    np.testing.assert_array_equal(device.download(extended), expected)
    places = np.array([0b1000, 0b1010, 0b1000, 0b1100], np.uint32)
    turned = [0b0001, 0b0101, 0b0001, 0b0011]
    columns = expected[:, turned].swapaxes(0, 1).copy().view(np.uint8).reshape(12, 32)
    salts, nodes = np.random.default_rng(6).integers(0, 256, (2, 32, 32), dtype=np.uint8)
    wanted = device.upload(np.array([*places, 30, 2], np.uint32))
    for own, first in ((None, salts[:0]), (device.upload(salts), salts[places])):
        found = rows.open_columns(device, own, extended, device.upload(nodes), wanted, 4)
        np.testing.assert_array_equal(
            device.download(found), np.concatenate([first, columns, nodes[[30, 2]]])
        )
    sparse = device.upload(np.ones((16, 4), np.uint64))
    rows.scatter(device, device.upload(matrix[0, :3]), device.upload(places[1:]), sparse)
    expected = np.zeros((16, 4), np.uint64)
    expected[turned[1:]] = matrix[0, :3]
    np.testing.assert_array_equal(device.download(sparse), expected)
