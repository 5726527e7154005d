"""A proof ends where it is told to, and leaves nothing of its witness in memory, however it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.prover.statements import COMMITTED_Z, committed_statement, complete_committed
from tests.refusals import refuses
from zenserve.base.progress import silent
from zenserve.kernels import FrArray, fr
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.spartan import proving, system
from zenserve.prover.spartan.commitment import Committed
from zenserve.prover.spartan.sessions import cpu
from zenserve.prover.spartan.system import Spartan

STAGES = ["commit", "outer", "inner", "open"]


class Cancelled(Exception):  # noqa: N818  nothing is wrong
    pass


class Listener:
    """Raises ``Cancelled`` when the stage ``stop_at`` reports."""

    def __init__(self, stop_at: str | None = None) -> None:
        self.stages: list[str] = []
        self._stop_at = stop_at

    def __call__(self, stage: str, fraction: float) -> None:
        self.stages.append(stage)
        if stage == self._stop_at:
            raise Cancelled


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What follows from the witness, or hides it: the copy that is completed, rows with their tails and
    masks, salts, code words, pads, and the constraints' sums. Each is more than zeros when it is made.
    """
    found: list[Any] = []

    def spy(module: Any, name: str, arrays: Callable[[Any], list[Any]]) -> None:
        real = getattr(module, name)

        def noted(*arguments: Any, **options: Any) -> Any:
            made = real(*arguments, **options)
            assert all(array.any() for array in arrays(made))
            found.extend(arrays(made))
            return made

        monkeypatch.setattr(module, name, noted)

    def of(committed: Committed) -> list[Any]:
        words = [] if committed.encoded is None else [committed.encoded.words]
        return [committed.rows, committed.salts, *words]

    spy(system, "duplicate", lambda z: [z])
    for module in (cpu, proving):
        spy(module, "commit", of)
    spy(cpu, "linked_to", of)
    spy(ConstraintSystem, "evaluate", list)
    return found


@pytest.fixture(scope="module")
def prove(tmp_path_factory: pytest.TempPathFactory) -> Callable[[FrArray, Listener], bytes]:
    spartan, statement = Spartan(), committed_statement()
    folder: Path = tmp_path_factory.mktemp("erasure")
    spartan.commitments.make_key(folder / "basis", 8, 1, None)
    basis = spartan.commitments.load_key(folder / "basis")
    spartan.setup(statement, folder / "key", basis=basis, threads=1, progress=silent)
    key, z = spartan.load_key(folder / "key"), fr.from_ints(COMMITTED_Z)
    openings = [basis.commit(z[3:5]), basis.commit(z[6:7])]

    def made(witness: FrArray, listener: Listener) -> bytes:
        return spartan.prove(
            key,
            statement,
            witness,
            openings=openings,
            post_challenge=complete_committed,
            threads=1,
            progress=listener,
        )

    return made


@pytest.mark.parametrize("stage", [None, *STAGES])
def test_nothing_is_left_where_it_stops(prove: Any, secrets: list[Any], stage: str | None) -> None:
    witness, listener = fr.from_ints(COMMITTED_Z), Listener(stage)
    if stage is None:
        prove(witness, listener)
    else:
        with pytest.raises(Cancelled):
            prove(witness, listener)
    reached = len(STAGES) if stage is None else STAGES.index(stage) + 1
    assert listener.stages == STAGES[:reached]
    # The copy; rows and salts of two commitments, both with code words of a segment, the private variables
    # and the pads; three sums.
    counted = 1 + 2 * 2 + 3 * 3
    assert len(secrets) == (1 if reached == 1 else counted + 3 * (reached > 2))
    assert not any(array.any() for array in secrets)
    assert fr.to_ints(witness) == list(COMMITTED_Z)


def test_nothing_is_left_of_a_wrong_witness(prove: Any, secrets: list[Any]) -> None:
    wrong = fr.from_ints([*COMMITTED_Z[:8], COMMITTED_Z[8] + 1, *COMMITTED_Z[9:]])
    with refuses("statement.unsatisfied"):
        prove(wrong, Listener())
    assert len(secrets) > 10
    assert not any(array.any() for array in secrets)
