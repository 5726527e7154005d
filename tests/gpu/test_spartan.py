"""Spartan's proofs made on the device are those that the processor makes, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench.synthetic import Shape, random_statement, random_witness
from tests.gpu.emulator.place import EMULATED
from tests.prover.statements import (
    COMMITTED_Z,
    CUBIC_Z,
    committed_statement,
    complete_committed,
    cubic_statement,
)
from tests.refusals import refuses
from zenserve.base.memory import Kept
from zenserve.base.randomness import Secrets
from zenserve.errors import StatementError
from zenserve.gpu.sumcheck import SUMS
from zenserve.kernels import FrArray, fr
from zenserve.prover.backends.gpu import backend
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.spartan import proving
from zenserve.prover.spartan.commitment import Linked, commit
from zenserve.prover.spartan.layout import SystemMatrices, sizes_of
from zenserve.prover.spartan.queries import Places
from zenserve.prover.spartan.sessions import gpu, workspace
from zenserve.verifier.spartan import shape as geometry
from zenserve.verifier.spartan.admission import shape_of
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.verification import verify

CODE = Code(FR, 9, 11)
Complete = Callable[[FrArray, FrArray], None]


def forget_workspaces() -> None:
    """And all else that is kept."""
    gpu.resident_systems(0)._kept.make_room(1 << 60)


class Case:
    """A statement, its witness, and commitments to its linked segments."""

    def __init__(self, system: ConstraintSystem, z: FrArray, complete: Complete | None = None) -> None:
        self.system, self.z, self._complete = system, z, complete
        self._secret = Secrets()
        self.linked = [
            commit(z[place.start : place.stop - 1], CODE, CODE.queries, bytes(32), secret=self._secret)
            for segment, place in zip(system.segments, system.segment_ranges, strict=True)
            if segment.linked
        ]
        self._links = [Linked(each.root, bytes(32)) for each in self.linked]
        self.shape = shape_of(sizes_of(system), CODE, [each.commitment for each in self.linked])

    def prove(self) -> bytes:
        return proving.prove(
            self.system, self.shape, self.z.copy(), linked=self._links, post_challenge=self._complete
        )

    def is_right(self, proof: bytes) -> bool:
        public = fr.to_ints(self.z[1 : 1 + self.system.public])
        roots = [each.root for each in self.linked]
        return verify(self.shape, SystemMatrices(self.system), public, roots, proof).valid


def cubic() -> Case:
    return Case(cubic_statement(), fr.from_ints(CUBIC_Z))


def committed() -> Case:
    """Of two segments one is linked."""
    return Case(committed_statement(), fr.from_ints(COMMITTED_Z), complete_committed)


def network(values: Shape = "network", log_rows: int = 10) -> Case:
    system = random_statement(log_rows)
    return Case(system, random_witness(system, values))


@pytest.mark.parametrize("make", [cubic, committed, network])
def test_proofs_are_those_of_the_processor(make: Callable[[], Case], use: Callable[[str], None]) -> None:
    """The first, whose launches are recorded, and those that replay them."""
    case, proofs = make(), []
    for name in ("cpu", "gpu", "gpu", "gpu"):
        use(name)
        proofs.append(case.prove())
    assert len(set(proofs)) == 1
    assert case.is_right(proofs[0])


def test_rows_are_folded_as_by_the_processor(
    use: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row of 2^9 numbers by way of 2^7 and 2^5."""
    for name, value in (("MOST_TOLD", 6), ("_LEAST_TOLD", 5), ("_ROW_VARIABLES", 2)):
        monkeypatch.setattr(geometry, name, value)
    case, proofs = network(log_rows=9), []  # whose system no other test has loaded
    assert case.shape.folding.rounds == (2, 2, 5)
    for name in ("cpu", "gpu", "gpu"):
        use(name)
        proofs.append(case.prove())
    assert len(set(proofs)) == 1
    assert case.is_right(proofs[0])


