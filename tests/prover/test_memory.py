"""What setup and proofs take, as the system measures it, against the formulas; and that keys are shared."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import pytest

from tests.prover.statements import Example
from zenserve.kernels import fr
from zenserve.prover import groth16
from zenserve.prover.blocks import ProductBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.groth16 import CommitmentKey, ProvingKey, memory
from zenserve.prover.size import Size

SPAWN = multiprocessing.get_context("spawn")
ROWS = (1 << 15) - 64
THREADS = 2


def system(*, segment: bool) -> ConstraintSystem:
    """x_i x_(i+1) = y_i, in a ring; with ``segment`` x is committed to."""
    first = 3 if segment else 2
    x = np.arange(first, first + ROWS)
    y = x + ROWS + segment
    block = ProductBlock("ring", x, np.roll(x, -1), y)
    if segment:
        return ConstraintSystem(1, ROWS, (block,), challenges=1, segments=(Segment("x", ROWS, linked=True),))
    return ConstraintSystem(1, 2 * ROWS, (block,))


def witness(circuit: ConstraintSystem, *, dense: bool) -> np.ndarray:
    """Scalars that fill the field; or bytes, 20 % bits and 20 % of the former."""
    draw = np.random.default_rng(1)
    x = fr.from_canonical(draw.integers(0, 1 << 60, (ROWS, 4), dtype=np.uint64))
    if not dense:
        kind = draw.integers(0, 5, ROWS)
        small = draw.integers(0, np.where(kind == 0, 2, 256))
        x[kind < 4] = fr.from_int64(small)[kind < 4]
    z = np.zeros((circuit.variables, 4), dtype=np.uint64)
    z[0] = fr.from_ints([1])[0]
    start = circuit.variables - 2 * ROWS - len(circuit.segments)
    z[start : start + ROWS] = x
    z[-ROWS:] = fr.mul(x, np.roll(x, -1, axis=0))
    return z


def status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(name))) << 10


def measured_setup(folder: Path, segment: bool) -> tuple[int, int]:
    """The peak of a setup over what was there before, and the formula's."""
    circuit = system(segment=segment)
    basis = CommitmentKey.load(folder / "basis") if segment else None
    size = Size.of(circuit)
    before = forget_peak()
    key = groth16.setup(circuit, basis=basis, threads=THREADS)
    taken = status("VmHWM") - before
    key.save(folder / f"key{segment}")
    return taken, memory.setup(size, THREADS)


def measured_proof(folder: Path, segment: bool, dense: bool) -> tuple[int, int]:
    circuit = system(segment=segment)
    size, z = Size.of(circuit), witness(circuit, dense=dense)
    openings = []
    if segment:
        openings.append(CommitmentKey.load(folder / "basis").commit(z[3 : 3 + ROWS], threads=THREADS))
    before = forget_peak()
    key = ProvingKey.load(folder / f"key{segment}", check_hash=False)
    groth16.prove(key, circuit, z, openings=openings, threads=THREADS)
    return status("VmHWM") - before, memory.proving(size, THREADS)


def forget_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def alone(work: object, *arguments: object) -> tuple[int, int]:
    with SPAWN.Pool(1) as pool:
        taken: tuple[int, int] = pool.apply(work, arguments)  # type: ignore[arg-type]
        return taken


@pytest.mark.parametrize("segment", [pytest.param(False, marks=pytest.mark.large), True])
def test_memory_is_what_the_formulas_say(segment: bool, tmp_path: Path) -> None:
    if segment:
        CommitmentKey.generate(ROWS, threads=THREADS).save(tmp_path / "basis")
    cases = [alone(measured_setup, tmp_path, segment)]
    cases += [alone(measured_proof, tmp_path, segment, dense) for dense in (False, True)]
    for taken, formula in cases:
        assert 0.8 * taken < formula < 1.2 * taken


def shares(file: Path, here: Barrier) -> tuple[int, int, int]:
    """Resident, proportional and private bytes of the key's pages, once both processes have read it."""
    key = ProvingKey.load(file)
    here.wait(60)
    mapping = None
    sizes = dict.fromkeys(("Rss", "Pss", "Private_Clean", "Private_Dirty"), 0)
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, _, rest = line.partition(":")
        if "-" in name.split()[0]:
            mapping = line.endswith(str(file))
        elif mapping and name in sizes:
            sizes[name] += int(rest.split()[0]) << 10
    here.wait(60)
    assert key.verifying_key
    return sizes["Rss"], sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"]


def _report(file: Path, here: Barrier, results: multiprocessing.SimpleQueue[tuple[int, int, int]]) -> None:
    results.put(shares(file, here))


def test_processes_share_the_pages_of_a_key(example: Example, tmp_path: Path) -> None:
    file = tmp_path / "key"
    example.key.save(file)
    results: multiprocessing.SimpleQueue[tuple[int, int, int]] = SPAWN.SimpleQueue()
    here = SPAWN.Barrier(2)
    workers = [SPAWN.Process(target=_report, args=(file, here, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for _ in workers:
        resident, proportional, private = results.get()
        assert resident >= file.stat().st_size
        assert proportional == resident // 2
        assert private == 0
    for worker in workers:
        worker.join()
