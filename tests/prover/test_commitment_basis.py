"""Bases of commitments: made, saved, mapped, refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.prover.statements import commitment_basis
from tests.refusals import refuses
from zenserve.base import container
from zenserve.errors import Cancelled, StatementError
from zenserve.kernels import fr, g1, g2
from zenserve.prover.groth16 import CommitmentKey, check_opening, commitment
from zenserve.prover.groth16.powers_of_tau import generate
from zenserve.verifier.preamble import PROVING_KEY

VALUES = fr.from_ints([3, -5, 7])


@pytest.fixture(scope="module")
def basis() -> CommitmentKey:
    return CommitmentKey.generate(5)


def is_usable(basis: CommitmentKey) -> bool:
    mine = basis.commit(VALUES)
    return bool(check_opening(basis.identity, mine.commitment, [3, -5, 7], basis.reveal(mine, VALUES)))


def test_a_generated_basis_holds_powers_of_its_tau(
    basis: CommitmentKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert basis.points.shape == (5, 2, 6)
    assert is_usable(basis)
    assert basis.identity != CommitmentKey.generate(2).identity
    monkeypatch.setattr(commitment, "random_elements", lambda _: fr.from_ints([0x5EED]))
    known, expected = CommitmentKey.generate(5, threads=2), commitment_basis(5, 0x5EED)
    assert np.array_equal(known.points, expected.points)
    assert np.array_equal(known.tau_g2, expected.tau_g2)


@pytest.mark.parametrize("count", [0, 1])
def test_a_basis_has_two_points(count: int) -> None:
    with refuses("statement.basis"):
        CommitmentKey.generate(count)


def test_tau_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    tau = fr.from_ints([0x5EED])
    monkeypatch.setattr(commitment, "random_elements", lambda _: tau)
    kept = []
    powers = type(fr).powers

    def keep(*args: object, **options: object) -> object:
        kept.append(powers(*args, **options))  # type: ignore[arg-type]
        return kept[-1]

    monkeypatch.setattr(type(fr), "powers", keep)
    CommitmentKey.generate(3)
    assert not tau.any()
    assert len(kept) == 1
    assert not kept[0].any()


def test_generation_reports_and_stops() -> None:
    seen: list[tuple[str, float]] = []

    def report(stage: str, fraction: float) -> None:
        seen.append((stage, fraction))
        raise Cancelled

    with pytest.raises(Cancelled):
        CommitmentKey.generate(300, progress=report)
    assert [stage for stage, _ in seen] == ["basis"]


def test_the_basis_of_powers_of_tau() -> None:
    powers = generate(2)
    basis = CommitmentKey.of(powers)
    assert np.array_equal(basis.points, powers.tau_g1)
    assert is_usable(basis)
    with pytest.raises(StatementError):
        CommitmentKey.of(replace(powers, tau_g2=generate(2).tau_g2))


def test_a_file_is_the_basis(basis: CommitmentKey, tmp_path: Path) -> None:
    basis.save(tmp_path / "basis")
    for check_hash in (True, False):
        loaded = CommitmentKey.load(tmp_path / "basis", check_hash=check_hash)
        assert loaded.identity == basis.identity
        assert np.array_equal(loaded.points, basis.points)
        assert np.array_equal(loaded.tau_g2, basis.tau_g2)
        assert is_usable(loaded)
        assert not loaded.points.flags.writeable
        assert not loaded.points.flags.owndata  # a view of the file, which all that load it share


def test_files_that_are_refused(basis: CommitmentKey, tmp_path: Path) -> None:
    path = tmp_path / "basis"
    basis.save(path)
    data = path.read_bytes()
    for code, content in {
        "file.hash": data[:-1] + bytes([data[-1] ^ 1]),
        "file.length": data[:-1],
        "file.magic": b"X" + data[1:],
        "file.version": data[:8] + b"\2" + data[9:],
        "file.kind": data[:12] + b"pkey" + data[16:],
    }.items():
        path.write_bytes(content)
        with refuses(code):
            CommitmentKey.load(path)
    container.write(path, PROVING_KEY, {"tau_g2": basis.tau_g2, "points": basis.points})
    with refuses("file.kind"):
        CommitmentKey.load(path)


def test_points_that_are_refused(basis: CommitmentKey) -> None:
    first, tau = basis.points, basis.tau_g2
    one, two = g1.generator, g2.generator[None]
    outside = CommitmentKey.generate(2).tau_g2
    for points, tau_g2 in (
        (first[1:], tau),
        (first[:1], tau),
        (np.stack([one, one]), two),
        (np.stack([one, g1.neg(one)]), g2.neg(two)),
        (np.stack([one, np.zeros_like(one)]), np.zeros_like(two)),
        (first, two),
        (first, outside),
        (first, g2.neg(tau)),
        (first, np.zeros_like(tau)),
        (first, tau[0]),
        (first, np.concatenate([tau, tau])),
        (first, tau[:0]),
    ):
        with refuses("statement.basis", "basis"):
            CommitmentKey(points, tau_g2)


def test_what_hides_nothing_is_erased(basis: CommitmentKey, monkeypatch: pytest.MonkeyPatch) -> None:
    """Σ v_i U_i by itself can be searched for small values."""
    kept = []
    msm = type(g1).msm

    def keep(*args: object, **options: object) -> object:
        kept.append(msm(*args, **options))  # type: ignore[arg-type]
        return kept[-1]

    monkeypatch.setattr(type(g1), "msm", keep)
    basis.commit(VALUES)
    assert len(kept) == 1
    assert not kept[0].any()
