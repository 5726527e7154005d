"""Where Spartan's proofs are made on a device: launches are replayed, randomness is not, nothing is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.gpu.emulator import device as emulated
from tests.gpu.emulator.place import EMULATED
from tests.gpu.test_spartan import Case, committed, forget_workspaces, network
from tests.prover.statements import cubic_statement
from zenserve.base.memory import Kept
from zenserve.base.progress import silent
from zenserve.errors import ZenError
from zenserve.gpu import times
from zenserve.gpu.device import Array
from zenserve.kernels import fr
from zenserve.prover import backends, groth16
from zenserve.prover.backends.gpu import backend
from zenserve.prover.groth16.sessions.gpu import resident_keys
from zenserve.prover.spartan import proving
from zenserve.prover.spartan.sessions import gpu
from zenserve.prover.spartan.sessions.workspace import Workspace

Words = set[bytes]


@pytest.fixture(autouse=True)
def on_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """With randomness of the operating system, and no workspace."""
    if EMULATED:
        monkeypatch.setattr(backends, "_missing_gpu", emulated.missing)
    monkeypatch.setenv(backends.VARIABLE, "gpu")
    backend(0)
    forget_workspaces()


def words(array: np.ndarray[Any, Any]) -> Words:
    """Of 32 bytes, but for zeros."""
    data = array.tobytes()
    return {data[i : i + 32].ljust(32, b"\0") for i in range(0, len(data), 32)} - {bytes(32)}


def idle() -> list[Workspace]:
    kept = gpu.resident_systems(0)._kept
    return [each for key in kept._recent if isinstance(each := kept.get(key), Workspace)]


def left(arrays: list[Array]) -> Words:
    return set().union(*(words(backend(0).device.download(array)) for array in arrays))


def test_replays_have_randomness_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same witness: pads, seeds, salts, the mask, tails and code words, and all that a proof says."""
    case, combine, found = network("dense"), gpu.GpuSession.combine, list[list[Words]]()
    download = backend(0).device.download

    def looked(session: gpu.GpuSession, factor: int) -> gpu.GpuVector:
        work = session._work
        (room,) = work.rooms.values()
        tails = download(work.rows(0))[:, -case.shape.parts[0].tail :].copy()
        pads = work.outer.given[1 + work.outer.rounds :], work.inner.given[3:]
        secret = [*pads, work.mask, work.seeds, work.bound_seeds, *room]
        found.append([*(words(download(array)) for array in secret), words(tails)])
        return combine(session, factor)

    monkeypatch.setattr(gpu.GpuSession, "combine", looked)
    proofs = [np.frombuffer(case.prove(), np.uint8) for _ in range(3)]
    assert all(case.is_right(proof.tobytes()) for proof in proofs)
    for i, j in ((0, 1), (1, 2), (0, 2)):
        for one, other in zip(found[i], found[j], strict=True):
            assert min(len(one), len(other)) > 0
            assert not one & other
        assert not words(proofs[i]) & words(proofs[j])


@pytest.mark.skipif(not EMULATED, reason="counts calls of the emulated device")
def test_a_proof_takes_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs: commitment, both sum-checks, the combined row, its folding, erasing. Brought: witness, what is
    known of it, two seeds, what each of three sum-checks is given, a factor. Awaited: a root, the row, what
    each sum-check says, an opening."""
    case, counts, device = network("dense"), Counter[str](), backend(0).device
    launched, copy, download = times.launched, device.copy, device.download

    def launching(on: Any, name: str, launch: Callable[[], object]) -> None:
        counts[name] += emulated.recording() is None
        launched(on, name, launch)

    def copying(source: Any, target: Array) -> None:
        counts["brought"] += not isinstance(source, emulated.Array)
        copy(source, target)

    def downloading(array: Array) -> Any:
        counts["awaited"] += 1
        return download(array)

    case.prove()
    monkeypatch.setattr(times, "launched", launching)
    monkeypatch.setattr(device, "copy", copying)
    monkeypatch.setattr(device, "download", downloading)
    case.prove()
    assert +counts == {times.RECORDED: 6, "open_columns": 1, "brought": 8, "awaited": 6}


def telling(case: Case) -> Words:
    """What is of the witness, and of its rows, and not by chance."""
    one = fr.from_ints([1])[0]
    values = np.concatenate([case.z, *case.system.evaluate(case.z)])
    values = values[values[:, 1:].all(axis=1) & (values != one).any(axis=1)]
    found = words(values) | words(fr.to_canonical(values))
    assert len(found) > 400
    return found


@pytest.mark.skipif(not EMULATED, reason="looks into the emulated device's memory")
@pytest.mark.parametrize("stays", [True, False])
def test_the_witness_is_erased_on_the_device(stays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so are the rows' values, in all that was ever allocated, whether launches are replayed or not."""
    case, arrays, device = network("dense"), list[Array](), backend(0).device
    told = telling(case)

    def remembered(allocate: Callable[..., Array]) -> Callable[..., Array]:
        def remember(*arguments: Any) -> Array:
            arrays.append(allocate(*arguments))
            return arrays[-1]

        return remember

    for name in ("empty", "zeros", "upload", "bring"):
        monkeypatch.setattr(device, name, remembered(getattr(device, name)))
    if not stays:
        monkeypatch.setattr(gpu.resident_systems(0), "_kept", Kept(0, device.free_bytes))
    for _ in range(2):
        case.prove()
        assert len(arrays) > 50
        assert not told & left([array for array in arrays if array.nbytes % 32 == 0])
    assert len(idle()) == stays


