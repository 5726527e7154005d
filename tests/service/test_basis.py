"""The commitment basis: one for the whole service, whoever was first."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prover import registry
from prover.groth16 import CommitmentKey, powers_of_tau
from prover.groth16.iden3.ptau import write_ptau
from prover.groth16.system import Groth16
from service import basis as bases
from service import powers as imported
from service.cli.basis import app
from service.runtime import Runtime
from service.scheduler.reaper import sweep
from service.storage.store import Store
from tests.service.conftest import BASIS_POINTS
from verifier.registry import FIRST
from zenerrors import ConflictError

GROTH16 = registry.find(FIRST)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    bases._load.cache_clear()
    yield
    bases._load.cache_clear()


def test_the_basis_is_made_once_and_stays(runtime: Runtime) -> None:
    assert bases.basis_length(runtime, GROTH16) == BASIS_POINTS
    first = bases.require_basis(runtime, GROTH16)
    other = replace(runtime, settings=runtime.settings.model_copy(update={"basis_points": 8}))
    bases._load.cache_clear()
    assert bases.require_basis(other, GROTH16).identity == first.identity
    assert bases.basis_length(other, GROTH16) == BASIS_POINTS
    for file in (runtime.settings.data_dir / "artifacts").glob("??/*"):
        assert runtime.store.get(file.name)
    sweep(runtime)
    bases._load.cache_clear()
    assert bases.load_basis(runtime, GROTH16).identity == first.identity


def test_systems_of_one_commitment_scheme_share_it(runtime: Runtime) -> None:
    class Twin(Groth16):
        id = "twin"

    first = bases.require_basis(runtime, GROTH16)
    assert bases.require_basis(runtime, Twin()).identity == first.identity


def test_of_several_that_make_it_at_once_the_first_one_s_stays(runtime: Runtime) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: bases.require_basis(runtime, GROTH16).identity, range(4)))
    assert len(set(made)) == 1
    assert len(list((runtime.settings.data_dir / "artifacts").glob("??/*"))) == 1


def test_a_host_without_a_copy_brings_it_from_the_remote_store(
    runtime: Runtime, s3: str, tmp_path: Path
) -> None:
    url = f"{s3}/{secrets.token_hex(4)}"
    here, there = (replace(runtime, store=Store(tmp_path / host, url)) for host in ("here", "there"))
    made = bases.require_basis(here, GROTH16).identity
    bases._load.cache_clear()
    assert bases.load_basis(there, GROTH16).identity == made


def test_the_file_of_an_older_service_is_taken_over(runtime: Runtime) -> None:
    earlier, given = runtime.settings.data_dir / "basis", CommitmentKey.generate(16)
    given.save(earlier)
    assert bases.basis_length(runtime, GROTH16) == 16
    assert not earlier.exists()
    bases._load.cache_clear()
    assert bases.require_basis(runtime, GROTH16).identity == given.identity


def test_a_basis_is_imported_before_the_first_commitment_only(runtime: Runtime) -> None:
    given = CommitmentKey.generate(16)
    for _ in range(2):
        imported.import_basis(runtime, given)
    assert bases.require_basis(runtime, GROTH16).identity == given.identity
    with pytest.raises(ConflictError, match="another basis of 16 points"):
        imported.import_basis(runtime, CommitmentKey.generate(16))
    assert bases.require_basis(runtime, GROTH16).identity == given.identity


def test_the_command_line_imports_powers_of_tau_and_shows_them(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(runtime.settings.data_dir))
    run = CliRunner()
    assert run.invoke(app, ["show"]).exit_code == 1
    powers = powers_of_tau.generate(3)
    write_ptau(tmp_path / "p.ptau", powers)
    identity = CommitmentKey.of(powers).identity.hex()
    for command in (["import", str(tmp_path / "p.ptau")], ["show"]):
        answer = run.invoke(app, command)
        assert answer.exit_code == 0, answer.output
        assert identity in answer.output
    assert bases.load_basis(runtime, GROTH16).identity.hex() == identity
