"""Commitments whose code words stay between proofs: the same proofs, for memory that nobody else needs."""

from __future__ import annotations

import secrets
from functools import partial
from random import Random

import numpy as np
import pytest

from tests.prover.spartan.test_proofs import Case
from tests.prover.statements import COMMITTED_Z, R, committed_statement, complete_committed
from tests.refusals import refuses
from zenserve.base import memory
from zenserve.base.memory import Kept
from zenserve.base.randomness import Secrets
from zenserve.kernels import FrArray, fr
from zenserve.prover.spartan import commitment, proving
from zenserve.prover.spartan.commitment import Committed, Linked, linked_to
from zenserve.prover.spartan.layout import rows_for
from zenserve.prover.spartan.system import CommitmentKey

FREE = 1 << 34


class Memory:
    """What is free, in bytes, and what is kept in it."""

    def __init__(self) -> None:
        self.free = FREE
        self.kept = Kept(1 << 30, lambda: self.free)


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Memory:
    found = Memory()
    monkeypatch.setattr(commitment, "KEPT", found.kept)
    return found


@pytest.fixture
def case() -> Case:
    return Case(committed_statement(lasting=True), COMMITTED_Z, complete_committed)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were encoded, each time."""
    counts = list[int]()
    encode = commitment.encode

    def counting(code: object, rows: FrArray, *rest: object) -> None:
        counts.append(len(rows))
        encode(code, rows, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(commitment, "encode", counting)
    return counts


def seeded(case: Case, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A proof, whose randomness begins anew."""
    rng = Random(8)
    with monkeypatch.context() as patch:
        drawn = lambda count: fr.from_ints(rng.randrange(R) for _ in range(count))  # noqa: E731
        patch.setattr(proving, "random_elements", drawn)
        patch.setattr(secrets, "token_bytes", rng.randbytes)
        return case.prove()


def kept_of(room: Memory, case: Case) -> Committed | None:
    key = commitment.key_of(case.links[0], case.shape.code, case.shape.parts[0].tail)
    found: Committed | None = room.kept.get(key)
    return found


def test_proofs_are_the_same(
    case: Case, room: Memory, encoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is encoded and kept, of what was kept, and of what nobody keeps."""
    first = seeded(case, monkeypatch)
    assert case.reason(first) == "ok"
    all_of_them, encoded[:] = len(encoded), []
    assert seeded(case, monkeypatch) == first
    assert len(encoded) == all_of_them - 1
    room.free, encoded[:] = 0, []
    room.kept.make_room(1)
    for _ in range(2):
        assert seeded(case, monkeypatch) == first
    assert len(encoded) == 2 * all_of_them


def test_only_what_lasts_is_kept(case: Case, room: Memory) -> None:
    """Weights, which whoever proves holds anyway; inputs are gone with their proof."""
    case.prove()
    found = kept_of(room, case)
    assert found is not None
    assert room.kept.free() == FREE + found.nbytes


def test_what_makes_way_is_erased(case: Case, room: Memory) -> None:
    case.prove()
    found = kept_of(room, case)
    assert found is not None
    assert found.encoded is not None
    arrays = found.rows, found.salts, found.encoded.words
    room.free = 0
    room.kept.make_room(1)
    assert kept_of(room, case) is None
    assert all(array.any() for array in arrays)  # by whom it is in use
    del found
    assert not any(array.any() for array in arrays)


def test_what_is_about_others_stays(case: Case, room: Memory) -> None:
    other = Case(committed_statement(lasting=True), COMMITTED_Z, complete_committed)
    for each in (case, other):
        each.prove()
    found, (model, _) = kept_of(room, case), case.links
    assert found is not None
    array, taken = found.rows, room.kept.taken
    del found
    assert memory.kept_commitments() >= {model.root, other.links[0].root} == room.kept.commitments()
    memory.forget({model.root, case.links[1].root, bytes(32)})
    assert room.kept.commitments() == {other.links[0].root}
    assert room.kept.taken == taken // 2
    assert not array.any()
    assert case.reason(case.prove()) == "ok"


def test_other_values_are_refused(case: Case, room: Memory) -> None:
    """When they are encoded to be kept, and beside what is kept."""
    z = list(case.z)
    z[3] = (z[3] + 1) % R
    for proven in (False, True):
        if proven:
            case.prove()
        with refuses("statement.openings"):
            case.prove(z)
        assert (kept_of(room, case) is not None) is proven


def test_nothing_is_held_that_does_not_count() -> None:
    """Until it is erased: tails are in the rows."""
    own, rows = Secrets(), rows_for(40)
    made = commitment.commit(fr.from_int64(np.arange(40)), rows.code, rows.tail, bytes(32), secret=own)
    assert made.encoded is not None
    held = [each for each in own._arrays if isinstance(each, np.ndarray)]
    assert sum(each.nbytes for each in held) == made.nbytes - made.encoded.nodes.nbytes


def test_memory_is_left_to_others() -> None:
    free = 100
    kept = Kept(50, lambda: free - sum(alive.values()))
    alive = dict[str, int]()

    class Value:
        def __init__(self, name: str, nbytes: int) -> None:
            self.nbytes = nbytes
            alive[name] = nbytes
            kept.keep(name, self, partial(alive.__delitem__, name))

    assert kept.admits(50, 50)
    assert not kept.admits(51, 0)
    assert not kept.admits(10, 91)
    for name in "abc":
        assert kept.admits(20, 40)
        Value(name, 20)
    assert list(alive) == ["b", "c"]
    assert kept.free() == 100
    kept.make_room(60)
    assert list(alive) == ["b", "c"]
    kept.make_room(61)
    assert list(alive) == ["c"]
    kept.make_room(1000)
    assert not alive


def test_what_is_kept_counts_as_free(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(1 << 20, lambda: 1000)
    monkeypatch.setattr(memory, "KEPT", kept)
    value = np.zeros(125)
    kept.keep("zeros", value, lambda: None)
    assert memory.free_memory() == 2000


def test_a_renewal_reads_what_is_kept(room: Memory, encoded: list[int]) -> None:
    """The old matrix: the new one is encoded, the masks, and what is folded. The new one is kept then."""
    values, counts = fr.from_int64(np.arange(40)), list[int]()
    rows = rows_for(40)
    key, shape = CommitmentKey(rows), (rows.code, rows.tail)
    opening = key.commit(values)
    for kept in (False, True):
        if kept:
            linked_to(values, *shape, Linked(*opening.current), secret=Secrets(), beside=0)
        encoded[:] = []
        renewed = key.renew(opening, values)
        counts.append(len(encoded))
        found = room.kept.get(commitment.key_of(Linked(*renewed.current), *shape))
        assert (found is not None) is kept
    assert counts[1] == counts[0] - 1
    assert found.root == renewed.root
    assert found.holds(values)
    assert found.rows.any()
