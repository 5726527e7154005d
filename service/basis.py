"""The commitment basis of this service, and the commitments made over it.

It is an artifact, the one that goes by the name ``basis``, and is made once, for the first commitment: a
development basis, whose τ this one party knew for a moment. Whoever has powers of tau of several parties
imports a basis of theirs before. It never changes afterwards: all commitments are over it. The powers that it
came from are kept beside it, as ``powers``: ceremonies start from them.
"""

from __future__ import annotations

import shutil
from functools import lru_cache
from pathlib import Path

from base.progress import Progress
from kernels import fr
from prover.groth16 import CommitmentKey, Opening, Revealed
from prover.groth16.iden3.ptau import read_ptau
from prover.groth16.powers_of_tau import PowersOfTau
from service import encryption as sealed
from service.encryption import Integers, Secret
from service.runtime import Runtime
from service.storage.repositories import Artifacts
from service.storage.tables import Dataset
from verifier.documents import OpeningFile
from zenerrors import ConflictError

_NAME = "basis"
_POWERS = "powers"


def require_basis(runtime: Runtime, progress: Progress | None = None) -> CommitmentKey:
    """The basis, made if it is not there yet. Stage: "basis"."""
    if find_basis(runtime) is None:
        settings = runtime.settings
        with runtime.store.scratch() as scratch:
            CommitmentKey.generate(settings.basis_points, threads=settings.threads, progress=progress).save(
                scratch
            )
            _adopt(runtime, scratch)
    return load_basis(runtime)


def load_basis(runtime: Runtime) -> CommitmentKey:
    """The basis of a service that has committed to something."""
    path = find_basis(runtime)
    assert path is not None  # noqa: S101  what was committed was over it
    return _load(path)


def basis_length(runtime: Runtime) -> int:
    """How many values a commitment can be to."""
    path = find_basis(runtime)
    return runtime.settings.basis_points if path is None else len(_load(path).points)


def open_openings(runtime: Runtime, dataset: Dataset) -> OpeningFile:
    """What shows the shards' commitments to be to the dataset."""
    assert dataset.openings is not None  # noqa: S101  committed datasets have them
    return OpeningFile.model_validate_json(sealed.get(runtime, f"openings:{dataset.id}", dataset.openings))


def import_basis(runtime: Runtime, basis: CommitmentKey) -> None:
    """Make this the basis of the service. Raises ``ConflictError`` (``conflict.basis``) where it has
    another.
    """
    with runtime.store.scratch() as scratch:
        basis.save(scratch)
        path = find_basis(runtime) or _adopt(runtime, scratch)
    kept = _load(path)
    if (kept.identity, len(kept.points)) != (basis.identity, len(basis.points)):
        raise ConflictError(
            "conflict.basis",
            f"this service has another basis of {len(kept.points)} points, and what it committed to is over"
            " that one: import a basis into a service that has none yet",
        )


def import_powers(runtime: Runtime, file: Path, powers: PowersOfTau) -> CommitmentKey:
    """Make the basis of these powers that of the service, and keep their file, for ceremonies. Raises as
    ``import_basis``.
    """
    basis = CommitmentKey.of(powers)
    import_basis(runtime, basis)
    with runtime.store.scratch() as scratch:
        shutil.copyfile(file, scratch)
        _adopt(runtime, scratch, _POWERS)
    return basis


def powers_digest(runtime: Runtime) -> str:
    """Of the file of powers of tau, in the store. Raises ``ConflictError`` (``conflict.powers``) where the
    basis came from none.
    """
    with runtime.database.read() as session:
        digest = Artifacts(session).find(_POWERS)
    if digest is None:
        raise ConflictError(
            "conflict.powers",
            "this service has no powers of tau, which ceremonies start from: `zenserve basis import` keeps"
            " those that its basis came from",
        )
    return digest


def load_powers(runtime: Runtime, digest: str, most: int) -> PowersOfTau:
    """The powers of tau for 2^most rows in this file of the store: it was verified when it was imported."""
    return read_ptau(runtime.store.path(digest), most=most, known=True)


def find_basis(runtime: Runtime) -> Path | None:
    """Where the basis is, if there is one."""
    with runtime.database.read() as session:
        digest = Artifacts(session).find(_NAME)
    if digest is None and (earlier := runtime.settings.data_dir / "basis").exists():
        return _take_over(runtime, earlier)
    return None if digest is None else runtime.store.path(digest)


def _take_over(runtime: Runtime, earlier: Path) -> Path:
    """The file ``basis`` of services that had no store for it. It goes only once the database has it."""
    with runtime.store.scratch() as scratch:
        shutil.copyfile(earlier, scratch)
        path = _adopt(runtime, scratch)
    earlier.unlink(missing_ok=True)
    return path


def _adopt(runtime: Runtime, scratch: Path, name: str = _NAME) -> Path:
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


def reveal(basis: CommitmentKey, secret: Secret, threads: int) -> Revealed:
    """What shows a commitment to be to the values."""
    assert secret.opening is not None  # noqa: S101  there is one for whatever was committed
    return basis.reveal(secret.opening, fr.from_int64(secret.values.ravel()), threads=threads)


@lru_cache(maxsize=1)
def _load(path: Path) -> CommitmentKey:
    return CommitmentKey.load(path)