def stops(where: int) -> Callable[[str, float], None]:
    """At the stage of this index."""
    stages = iter(range(4))

    def progress(stage: str, fraction: float) -> None:
        if next(stages) == where:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("where", range(4))
def test_what_is_cancelled_leaves_zeros(where: int) -> None:
    """While it is recorded, and while it is replayed; the next proof is right."""
    case = network("dense")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            proving.prove(case.system, case.shape, case.z.copy(), progress=stops(where))
        (work,) = idle()
        assert not left(work._arrays)
        assert case.is_right(case.prove())
        assert not left(work._arrays)
        assert idle() == [work]


class BrokenError(Exception):
    pass


@pytest.mark.parametrize("kernel", ["fill_tails", "say_round", "combine_rows", "scatter_turned"])
def test_what_fails_leaves_zeros(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is recorded, in the midst of it: the next proof records it."""
    from zenserve.gpu import modules

    case, launch = network("dense"), modules.Module.launch

    def breaking(module: modules.Module, name: str, *arguments: Any, **options: Any) -> None:
        if name == kernel:
            raise BrokenError
        launch(module, name, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(modules.Module, "launch", breaking)
        with pytest.raises(BrokenError):
            case.prove()
    (work,) = idle()
    assert not left(work._arrays)
    for _ in range(2):
        assert case.is_right(case.prove())


def test_a_witness_that_fails_leaves_zeros() -> None:
    case = network("dense")
    wrong = case.z.copy()
    wrong[-1] = fr.from_ints([5])[0]
    for z in (wrong, case.z, wrong):
        if z is wrong:
            with pytest.raises(ZenError):
                proving.prove(case.system, case.shape, z.copy())
        else:
            assert case.is_right(case.prove())
        (work,) = idle()
        assert not left(work._arrays)


def test_workspaces_make_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """They count as free, and whoever needs the room has it; so does a system that goes."""
    free = 1 << 40
    kept = Kept(1 << 30, lambda: free)
    monkeypatch.setattr(gpu.resident_systems(0), "_kept", kept)
    monkeypatch.setattr(gpu.resident_systems(0), "_systems", {})
    case, other = network("dense"), committed()
    case.prove()
    (work,) = idle()
    assert kept.free() == free + work.nbytes
    taken = sum(array.nbytes for array in work._arrays)
    assert taken / 1.2 <= work.nbytes <= taken * 1.2
    free = 0
    kept.make_room(1)
    assert not idle()
    free = 1 << 40
    case.prove()
    monkeypatch.setattr(gpu, "_SYSTEMS", 1)
    other.prove()
    assert [each.resident.system for each in idle()] == [other.system]


def test_keys_of_groth16_take_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    system = cubic_statement()
    key = groth16.setup(system)
    network("dense").prove()
    assert idle()
    monkeypatch.setattr(backend(0).kept, "_unused", lambda: 0)
    resident_keys(0).load(key, system, 1, silent)
    assert not idle()


def test_two_proofs_at_once_have_a_workspace_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """One begins while another is made."""
    case, combine, inside = network("dense"), gpu.GpuSession.combine, list[bytes]()

    def nested(session: gpu.GpuSession, factor: int) -> gpu.GpuVector:
        if len(inside) < 1:
            inside.append(b"")
            inside[0] = case.prove()
        return combine(session, factor)

    monkeypatch.setattr(gpu.GpuSession, "combine", nested)
    for _ in range(2):
        inside.clear()
        assert case.is_right(case.prove())
        assert case.is_right(inside[0])
    assert len(idle()) == 2
