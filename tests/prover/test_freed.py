"""Memory that a process has freed, held for what it does next."""

from __future__ import annotations

import resource

import numpy as np

from tests.prover.test_memory import SPAWN, status
from zenserve.base.memory import FREED

_SIZE = 1 << 27


def held() -> dict[str, int]:
    FREED.hold()
    before = status("VmRSS")
    _work()
    found = {"freed": status("VmRSS") - before, "taken": FREED.taken}
    found["again"] = _work()
    kept = np.ones(_SIZE >> 1, np.uint8)
    found["half"] = FREED.taken
    FREED.give_back()
    found["returned"], found["left"] = status("VmRSS") - before, FREED.taken
    found["anew"] = _work()
    found["then"] = FREED.taken
    del kept
    found["all"] = FREED.taken
    return found


def _work() -> int:
    """How many pages were faulted in for it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(_SIZE, np.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_what_is_freed_is_held_counted_and_given_back() -> None:
    with SPAWN.Pool(1) as pool:
        found: dict[str, int] = pool.apply(held)
    about = _SIZE >> 4
    assert abs(found["freed"] - _SIZE) < about
    assert abs(found["taken"] - _SIZE) < about
    assert found["again"] < 16
    assert abs(found["half"] - _SIZE // 2) < about
    assert abs(found["returned"] - _SIZE // 2) < about
    assert found["left"] < about
    assert found["anew"] > 16  # of 2 MiB at least each
    assert abs(found["then"] - _SIZE) < about
    assert abs(found["all"] - 3 * _SIZE // 2) < about
