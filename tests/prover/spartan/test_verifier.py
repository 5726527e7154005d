"""What whoever verifies computes for themselves: circuits, commitments, keys, in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blake3 import blake3

from tests.prover.spartan import reference, toy
from tests.prover.statements import (
    COMMITTED_Z,
    R,
    committed_statement,
    complete_committed,
    cubic_statement,
    idle_statement,
)
from tests.prover.vectors import folded
from tests.refusals import refuses
from zenserve.base import container
from zenserve.base.progress import silent
from zenserve.base.randomness import Secrets
from zenserve.errors import FileFormatError, StatementError
from zenserve.kernels import fr
from zenserve.prover.blocks import Csr
from zenserve.prover.constraint_file import _SECTIONS as SECTIONS
from zenserve.prover.constraint_file import save_statement
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.spartan.commitment import commit
from zenserve.prover.spartan.layout import SystemMatrices, most_values, rows_for, sizes_of
from zenserve.prover.spartan.system import Spartan
from zenserve.verifier.preamble import STATEMENT
from zenserve.verifier.spartan import commitment
from zenserve.verifier.spartan.circuit import Circuit, Matrix, totals
from zenserve.verifier.spartan.circuit_file import read_circuit
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.commitment import Rows
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.key import SpartanKey
from zenserve.verifier.spartan.system import SpartanVerifier
from zenserve.verifier.system import Claim

SMALL = Rows(Code(FR, 9, 11), 400)


def plain(system: ConstraintSystem) -> Circuit:
    """The same as whoever verifies has it."""

    def matrix(one: Csr) -> Matrix:
        pool = [value % R for value in one.pool]
        return Matrix(one.offsets.tolist(), one.columns.tolist(), one.coefficients.tolist(), pool)

    blocks = tuple((matrix(a), matrix(b), matrix(c)) for _, (a, b, c) in system.matrices())
    segments = tuple((segment.size, segment.linked) for segment in system.segments)
    return Circuit(system.public, system.challenges, segments, system.private, blocks)


@pytest.mark.parametrize("statement", [committed_statement, cubic_statement, idle_statement])
def test_a_circuit_is_the_constraint_system(statement: Any) -> None:
    system = statement()
    circuit = plain(system)
    assert (circuit.digest, circuit.sizes) == (system.digest, sizes_of(system))
    linked = any(segment.linked for segment in system.segments)
    shape = SpartanKey(circuit.digest, circuit.sizes, SMALL.code, SMALL.tail if linked else None).shape
    draw = np.random.default_rng(3)
    rows, places, weights = (
        draw.integers(1, 1 << 60, count).tolist() for count in (shape.log_rows, shape.variables, 3)
    )
    kernels = SystemMatrices(system)
    assert circuit.nbytes - kernels.nbytes == sum(
        8 * 3 + 32 * sum(len(m.pool) for m in b) for b in circuit.blocks
    )
    expected = kernels.evaluate(shape, rows, places, weights)
    assert circuit.evaluate(shape, rows, places, weights) == expected


def test_circuits_stay_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were given last, and one that is larger than all that there may be."""
    small, large = totals(2, 3), totals(2, 90)
    monkeypatch.setattr(SpartanVerifier, "most_circuit_bytes", 2 * small.nbytes)
    stranger = SpartanVerifier()

    def has(circuit: Circuit) -> bool:
        key = SpartanKey(circuit.digest, circuit.sizes, SMALL.code, SMALL.tail)
        return stranger.circuit_bytes(key) is not None

    others = [replace(small, private=more) for more in (1, 2)]
    for circuit in (small, others[0], small, others[1]):
        stranger.keep(circuit)
    assert [has(circuit) for circuit in (small, *others)] == [True, False, True]
    assert large.nbytes > 2 * small.nbytes
    stranger.keep(large)
    assert [has(circuit) for circuit in (small, *others, large)] == [False, False, False, True]


