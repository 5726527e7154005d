"""One contribution more, verified by the state before it: without the statement, the powers or the start."""

from __future__ import annotations

import os

import numpy as np

from prover.ceremony.state import FIXED, State
from prover.ceremony.verification import check
from zenerrors import CeremonyError


def load_next(path: str | os.PathLike[str], before: State, *, threads: int = 1) -> State:
    """The state in the file at ``path``, which must be ``before``, known to be right, and one contribution.

    What no contribution changes is compared with ``before``; points that changed are checked, and held
    against the start that both contain (``verification.check``). Raises what ``State.load`` and ``check``
    raise, and ``CeremonyError``: ``ceremony.origin`` for another ceremony's state, the part that differs as
    the field; ``ceremony.extends`` where it is not one contribution more, or extends others.
    """
    now = State.load(path, after=before, threads=threads)
    for name in (*FIXED, "statement_digest", "powers_contributions", "challenges", "shapes"):
        if not np.array_equal(getattr(now, name), getattr(before, name)):
            raise CeremonyError(
                "ceremony.origin", f"this is the state of another ceremony: {name} differs", field=name
            )
    _, earlier = before.chain
    _, hashes = now.chain
    if hashes[:-1] != earlier or len(hashes) != len(earlier) + 1:
        raise CeremonyError(
            "ceremony.extends",
            "this is not one contribution more to the ceremony's state: fetch that, and contribute to it",
            field="contributions",
        )
    check(now, threads=threads)
    return now
