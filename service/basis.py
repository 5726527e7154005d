"""The bases of this service, one for each commitment scheme (``prover.system.CommitmentKey``), and the
commitments made over them.

A basis is an artifact; Groth16's goes by the name ``basis``. It is made once, for the first commitment: a
development one, whose secret, if it has one, this one party knew for a moment. Whoever has powers of tau of
several parties imports a basis of theirs before (``service.powers``). It never changes afterwards: all
commitments are over it.
"""

from __future__ import annotations

import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

from base.progress import Progress
from kernels import fr
from prover.system import CommitmentKey, Committing, Opening, ProofSystem
from service import encryption
from service.encryption import Integers
from service.runtime import Runtime
from service.storage.records.resources import Dataset
from service.storage.repositories import Artifacts
from verifier.documents import OpeningFile
from verifier.registry import FIRST, SYSTEMS


def require_basis(runtime: Runtime, system: ProofSystem, progress: Progress | None = None) -> CommitmentKey:
    """The basis, made if it is not there yet. Stage: "basis"."""
    if find_basis(runtime, system) is None:
        settings = runtime.settings
        with runtime.store.scratch() as scratch:
            system.commitments.make_key(scratch, settings.basis_points, settings.threads, progress)
            adopt_basis(runtime, system, scratch)
    return load_basis(runtime, system)


def load_basis(runtime: Runtime, system: ProofSystem) -> CommitmentKey:
    """The basis of a service that has committed to something."""
    path = find_basis(runtime, system)
    assert path is not None  # noqa: S101  what was committed was over it
    return _load(system.commitments, path)


def basis_length(runtime: Runtime, system: ProofSystem) -> int:
    """How many values a commitment can be to."""
    path = find_basis(runtime, system)
    return runtime.settings.basis_points if path is None else _load(system.commitments, path).length


def open_openings(runtime: Runtime, dataset: Dataset) -> OpeningFile:
    """What shows the shards' commitments to be to the dataset."""
    assert dataset.openings is not None  # noqa: S101  committed datasets have them
    return OpeningFile.model_validate_json(
        encryption.get(runtime, f"openings:{dataset.id}", dataset.openings)
    )


def find_basis(runtime: Runtime, system: ProofSystem) -> Path | None:
    """Where the basis is, if there is one."""
    with runtime.database.read() as session:
        digest = Artifacts(session).find(_name(system))
    earlier = runtime.settings.data_dir / _name(system)
    if digest is None and earlier.exists():
        return _take_over(runtime, system, earlier)
    return None if digest is None else runtime.store.path(digest)


def adopt_basis(runtime: Runtime, system: ProofSystem, scratch: Path) -> Path:
    """The file as the basis, unless another process was first: then that one's."""
    return adopt(runtime, scratch, _name(system))


def adopt(runtime: Runtime, scratch: Path, name: str) -> Path:
    """The file as what goes by this name, unless another process was first: then that one's."""
    digest = runtime.store.adopt(scratch)
    with runtime.database.write() as session:
        kept = Artifacts(session).add(name, digest)
    if kept != digest:
        runtime.store.delete(digest)
    return runtime.store.path(kept)


def commit(basis: CommitmentKey, values: Integers, threads: int, *, hiding: bool = True) -> Opening:
    """A commitment to integers, int64 of any shape, row-major."""
    return basis.commit(fr.from_int64(values.ravel()), hiding=hiding, threads=threads)


def reveal(basis: CommitmentKey, opening: Opening, values: Integers, threads: int) -> dict[str, Any]:
    """What shows a commitment to be to the values, JSON-able."""
    return basis.reveal(opening, fr.from_int64(values.ravel()), threads=threads).to_json()


def _name(system: ProofSystem) -> str:
    scheme = system.commitments.id
    return "basis" if scheme == SYSTEMS[FIRST].commitments.id else f"basis:{scheme}"


def _take_over(runtime: Runtime, system: ProofSystem, earlier: Path) -> Path:
    """The file ``basis`` of services that had no store for it. It goes only once the database has it."""
    with runtime.store.scratch() as scratch:
        shutil.copyfile(earlier, scratch)
        path = adopt_basis(runtime, system, scratch)
    earlier.unlink(missing_ok=True)
    return path


@lru_cache(maxsize=2)
def _load(commitments: Committing, path: Path) -> CommitmentKey:
    return commitments.load_key(path)