def test_a_stranger_verifies_by_a_circuit_of_their_own(tmp_path: Any) -> None:
    prover, system = Spartan(), committed_statement()
    file = tmp_path / "basis"
    prover.commitments.make_key(file, 8, 1, None)
    basis = prover.commitments.load_key(file)
    made = prover.setup(system, tmp_path / "key", basis=basis, threads=1, progress=silent)
    z = fr.from_ints(COMMITTED_Z)
    openings = [basis.commit(z[3:5]), basis.commit(z[6:7])]
    proof = prover.prove(
        prover.load_key(tmp_path / "key"),
        system,
        z,
        openings=openings,
        post_challenge=complete_committed,
        threads=1,
        progress=silent,
    )
    claim = Claim(COMMITTED_Z[1:2], proof, [opening.commitment for opening in openings])
    circuit = plain(system)
    stranger = SpartanVerifier()
    key = stranger.read_key(made.to_json())
    assert stranger.verify(key, claim).reason == "circuit_unknown"
    stranger.keep(circuit)
    assert stranger.verify(key, claim).reason == "ok"
    # The code's numbers are a part of the statement, and so are the commitments' tails.
    other = made.to_json() | {"log_degree": 13}
    assert not stranger.verify(stranger.read_key(other), claim)
    assert not stranger.verify(
        stranger.read_key(made.to_json() | {"tail": made.to_json()["tail"] - 1}), claim
    )


@pytest.mark.parametrize("count", [1, 112, 113, 300])
def test_commitments_are_computed_again(count: int) -> None:
    values = [*range(count - 1), R - 1]
    for seed in (bytes(32), bytes(range(32))):
        fast = commit(fr.from_ints(values), SMALL.code, SMALL.tail, seed, secret=Secrets())
        assert commitment.commit(SMALL, values, seed) == fast.root


def test_commitments_are_over_the_field_of_their_code() -> None:
    """Words of the stream that are below the modulus are the tails."""
    values, seed = [5, 6, 256], bytes(range(32))
    bound = blake3(toy.OVER.to_bytes(values), key=seed).digest()
    stream = blake3(bound, derive_key_context="zenserve spartan 1: tails").digest(length=200)
    words = [int.from_bytes(stream[i : i + 2], "little") % 512 for i in range(0, 200, 2)]
    tails = [word for word in words if word < toy.P]
    salts = blake3(bound, derive_key_context="zenserve spartan 1: salts").digest(length=32 * 32)
    rows = [[5, 6, *tails[:6]], [256, 0, *tails[6:12]]]
    each = [salts[i : i + 32] for i in range(0, len(salts), 32)]
    slow = reference.Matrix(toy.CODE, rows, len(values), toy.ROOTS.tail, each)
    assert commitment.commit(toy.ROOTS, values, seed) == slow.root


def test_two_vectors_under_one_seed_share_no_randomness() -> None:
    one, two = (
        commit(fr.from_ints([value]), SMALL.code, SMALL.tail, bytes(32), secret=Secrets()) for value in (5, 6)
    )
    assert not (one.rows[:, 1:] == two.rows[:, 1:]).all(axis=-1)[:, -SMALL.tail :].any()
    assert not (one.salts == two.salts).all(axis=1).any()


def test_the_kinds_of_commitments() -> None:
    for log_degree in range(12, 17):
        rows = rows_for(most_values(log_degree))
        assert (rows.code.log_degree, rows.code.log_length) == (log_degree, log_degree + 2)
        assert max(10 * rows.code.queries, rows.code.degree / 8) <= rows.tail < rows.code.degree / 2
        assert Rows.from_identity(rows.identity) == rows
    with pytest.raises(StatementError, match="no commitments to more than 67,108,864"):
        rows_for(most_values(16) + 1)
    for wrong in (b"", rows.identity[:-1], bytes(16), rows.identity[:8] + bytes(8), b"\xff" * 16):
        with pytest.raises(FileFormatError):
            Rows.from_identity(wrong)


