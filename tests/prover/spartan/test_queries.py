"""What openings are asked for, all at once, is what the verifier says of it one by one."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from zenserve.kernels import fr
from zenserve.prover.spartan.queries import places, siblings, weights
from zenserve.verifier.spartan import merkle
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.transcript import Transcript


@pytest.mark.parametrize("code", [Code(FR, 6, 18), Code(FR, 5, 8), Code(FR, 2, 4, 3), Code(FR, 1, 3, 8)])
def test_places(code: Code) -> None:
    """Of small domains the first bytes have too few different ones."""
    for index in range(20):
        fast, slow = (Transcript(FR, bytes([index])) for _ in range(2))
        wanted = slow.places("columns", code.queries, code.log_length)
        assert places(fast, "columns", code).tolist() == wanted
        assert fast.state == slow.state


def test_weights() -> None:
    fast, slow = (Transcript(FR, b"") for _ in range(2))
    assert fr.to_ints(weights(fast, 77)) == slow.challenges("weights", 77)
    assert fast.state == slow.state


@pytest.mark.parametrize(("count", "log_leaves"), [(1, 1), (1, 9), (2, 1), (8, 3), (5, 4), (40, 6), (99, 18)])
def test_siblings(count: int, log_leaves: int) -> None:
    random = Random(count)
    for _ in range(10):
        chosen = sorted(random.sample(range(1 << log_leaves), count))
        found = siblings(np.array(chosen, np.uint32), log_leaves)
        assert found.dtype == np.uint32
        assert found.tolist() == merkle.siblings(chosen, log_leaves)