@pytest.mark.skipif(not EMULATED, reason="counts the emulated device's memory")
@pytest.mark.parametrize("make", [committed, network])
def test_memory_is_what_is_asked_for_before(make: Callable[[], Case], use: Callable[[str], None]) -> None:
    """Beside what blocks sum up, which is as much for the largest proofs."""
    use("gpu")
    case, device = make(), backend(0).device
    forget_workspaces()

    def taken(do: Callable[[], object]) -> int:
        device.release()
        before = device.held_bytes()
        do()
        return device.held_bytes() - before

    systems = gpu.resident_systems(0)
    assert (
        taken(lambda: systems.load(case.system, case.shape, 1))
        <= workspace.resident_bytes(case.system, case.shape) * 1.2
    )
    blocks = 32 * SUMS * (1 + 2 * (2 + len(case.shape.folding.rounds)))
    found, expected = taken(case.prove), workspace.workspace_bytes(case.system, case.shape)
    assert expected / 1.2 <= found - blocks <= expected * 1.2


def test_a_witness_that_fails_is_named_by_the_row(use: Callable[[str], None]) -> None:
    case, messages = network(), []
    case.z[-1] = fr.from_ints([5])[0]
    for name in ("cpu", "gpu"):
        use(name)
        with pytest.raises(StatementError) as refusal:
            case.prove()
        messages.append(refusal.value.message)
    assert messages[0] == messages[1]


def test_commitments_to_other_values_are_refused(use: Callable[[str], None]) -> None:
    case = committed()
    values = case.z[3:5].copy()
    values[0] = fr.from_ints([1])[0]
    other = commit(values, CODE, CODE.queries, bytes(32), secret=Secrets())
    case._links[0] = Linked(other.root, bytes(32))
    for name in ("cpu", "gpu"):
        use(name)
        with refuses("statement.openings"):
            case.prove()
    case._links = []
    with refuses("statement.openings"):
        case.prove()


def test_what_lasts_is_kept_and_erased(use: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs are the same; what makes way for others is zeros."""
    free, made = 1 << 40, []
    kept = Kept(1 << 20, lambda: free)
    monkeypatch.setattr(gpu.resident_systems(0), "_kept", kept)
    rows_of = gpu.GpuSession._rows_of

    def counting(session: gpu.GpuSession, *parts: Any) -> gpu.GpuRows:
        made.append(rows_of(session, *parts))
        return made[-1]

    monkeypatch.setattr(gpu.GpuSession, "_rows_of", counting)
    case, proofs = Case(committed_statement(lasting=True), fr.from_ints(COMMITTED_Z), complete_committed), []
    for name in ("cpu", "gpu", "gpu"):
        use(name)
        proofs.append(case.prove())
    assert len(set(proofs)) == 1
    assert len(made) == 2 * len(case.shape.parts) - 1
    words = made[0]._words
    made.clear()
    download = backend(0).device.download
    assert download(words).any()
    free = 0
    kept.make_room(1)
    assert not download(words).any()

    free = 1 << 40
    case.prove()
    case.z[3:5] = case.z[5]
    with refuses("statement.openings"):
        case.prove()


def test_what_is_read_is_not_erased(use: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may need the room before columns are opened, of what was just made and of what was there."""
    free = 1 << 40
    kept = Kept(1 << 20, lambda: free)
    monkeypatch.setattr(gpu.resident_systems(0), "_kept", kept)
    case = Case(committed_statement(lasting=True), fr.from_ints(COMMITTED_Z), complete_committed)
    use("gpu")
    case.prove()
    opened = gpu.GpuRows.open

    def crowded(made: gpu.GpuRows, at: Places) -> bytes:
        nonlocal free
        free = 0
        kept.make_room(1)
        free = 1 << 40
        return opened(made, at)

    monkeypatch.setattr(gpu.GpuRows, "open", crowded)
    for was_there in (True, False):
        assert (kept.taken > 0) is was_there
        assert case.is_right(case.prove())


def test_systems_make_way_for_others(use: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "_SYSTEMS", 1)
    use("gpu")
    for case in (cubic(), committed(), cubic()):
        assert case.is_right(case.prove())
