"""Keys and proofs made on the device are those that the processor makes, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import fields
from functools import cache
from time import sleep
from typing import Any

import numpy as np
import pytest

from bench.synthetic import random_statement, random_witness
from tests.gpu.emulator.place import EMULATED
from tests.prover import verifiers
from tests.prover.segments import TRAPDOOR, setup_with
from tests.prover.statements import (
    COMMITTED_Z,
    CUBIC_Z,
    IDLE_Z,
    commitment_basis,
    committed_statement,
    complete_committed,
    cubic_statement,
    idle_statement,
)
from tests.refusals import refuses
from zenserve.errors import StatementError
from zenserve.gpu.device import Stream, missing
from zenserve.kernels import FrArray, fr
from zenserve.prover import backends, groth16
from zenserve.prover.backends import gpu
from zenserve.prover.blocks import Csr, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import CommitmentKey, Opening, PostChallenge, Proof, ProvingKey
from zenserve.prover.groth16.sessions import gpu as sessions
from zenserve.prover.groth16.sessions import resident
from zenserve.prover.groth16.sessions.gpu import ResidentKeys, resident_keys
from zenserve.prover.groth16.sessions.resident import PROOFS_AT_ONCE


class Case:
    """A statement, its witness, and what else its keys and proofs take."""

    def __init__(
        self,
        system: ConstraintSystem,
        z: FrArray,
        basis: CommitmentKey | None = None,
        openings: tuple[Opening, ...] = (),
        post_challenge: PostChallenge | None = None,
    ) -> None:
        self.statement = system
        self.z = z
        self.basis = basis
        self.openings = openings
        self.post_challenge = post_challenge

    def setup(self) -> ProvingKey:
        return setup_with(TRAPDOOR, self.statement, self.basis)

    def prove(self, key: ProvingKey, z: FrArray | None = None) -> Proof:
        return groth16.prove(
            key,
            self.statement,
            self.z if z is None else z,
            openings=self.openings,
            post_challenge=self.post_challenge,
        )


def cubic() -> Case:
    return Case(cubic_statement(), fr.from_ints(CUBIC_Z))


def committed() -> Case:
    basis, z = commitment_basis(4), fr.from_ints(COMMITTED_Z)
    openings = (basis.commit(z[3:5]), basis.commit(z[6:7]))
    return Case(committed_statement(), z, basis, openings, complete_committed)


def idle() -> Case:
    return Case(idle_statement(), fr.from_ints(IDLE_Z))


def network() -> Case:
    system = random_statement(6)
    return Case(system, random_witness(system, "network"))


def bare() -> Case:
    """No constraints at all: only the rows that anchor inputs."""
    return Case(ConstraintSystem(public=1, private=1, blocks=()), fr.from_ints([1, 5, 7]))


CASES = (cubic, committed, idle, network, bare)
SAMPLE = [pytest.param(make, marks=() if make is committed else pytest.mark.large) for make in CASES]


def keys() -> ResidentKeys:
    return resident_keys(0)


@pytest.mark.parametrize("make", SAMPLE)
def test_keys_and_proofs_are_those_of_the_processor(
    make: Callable[[], Case], use: Callable[[str], None]
) -> None:
    case, made, proofs = make(), [], []
    for name in ("cpu", "gpu"):
        use(name)
        made.append(case.setup())
        proofs.append(case.prove(made[-1]))
    for field in fields(ProvingKey)[1:]:
        own, other = (getattr(key, field.name) for key in made)
        np.testing.assert_array_equal(own, other, err_msg=field.name)
    assert made[0].verifying_key == made[1].verifying_key
    assert proofs[0].to_bytes() == proofs[1].to_bytes()
    public = fr.to_ints(case.z[1 : 1 + case.statement.public])
    outside = [opening.commitment for opening in case.openings]
    assert verifiers.verify(made[1].verifying_key, public, proofs[1], outside).valid


def test_a_witness_that_fails_is_named_by_the_row(use: Callable[[str], None]) -> None:
    case = network()
    use("cpu")
    key = case.setup()
    wrong = case.z.copy()
    wrong[-1] = fr.from_ints([5])[0]
    messages = []
    for name in ("cpu", "gpu"):
        use(name)
        with pytest.raises(StatementError) as refusal:
            case.prove(key, wrong)
        messages.append(refusal.value.message)
    assert messages[0] == messages[1]


def test_a_key_stays_on_the_device_as_long_as_it_is_held(use: Callable[[str], None]) -> None:
    case = cubic()
    use("cpu")
    key = case.setup()
    use("gpu")
    stages: list[str] = []
    for _ in range(2):
        proof = groth16.prove(key, case.statement, case.z, progress=lambda stage, _: stages.append(stage))
        assert verifiers.verify(key.verifying_key, CUBIC_Z[1:3], proof).valid
    assert stages.count("load key") == 1
    held = len(keys().keys)
    del key
    assert len(keys().keys) == held - 1


def _remembering(allocate: Callable[..., Any], arrays: list[Any]) -> Callable[..., Any]:
    def remember(*arguments: Any) -> Any:
        arrays.append(allocate(*arguments))
        return arrays[-1]

    return remember


def long_row() -> Case:
    """A row of so many entries that its carries are carried further."""
    count = 200
    places = np.arange(count)
    entries = Csr.from_entries(1, np.zeros_like(places), 2 + places, np.ones_like(places))
    one, total = (Csr.selection(np.array([column])) for column in (0, 1))
    block = SparseBlock("long", entries, one, total)
    z = fr.from_ints([1, 7 * count, *[7] * count])
    return Case(ConstraintSystem(public=1, private=count, blocks=(block,)), z)


@pytest.mark.skipif(not EMULATED, reason="looks into the emulated device's memory")
@pytest.mark.parametrize("make", [network, long_row])
def test_the_witness_is_erased_on_the_device(
    make: Callable[[], Case], use: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    device = gpu.backend(0).device
    case = make()
    use("cpu")
    key = case.setup()
    use("gpu")
    arrays: list[Any] = []
    case.prove(key)
    for name in ("empty", "zeros"):
        monkeypatch.setattr(device, name, _remembering(getattr(device, name), arrays))
    case.prove(key)
    values = [array for array in arrays if array.dtype == np.uint64 and array.shape[-1:] == (4,)]
    assert len(values) >= 4
    assert not any(device.download(array).any() for array in values)


def test_backends_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    case = cubic()
    monkeypatch.setattr(backends, "_missing_gpu", lambda _: "no driver")
    for value, code in (("cuda", "backend"), ("gpu:x", "backend"), ("gpu", "no_gpu"), ("gpu:9", "no_gpu")):
        monkeypatch.setenv(backends.VARIABLE, value)
        with refuses(f"resource.{code}") as refusal:
            case.setup()
        assert backends.VARIABLE in refusal.value.message
    monkeypatch.setenv(backends.VARIABLE, "auto")
    assert backends.chosen().name == "cpu"


@pytest.mark.large
@pytest.mark.parametrize("few", [True, False])
def test_keys_make_do_with_the_memory_there_is(
    few: bool, use: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few multiples, none, the points streamed in pieces, and a clear error without room for the rows."""
    case, device = network(), gpu.backend(0).device
    use("cpu")
    key = case.setup()
    expected = case.prove(key).to_bytes()
    parts = resident.ResidentKey(device, key, case.statement)
    points = sum(part.least_bytes for part in parts.sums)
    others = parts.wanted_bytes - parts.table_bytes
    monkeypatch.setattr(resident, "_PIECE", 32)
    allocated = []
    for tables in (
        (parts.table_bytes, 0) if few else (parts.table_bytes, (points + parts.table_bytes) // 2, points, 0)
    ):
        free = others + tables
        use("gpu")
        keys().keys.clear()
        monkeypatch.setattr(device, "free_bytes", lambda free=free: free)
        assert case.prove(key).to_bytes() == expected
        allocated.append(sum(part.table_bytes for part in keys().keys[key].sums))
    assert allocated == sorted(set(allocated), reverse=True)
    assert allocated[-1] == 0
    keys().keys.clear()
    monkeypatch.setattr(device, "free_bytes", lambda: 1000)
    with refuses("resource.gpu_memory", match="GPU memory"):
        case.prove(key)


@pytest.mark.skipif(missing(1) is not None, reason="there is one device alone")
def test_two_devices_prove_side_by_side(use: Callable[[str], None]) -> None:
    """The key made on one, and a proof on the other while a session of the first is open."""
    case = committed()
    use("cpu")
    expected = case.prove(case.setup())
    use("gpu:1")
    key = case.setup()
    with keys().begin(key, case.statement, case.z, 1, lambda *_: None) as session:
        proof = case.prove(key)
        session.committed(0)
    assert key in keys().keys
    assert key in resident_keys(1).keys
    assert proof.to_bytes() == expected.to_bytes()


def test_one_room_for_keys_is_made_whoever_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def make(device: object) -> None:
        made.append(device)
        sleep(0.1)

    monkeypatch.setattr(sessions, "_resident_keys", cache(make))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(resident_keys, [0] * 4))
    assert len(made) == 1


