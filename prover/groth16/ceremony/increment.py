"""One contribution more, verified by the state before it: without the statement, the powers or the start."""

from __future__ import annotations

import os

from zenserve.errors import CeremonyError
from zenserve.prover.groth16.ceremony.state import State
from zenserve.prover.groth16.ceremony.verification import check


def load_next(path: str | os.PathLike[str], before: State, *, threads: int = 1) -> State:
    """The state in the file at ``path``, which must be ``before``, known to be right, and one contribution.

    What no contribution changes is compared with ``before``; points that changed are checked, and held
    against the start that both contain (``verification.check``). Raises what ``State.load`` and ``check``
    raise, and ``CeremonyError``: ``ceremony.origin`` for another ceremony's state, the part that differs as
    the field; ``ceremony.extends`` where it is not one contribution more, or extends others.
    """
    now = State.read(path)  # compared first: a stranger's may be long, and long to follow
    part = now.difference(before)
    if part is not None:
        raise CeremonyError(
            "ceremony.origin", f"this is the state of another ceremony: {part} differs", field=part
        )
    _require_extension(len(now.contributions) == len(before.contributions) + 1)
    now.examine(after=before, threads=threads)
    _require_extension(now.chain[1][:-1] == before.chain[1])
    check(now, threads=threads)
    return now


def _require_extension(holds: bool) -> None:
    if not holds:
        raise CeremonyError(
            "ceremony.extends",
            "this is not one contribution more to the ceremony's state: fetch that, and contribute to it",
            field="contributions",
        )
