"""The commitment bases: one of each size for the whole service, whoever was first."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.refusals import refuses
from tests.service.conftest import BASIS_POINTS
from zenserve.errors import ConflictError
from zenserve.prover import registry
from zenserve.prover.groth16 import CommitmentKey, powers_of_tau
from zenserve.prover.groth16.iden3.ptau import read_ptau, write_ptau
from zenserve.prover.groth16.system import Groth16
from zenserve.service import basis as bases
from zenserve.service import powers as imported
from zenserve.service.cli import app
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.reaper import sweep
from zenserve.service.storage.store import Store
from zenserve.verifier.registry import FIRST

GROTH16 = registry.find(FIRST)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    bases._load.cache_clear()
    yield
    bases._load.cache_clear()


def test_the_basis_is_made_once_and_stays(runtime: Runtime) -> None:
    assert bases.basis_length(runtime, GROTH16, 8) == BASIS_POINTS
    first = bases.require_basis(runtime, GROTH16, 8)
    other = replace(runtime, settings=runtime.settings.model_copy(update={"basis_points": 8}))
    bases._load.cache_clear()
    assert bases.require_basis(other, GROTH16, 8).identity == first.identity
    assert bases.basis_length(other, GROTH16, 8) == BASIS_POINTS
    for file in (runtime.settings.data_dir / "artifacts").glob("??/*"):
        assert runtime.store.get(file.name)
    sweep(runtime)
    bases._load.cache_clear()
    assert bases.load_basis(runtime, GROTH16, 8).identity == first.identity


def test_systems_of_one_commitment_scheme_share_it(runtime: Runtime) -> None:
    class Twin(Groth16):
        id = "twin"

    first = bases.require_basis(runtime, GROTH16, 8)
    assert bases.require_basis(runtime, Twin(), 8).identity == first.identity


def test_of_several_that_make_it_at_once_the_first_one_s_stays(runtime: Runtime) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: bases.require_basis(runtime, GROTH16, 8).identity, range(4)))
    assert len(set(made)) == 1
    assert len(list((runtime.settings.data_dir / "artifacts").glob("??/*"))) == 1


def test_a_host_without_a_copy_brings_it_from_the_remote_store(
    runtime: Runtime, s3: str, tmp_path: Path
) -> None:
    url = f"{s3}/{secrets.token_hex(4)}"
    here, there = (replace(runtime, store=Store(tmp_path / host, url)) for host in ("here", "there"))
    made = bases.require_basis(here, GROTH16, 8).identity
    bases._load.cache_clear()
    assert bases.load_basis(there, GROTH16, 8).identity == made


def test_the_file_of_an_older_service_is_taken_over(runtime: Runtime) -> None:
    earlier, given = runtime.settings.data_dir / "basis", CommitmentKey.generate(16)
    given.save(earlier)
    assert bases.basis_length(runtime, GROTH16, 8) == 16
    assert not earlier.exists()
    bases._load.cache_clear()
    assert bases.require_basis(runtime, GROTH16, 8).identity == given.identity


def points(runtime: Runtime) -> list[int]:
    return [each.points for each in bases.stored_bases(runtime, GROTH16)]


def test_what_fits_none_has_a_larger_one_made_and_all_else_keeps_its_own(runtime: Runtime) -> None:
    first = bases.require_basis(runtime, GROTH16, BASIS_POINTS)
    assert bases.basis_length(runtime, GROTH16, BASIS_POINTS + 1) == 2 * BASIS_POINTS
    assert points(runtime) == [BASIS_POINTS]  # nothing is made by asking
    larger = bases.require_basis(runtime, GROTH16, 3 * BASIS_POINTS)
    assert points(runtime) == [BASIS_POINTS, 4 * BASIS_POINTS]
    assert larger.identity != first.identity
    bases._load.cache_clear()
    for values, basis in (
        (8, first),
        (BASIS_POINTS, first),
        (BASIS_POINTS + 1, larger),
        (larger.length, larger),
    ):
        assert bases.require_basis(runtime, GROTH16, values).identity == basis.identity
        assert bases.load_basis(runtime, GROTH16, values).identity == basis.identity
    assert points(runtime) == [BASIS_POINTS, 4 * BASIS_POINTS]
    sweep(runtime)
    assert len(list((runtime.settings.data_dir / "artifacts").glob("??/*"))) == 2


def test_the_first_fits_whoever_asks_first(runtime: Runtime) -> None:
    assert bases.require_basis(runtime, GROTH16, 5 * BASIS_POINTS).length == 8 * BASIS_POINTS
    assert bases.require_basis(runtime, GROTH16, 8).length == 8 * BASIS_POINTS


def test_none_is_added_below_one_that_another_process_added_meanwhile(
    runtime: Runtime, tmp_path: Path
) -> None:
    """Else what was committed to over the larger one would be looked for over the smaller one."""
    bases.require_basis(runtime, GROTH16, 8)
    for size in (8 * BASIS_POINTS, 4 * BASIS_POINTS, 8 * BASIS_POINTS):
        CommitmentKey.generate(size).save(tmp_path / "made")
        bases.add_basis(runtime, GROTH16, tmp_path / "made", size)
        assert points(runtime) == [BASIS_POINTS, 8 * BASIS_POINTS]
    assert len(list((runtime.settings.data_dir / "artifacts").glob("??/*"))) == 2


def test_of_larger_ones_that_are_made_at_once_none_is_below_another(each_runtime: Runtime) -> None:
    settings = each_runtime.settings.model_copy(update={"basis_points": BASIS_POINTS})
    runtime = replace(each_runtime, settings=settings)
    bases.require_basis(runtime, GROTH16, 8)
    asked = [2 * BASIS_POINTS, 4 * BASIS_POINTS] * 2
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda values: bases.require_basis(runtime, GROTH16, values).length, asked))
    stored = points(runtime)
    assert stored in ([256, 512, 1024], [256, 1024])
    for values, length in zip(asked, made, strict=True):
        assert length == next(each for each in stored if values <= each)


def test_a_basis_is_imported_before_the_first_commitment_or_a_larger_one(runtime: Runtime) -> None:
    given, larger = CommitmentKey.generate(16), CommitmentKey.generate(64)
    for _ in range(2):
        imported.import_basis(runtime, given)
    assert bases.require_basis(runtime, GROTH16, 8).identity == given.identity
    with pytest.raises(ConflictError, match="another basis of 16 points"):
        imported.import_basis(runtime, CommitmentKey.generate(16))
    with refuses("model.too_large", "model", match=r"powers of tau of 2\^5 .`zenserve basis import`"):
        bases.require_basis(runtime, GROTH16, 17)
    for _ in range(2):
        imported.import_basis(runtime, larger)
    assert points(runtime) == [16, 64]
    assert bases.require_basis(runtime, GROTH16, 16).identity == given.identity
    assert bases.require_basis(runtime, GROTH16, 17).identity == larger.identity


def test_an_import_binds_only_systems_whose_bases_are_of_powers(runtime: Runtime, tmp_path: Path) -> None:
    file = tmp_path / "powers.ptau"
    write_ptau(file, powers_of_tau.generate(6))
    imported.import_powers(runtime, file, read_ptau(file))
    for system in registry.SYSTEMS.values():
        if system.commitments.id == GROTH16.commitments.id:
            with refuses("model.too_large"):
                bases.basis_length(runtime, system, 1000)
        else:
            assert bases.require_basis(runtime, system, 1000).length >= 1000


def test_services_of_before_that_imported_powers_make_no_basis_either(
    runtime: Runtime, tmp_path: Path
) -> None:
    CommitmentKey.generate(16).save(tmp_path / "basis")
    bases.add_basis(runtime, GROTH16, tmp_path / "basis", 16)
    (tmp_path / "powers").touch()
    bases.adopt(runtime, tmp_path / "powers", "powers")
    with refuses("model.too_large"):
        bases.require_basis(runtime, GROTH16, 17)


def test_the_command_line_imports_powers_of_tau_and_shows_them(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(runtime.settings.data_dir))
    run = CliRunner()
    assert run.invoke(app, ["basis", "show"]).exit_code == 1
    powers = powers_of_tau.generate(3)
    write_ptau(tmp_path / "p.ptau", powers)
    identity = CommitmentKey.of(powers).identity.hex()
    for command in (["import", str(tmp_path / "p.ptau")], ["show"]):
        answer = run.invoke(app, ["basis", *command])
        assert answer.exit_code == 0, answer.output
        assert identity in answer.output
    assert bases.load_basis(runtime, GROTH16, 8).identity.hex() == identity
    larger = powers_of_tau.generate(4)
    write_ptau(tmp_path / "p.ptau", larger)
    answer = run.invoke(app, ["basis", "import", str(tmp_path / "p.ptau")])
    assert answer.exit_code == 0, answer.output
    shown = run.invoke(app, ["basis", "show"]).output
    assert shown.index(identity) < shown.index(CommitmentKey.of(larger).identity.hex())
    digests = [
        imported.powers_digest(runtime, values)
        for values in (8, bases.stored_bases(runtime, GROTH16)[1].points)
    ]
    assert len(set(digests)) == 2
    assert imported.load_powers(runtime, digests[1], 2).tau_g1[1].tolist() == larger.tau_g1[1].tolist()