def test_two_threads_prove_at_once(use: Callable[[str], None]) -> None:
    case = cubic()
    use("cpu")
    key = case.setup()
    use("gpu")
    public = fr.to_ints(case.z[1 : 1 + case.statement.public])
    with ThreadPoolExecutor(2) as pool:
        proofs = list(pool.map(lambda _: case.prove(key), range(4)))
    assert all(groth16.verify(key.verifying_key, public, proof).valid for proof in proofs)


class Stubborn:
    """An array that cannot be erased."""

    def fill(self, value: int) -> None:
        raise MemoryError


def test_streams_come_back_whatever_fails(
    use: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    use("cpu")
    case = cubic()
    session = keys().begin(case.setup(), case.statement, case.z, 1, lambda *_: None)
    left: list[object] = []
    monkeypatch.setattr(Stream, "__exit__", lambda *_: left.append(None))
    with pytest.raises(MemoryError), session as entered:
        entered._secret(Stubborn())
    monkeypatch.setattr(gpu.backend(0).device, "empty", lambda *_: Stubborn().fill(0))
    with pytest.raises(MemoryError):
        session.__enter__()
    assert len(left) == 2
    assert keys()._streams.qsize() == PROOFS_AT_ONCE


def test_proofs_wait_where_there_is_no_memory_for_more_at_once(use: Callable[[str], None]) -> None:
    case = cubic()
    use("cpu")
    key = case.setup()
    use("gpu")
    with ThreadPoolExecutor(1) as pool, ExitStack() as others:
        for _ in range(PROOFS_AT_ONCE):
            others.enter_context(keys().begin(key, case.statement, case.z, 1, lambda *_: None))
        waiting = pool.submit(case.prove, key)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.3)
        others.close()
        assert waiting.result(timeout=60).to_bytes()


def test_keys_make_room_once_their_proofs_are_done(
    use: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    case, other = cubic(), idle()
    use("cpu")
    key, next_key = case.setup(), other.setup()
    use("gpu")
    with ThreadPoolExecutor(1) as pool:
        with keys().begin(key, case.statement, case.z, 1, lambda *_: None):
            monkeypatch.setattr(resident.ResidentKey, "wanted_bytes", 1 << 60)
            waiting = pool.submit(other.prove, next_key)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.5)
            assert key in keys().keys
        waiting.result(timeout=60)
    assert list(keys().keys) == [next_key]
