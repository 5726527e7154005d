"""What goes to the device and back."""

from __future__ import annotations

import numpy as np
import pytest

from gpu import device

MIB = 1 << 17  # words


@pytest.mark.parametrize("words", [0, 1, MIB - 1, MIB, MIB + 1, 40 * MIB + 3])
def test_copies_of_any_length_arrive_whole(words: int) -> None:
    host = np.arange(1, words + 1, dtype=np.uint64)
    target = device.zeros(words + 1, np.uint64)
    for _ in range(2):
        source = host.copy()
        device.copy(source, target[:words])
        source.fill(0)
        arrived = device.download(target)
        np.testing.assert_array_equal(arrived[:words], host)
        assert arrived[words] == 0
