from __future__ import annotations

import numpy as np
import pytest

from zenserve import kernels
from zenserve.base.randomness import Secrets, random_elements

R = kernels.fr.modulus


def test_elements_are_canonical_and_differ() -> None:
    elements = random_elements(5000)
    assert elements.shape == (5000, 4)
    assert elements.dtype == np.uint64
    values = [int.from_bytes(row.tobytes(), "little") for row in elements]
    assert max(values) < R
    assert len(set(values)) == 5000


def test_elements_fill_the_whole_range_evenly() -> None:
    # Chi-squared over 64 equal slices of [0, r); 63 degrees of freedom exceed 140 less than once in 10^7.
    values = [int.from_bytes(row.tobytes(), "little") for row in random_elements(64_000)]
    counts = np.bincount([value * 64 // R for value in values], minlength=64)
    assert ((counts - 1000) ** 2 / 1000).sum() < 140


def test_no_elements() -> None:
    assert random_elements(0).shape == (0, 4)


def test_a_short_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Short:
        def __enter__(self) -> Short:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def readinto(self, buffer: memoryview) -> int:
            return buffer.nbytes - 1

    monkeypatch.setattr("builtins.open", lambda *_, **__: Short())
    with pytest.raises(OSError, match="too little randomness"):
        random_elements(2)


def test_secrets_are_zeroed_when_the_block_ends() -> None:
    with Secrets() as secret:
        kept = secret(random_elements(3))
        assert kept.any()
    assert not kept.any()


@pytest.mark.parametrize("rows", [1, 5])
def test_large_secrets_are_zeroed_on_several_threads(rows: int) -> None:
    secret = Secrets()
    kept = secret(np.ones((rows, 1 << 20), dtype=np.uint64))
    secret.erase(3)
    assert not kept.any()


def test_secrets_are_zeroed_beside_one_that_cannot_be() -> None:
    secret = Secrets()
    kept, fixed, other = (secret(random_elements(3)) for _ in range(3))
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"), secret:
        pass
    assert not kept.any()
    assert not other.any()


def test_secrets_are_zeroed_when_the_block_fails() -> None:
    kept = random_elements(3)

    def fail() -> None:
        with Secrets() as secret:
            secret(kept)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not kept.any()


def test_a_view_wipes_its_part_of_the_array() -> None:
    whole = np.ones((3, 4), dtype=np.uint64)
    with Secrets() as secret:
        secret(whole[1])
    assert whole.any(axis=1).tolist() == [True, False, True]