KEY = SpartanKey(bytes(32), sizes_of(committed_statement()), SMALL.code, SMALL.tail).to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"setup": "ceremony"},
        {"circuit": "00"},
        {"circuit": "0A" * 32},
        {"public": -1},
        {"public": True},
        {"rows": 1 << 60},
        {"private": 1 << 39},
        {"segments": None},
        {"segments": [[2, 1]]},
        {"segments": [[2, True], [1, True, 3]]},
        {"segments": [[2, False], [1, False]]},
        {"log_degree": 7},
        {"log_degree": 31},
        {"log_degree": 1 << 30},
        {"log_length": 11},
        {"tail": None},
        {"tail": 3},
        {"tail": 512},
        {"more": 1},
    ],
)
def test_a_key_of_no_proofs_is_refused(change: dict[str, Any]) -> None:
    assert SpartanKey.from_json(KEY).to_json() == KEY
    with pytest.raises(FileFormatError):
        SpartanKey.from_json(KEY | change)
    for name in KEY:
        with pytest.raises(FileFormatError):
            SpartanKey.from_json({key: value for key, value in KEY.items() if key != name})


def sections(system: ConstraintSystem, path: Path) -> dict[str, Any]:
    save_statement(path, system)
    return {name: np.array(value) for name, value in container.read(path, STATEMENT, SECTIONS).items()}


def changed(name: str, place: Any, value: int) -> Callable[[dict[str, Any]], None]:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name][place] = value

    return change


@pytest.mark.parametrize("statement", [committed_statement, cubic_statement, idle_statement])
def test_circuits_are_read_from_files(statement: Any, tmp_path: Path) -> None:
    system, file = statement(), tmp_path / "circuit"
    save_statement(file, system)
    read = read_circuit(file.read_bytes())
    assert (read.digest, read.sizes) == (system.digest, sizes_of(system))
    for wrong in (b"", file.read_bytes()[:-1], file.read_bytes() + b"0", file.read_bytes()[:70]):
        with pytest.raises(FileFormatError):
            read_circuit(wrong)


@pytest.mark.parametrize(
    "change",
    [
        changed("counts", 1, 1 << 34),
        changed("counts", 2, 1 << 20),
        changed("segments", (0, 0), 1 << 31),
        changed("segments", (0, 1), 2),
        changed("shapes", (0, 0), 1 << 40),
        changed("shapes", (0, 1), 1),
        changed("shapes", (0, 2), 9),
        changed("offsets", 0, 1),
        changed("offsets", 1, -1),
        changed("columns", 0, 1000),
        changed("columns", 0, 5),  # blinds the model
        changed("coefficients", 0, 7),
        changed("pool", 0, 255),
    ],
)
def test_files_of_no_circuits_are_refused(change: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    file = tmp_path / "circuit"
    arrays = sections(committed_statement(), file)
    container.write(file, STATEMENT, arrays)
    assert read_circuit(file.read_bytes()).digest == committed_statement().digest
    change(arrays)
    container.write(file, STATEMENT, arrays)
    with pytest.raises(FileFormatError, match="does not fit"):
        read_circuit(file.read_bytes())


def test_a_circuit_with_folded_inputs_is_refused(tmp_path: Path) -> None:
    """Its last challenge is not drawn, which this proof system does with all of them."""
    system = folded.statement()
    with refuses("statement.system", "fold_inputs"):
        Spartan().setup(system, tmp_path / "key", basis=None, threads=1, progress=silent)
    save_statement(tmp_path / "circuit", system)
    with refuses("statement.system", "fold_inputs"):
        Spartan().take_circuit((tmp_path / "circuit").read_bytes())
    with refuses("file.shape", "counts"):
        SpartanVerifier().take_circuit((tmp_path / "circuit").read_bytes())
